package dynamoapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/table"
)

// The limits of secondary indexes, which are AWS's.
const (
	maxLocal     = 5
	maxGlobal    = 20
	maxProjected = 100 // attributes that the indexes of a table name to include
)

// checkForm checks the form of the members, and returns the table's name.
func (in *createTableInput) checkForm() (name string, err error) {
	var c constraints
	name = c.tableName(in.TableName)
	if c.given("attributeDefinitions", in.AttributeDefinitions != nil) {
		checkAttributes(&c, in.AttributeDefinitions)
	}
	if c.given("keySchema", in.KeySchema != nil) {
		checkKeySchema(&c, "keySchema", in.KeySchema)
	}
	c.oneOf("billingMode", in.BillingMode, billingModes)
	c.oneOf("tableClass", in.TableClass, tableClasses)
	checkThroughput(&c, "provisionedThroughput", in.ProvisionedThroughput)
	checkNewer(&c, "", in.OnDemandThroughput, in.WarmThroughput)
	checkEncryption(&c, in.SSESpecification)
	checkTags(&c, in.Tags)
	checkIndexes(&c, "localSecondaryIndexes", in.LocalSecondaryIndexes)
	checkIndexes(&c, "globalSecondaryIndexes", in.GlobalSecondaryIndexes)
	if in.StreamSpecification != nil {
		checkStream(&c, in.StreamSpecification)
	}
	return name, c.err()
}

func checkStream(c *constraints, s *streamSpecification) {
	c.given("streamSpecification.streamEnabled", s.StreamEnabled != nil)
	c.oneOf("streamSpecification.streamViewType", s.StreamViewType, streamViews)
}

func checkAttributes(c *constraints, list []attributeDefinition) {
	for i, a := range list {
		at := fmt.Sprintf("attributeDefinitions.%d.member.", i+1)
		c.required(at+"attributeName", a.AttributeName, attributeNameLength)
		if c.given(at+"attributeType", a.AttributeType != nil) {
			c.oneOf(at+"attributeType", *a.AttributeType, attributeTypes)
		}
	}
}

func checkKeySchema(c *constraints, at string, keys []keyElement) {
	switch {
	case len(keys) == 0:
		c.failed(at, "'[]'", "have length greater than or equal to 1")
	case len(keys) > 2:
		c.failed(at, "'"+describeKeys(keys)+"'", "have length less than or equal to 2")
	}
	for i, k := range keys {
		at := fmt.Sprintf("%s.%d.member.", at, i+1)
		c.required(at+"attributeName", k.AttributeName, attributeNameLength)
		if c.given(at+"keyType", k.KeyType != nil) {
			c.oneOf(at+"keyType", *k.KeyType, keyTypes)
		}
	}
}

