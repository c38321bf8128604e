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
)

// unsupportedMembers are those of CreateTable and UpdateTable that are refused.
var unsupportedMembers = []struct{ name, instead string }{
	{"ResourcePolicy", insteadOfPolicy},
	{"GlobalTableSourceArn", insteadOfGlobal},
	{"GlobalTableSettingsReplicationMode", insteadOfGlobal},
	{"ReplicaUpdates", insteadOfGlobal},
	{"MultiRegionConsistency", insteadOfGlobal},
	{"GlobalTableWitnessUpdates", insteadOfGlobal},
}

// refuseUnsupported refuses a request that has one of them.
func (r *Request) refuseUnsupported() error {
	a := argsOf(r.body)
	for _, m := range unsupportedMembers {
		if a.has(m.name) {
			return badParameter("%s is not supported: %s", m.name, m.instead)
		}
	}
	return nil
}

// unsupportedOperations are those of DynamoDB that there are not.
var unsupportedOperations = map[string]string{
	"CreateBackup":                        insteadOfBackups,
	"CreateGlobalTable":                   insteadOfGlobal,
	"DeleteBackup":                        insteadOfBackups,
	"DeleteResourcePolicy":                insteadOfPolicy,
	"DescribeBackup":                      insteadOfBackups,
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
	"ListContributorInsights":             insteadOfInsights,
	"ListExports":                         insteadOfBackups,
	"ListGlobalTables":                    insteadOfGlobal,
	"ListImports":                         insteadOfImports,
	"PutResourcePolicy":                   insteadOfPolicy,
	"RestoreTableFromBackup":              insteadOfBackups,
	"RestoreTableToPointInTime":           insteadOfBackups,
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
