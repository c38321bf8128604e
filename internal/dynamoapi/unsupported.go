package dynamoapi

import (
	"strings"

	"github.com/sectional/sectional/internal/dberr"
)

// What stands in the place of what there is not.
const (
	insteadOfBackups  = "backups are made by sectional backup"
	insteadOfImports  = "documents are loaded by _bulk_docs, _snapshot and replication"
	insteadOfGlobal   = "tables are copied to other servers by replication of their databases"
	insteadOfPolicy   = "who may use a table is said by the _security of its database"
	insteadOfKinesis  = "changes are read from streams, feeds and subscriptions"
	insteadOfInsights = "the largest and the busiest partitions are listed by _partitions"
	insteadOfVectors  = "the nearest vectors are found by full-text indexes of the table's database"
)

// unsupportedMembers are those of AWS's requests that there are not, and what there is
// instead.
var unsupportedMembers = map[string]string{
	"DisassociationProtectionEnabled":    insteadOfGlobal,
	"GlobalTableSettingsReplicationMode": insteadOfGlobal,
	"GlobalTableSourceArn":               insteadOfGlobal,
	"GlobalTableWitnessUpdates":          insteadOfGlobal,
	"MultiRegionConsistency":             insteadOfGlobal,
	"RecoveryPeriodInDays":               insteadOfBackups,
	"ReplicaUpdates":                     insteadOfGlobal,
	"ResourcePolicy":                     insteadOfPolicy,
	"VectorIndexes":                      insteadOfVectors,
	"VectorIndexUpdates":                 insteadOfVectors,
}

// notSupported is the error for a member that there is not, of AWS's model or of nothing. AWS
// overlooks those that it does not know; here what is asked for is done or refused.
func notSupported(member string) error {
	if instead := unsupportedMembers[member]; instead != "" {
		return badParameter("%s is not supported: %s", member, instead)
	}
	return badParameter("%s is not supported", shortened(member))
}

// unsupportedOperations are those of DynamoDB that there are not.
var unsupportedOperations = map[string]string{
	"CancelBulkOperation":                 insteadOfImports,
	"CreateBackup":                        insteadOfBackups,
	"CreateGlobalTable":                   insteadOfGlobal,
	"DeleteBackup":                        insteadOfBackups,
	"DeleteResourcePolicy":                insteadOfPolicy,
	"DescribeBackup":                      insteadOfBackups,
	"DescribeBulkOperation":               insteadOfImports,
	"DescribeContributorInsights":         insteadOfInsights,
	"DescribeExport":                      insteadOfBackups,
	"DescribeGlobalTable":                 insteadOfGlobal,
	"DescribeGlobalTableSettings":         insteadOfGlobal,
	"DescribeImport":                      insteadOfImports,
	"DescribeKinesisStreamingDestination": insteadOfKinesis,
	"DescribeTableReplicaAutoScaling":     insteadOfGlobal,
	"DisableKinesisStreamingDestination":  insteadOfKinesis,
	"EnableKinesisStreamingDestination":   insteadOfKinesis,
	"ExportTableToPointInTime":            insteadOfBackups,
	"GetResourcePolicy":                   insteadOfPolicy,
	"ImportTable":                         insteadOfImports,
	"ListBackups":                         insteadOfBackups,
	"ListBulkOperations":                  insteadOfImports,
	"ListContributorInsights":             insteadOfInsights,
	"ListExports":                         insteadOfBackups,
	"ListGlobalTables":                    insteadOfGlobal,
	"ListImports":                         insteadOfImports,
	"PutResourcePolicy":                   insteadOfPolicy,
	"RestoreTableFromBackup":              insteadOfBackups,
	"RestoreTableToPointInTime":           insteadOfBackups,
	"SearchVectors":                       insteadOfVectors,
	"StartBulkPutItems":                   insteadOfImports,
	"UpdateContributorInsights":           insteadOfInsights,
	"UpdateGlobalTable":                   insteadOfGlobal,
	"UpdateGlobalTableSettings":           insteadOfGlobal,
	"UpdateKinesisStreamingDestination":   insteadOfKinesis,
	"UpdateTableReplicaAutoScaling":       insteadOfGlobal,
}

// unknownOperation is the error for an operation that there is not. AWS's, for one that
// nobody knows, has no text.
func unknownOperation(target string) error {
	name := strings.TrimPrefix(target, targets)
	if instead, ok := unsupportedOperations[name]; ok {
		return dberr.New(dberr.Invalid, errUnknownOperation.Code, "%s is not supported: %s", name, instead)
	}
	return errUnknownOperation
}