// describeKeys shows a key schema as AWS does in errors.
func describeKeys(keys []keyElement) string {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = fmt.Sprintf("KeySchemaElement(attributeName=%s, keyType=%s)", textOr(k.AttributeName, "null"), textOr(k.KeyType, "null"))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func textOr(text *string, none string) string {
	if text == nil {
		return none
	}
	return *text
}

func checkThroughput(c *constraints, at string, t *throughput) {
	if t == nil {
		return
	}
	if c.given(at+".readCapacityUnits", t.ReadCapacityUnits != nil) {
		c.between(at+".readCapacityUnits", t.ReadCapacityUnits, 1, 1<<62)
	}
	if c.given(at+".writeCapacityUnits", t.WriteCapacityUnits != nil) {
		c.between(at+".writeCapacityUnits", t.WriteCapacityUnits, 1, 1<<62)
	}
}

func checkIndexes(c *constraints, at string, list []indexInput) {
	for i, x := range list {
		checkIndex(c, fmt.Sprintf("%s.%d.member.", at, i+1), &x)
	}
}

// checkIndex checks the form of an index whose members have the path.
func checkIndex(c *constraints, at string, x *indexInput) {
	c.nameOf(at+"indexName", x.IndexName)
	if c.given(at+"keySchema", x.KeySchema != nil) {
		checkKeySchema(c, at+"keySchema", x.KeySchema)
	}
	if c.given(at+"projection", x.Projection != nil) {
		c.oneOf(at+"projection.projectionType", x.Projection.ProjectionType, projectionTypes)
	}
	checkThroughput(c, at+"provisionedThroughput", x.ProvisionedThroughput)
	checkNewer(c, at, x.OnDemandThroughput, x.WarmThroughput)
}

// billing returns the capacity that a table is to have, nil for one that is paid by
// request.
func billing(mode string, t *throughput, now time.Time) (*table.Billing, error) {
	switch {
	case mode == "PAY_PER_REQUEST" && t != nil:
		return nil, badParameter("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
	case mode == "PAY_PER_REQUEST":
		return nil, nil
	case t == nil:
		return nil, badParameter("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	}
	return &table.Billing{Read: *t.ReadCapacityUnits, Write: *t.WriteCapacityUnits, Changed: now.UTC().Truncate(time.Millisecond)}, nil
}

// keysOf returns the attributes of a key schema: the partition key, and the sort key if
// there is one.
func keysOf(d *table.Definition, schema []keyElement) (keys []string, err error) {
	if *schema[0].KeyType != "HASH" {
		return nil, badParameter("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	}
	if len(schema) > 1 && *schema[1].AttributeName == *schema[0].AttributeName {
		return nil, badParameter("Both the Hash Key and the Range Key element in the KeySchema have the same name")
	}
	if len(schema) > 1 && *schema[1].KeyType != "RANGE" {
		return nil, badParameter("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	}
	for _, k := range schema {
		if _, ok := d.Attributes[*k.AttributeName]; !ok {
			return nil, undefined(d, schema)
		}
		keys = append(keys, *k.AttributeName)
	}
	return keys, nil
}

// undefined is the error for a key whose attributes have no types.
func undefined(d *table.Definition, schema []keyElement) error {
	var keys []string
	for _, k := range schema {
		keys = append(keys, *k.AttributeName)
	}
	return badParameter("Some index key attributes are not defined in AttributeDefinitions. Keys: %s, AttributeDefinitions: %s",
		bracketed(keys), bracketed(slices.Sorted(maps.Keys(d.Attributes))))
}

func bracketed(names []string) string { return "[" + strings.Join(names, ", ") + "]" }

// addIndexes adds secondary indexes to a definition.
func addIndexes(d *table.Definition, list []indexInput, local bool, now time.Time) error {
	switch {
	case local && len(list) > 0 && len(d.Keys) < 2:
		return badParameter("Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
	case local && len(list) > maxLocal:
		return badParameter("Number of LocalSecondaryIndexes exceeds per-table limit of %d", maxLocal)
	case !local && len(list) > maxGlobal:
		return badParameter("GlobalSecondaryIndex count exceeds the per-table limit of %d", maxGlobal)
	}
	for i := range list {
		if err := addIndex(d, &list[i], local, now); err != nil {
			return err
		}
	}
	projected := 0
	for _, x := range d.Indexes {
		projected += len(x.Include)
	}
	if projected > maxProjected {
		return badParameter("The aggregated number of Projection.NonKeyAttributes exceeds the per-table limit of %d", maxProjected)
	}
	return nil
}

func addIndex(d *table.Definition, in *indexInput, local bool, now time.Time) (err error) {
	name := *in.IndexName
	if _, twice := d.Indexes[name]; twice {
		return badParameter("Duplicate index name: %s", name)
	}
	x := table.Index{Local: local}
	if x.Keys, err = keysOf(d, in.KeySchema); err != nil {
		return err
	}
	if err = checkLocal(&x, d, name); err != nil {
		return err
	}
	if err = setProjection(&x, in.Projection, name); err != nil {
		return err
	}
	if !local && d.Billing != nil {
		if x.Billing, err = billing("PROVISIONED", in.ProvisionedThroughput, now); err != nil {
			return badParameter("ProvisionedThroughput is not specified for index: %s", name)
		}
	} else if in.ProvisionedThroughput != nil && !local {
		return badParameter("ProvisionedThroughput should not be specified for index: %s when BillingMode is PAY_PER_REQUEST", name)
	}
	if x.OnDemand, err = in.OnDemandThroughput.limits(nil, d.Billing); err != nil {
		return err
	}
	x.Warm = in.WarmThroughput.units(nil)
	if d.Indexes == nil {
		d.Indexes = map[string]table.Index{}
	}
	d.Indexes[name] = x
	return nil
}

// checkLocal refuses a local index that does not begin with the table's partition key.
func checkLocal(x *table.Index, d *table.Definition, name string) error {
	switch {
	case !x.Local:
		return nil
	case len(x.Keys) < 2:
		return badParameter("Index KeySchema does not have a range key for index: %s", name)
	case x.Keys[0] != d.Keys[0]:
		return badParameter("Index KeySchema does not have the same leading hash key as table KeySchema for index: %s. index hash key: %s, table hash key: %s", name, x.Keys[0], d.Keys[0])
	}
	return nil
}

// setProjection sets which attributes an index has besides keys.
func setProjection(x *table.Index, p *projection, name string) error {
	switch p.ProjectionType {
	case "ALL":
		x.Projection = table.All
	case "KEYS_ONLY":
		x.Projection = table.Keys
	case "INCLUDE":
		x.Projection = table.Include
	default:
		return badParameter("Unknown ProjectionType: null")
	}
	switch {
	case x.Projection == table.Include && len(p.NonKeyAttributes) == 0:
		return badParameter("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case x.Projection != table.Include && p.NonKeyAttributes != nil:
		return badParameter("ProjectionType is %s, but NonKeyAttributes is specified", p.ProjectionType)
	}
	x.Include = slices.Compact(slices.Sorted(slices.Values(p.NonKeyAttributes)))
	return nil
}

// allUsed refuses attributes with types that are in no key.
func allUsed(d *table.Definition) error {
	used := d.KeyAttributes()
	if len(used) == len(d.Attributes) {
		return nil
	}
	if len(d.Indexes) == 0 {
		return badParameter("Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}
	return badParameter("Some AttributeDefinitions are not used. AttributeDefinitions: %s, keys used: %s",
		bracketed(slices.Sorted(maps.Keys(d.Attributes))), bracketed(used))
}

// stream returns the stream that a specification asks for, nil for none.
func (s *streamSpecification) stream(now time.Time) (*table.Stream, error) {
	switch {
	case s == nil || !*s.StreamEnabled && s.StreamViewType == "":
		return nil, nil
	case !*s.StreamEnabled:
		return nil, badParameter("StreamViewType cannot be specified when StreamEnabled is false")
	case s.StreamViewType == "":
		return nil, badParameter("StreamViewType is required when StreamEnabled is true")
	}
	return &table.Stream{View: s.StreamViewType, Since: now.UTC().Truncate(time.Millisecond)}, nil
}
