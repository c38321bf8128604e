package dynamoapi

import (
	"time"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// createTableInput is the request of CreateTable.
type createTableInput struct {
	TableName                 *string
	AttributeDefinitions      []attributeDefinition
	KeySchema                 []keyElement
	BillingMode               string
	ProvisionedThroughput     *throughput
	LocalSecondaryIndexes     []indexInput
	GlobalSecondaryIndexes    []indexInput
	StreamSpecification       *streamSpecification
	SSESpecification          *encryption
	TableClass                string
	DeletionProtectionEnabled bool
	Tags                      []tag
	OnDemandThroughput        *onDemand
	WarmThroughput            *warm
}

type attributeDefinition struct {
	AttributeName *string
	AttributeType *string
}

type keyElement struct {
	AttributeName *string
	KeyType       *string
}

type throughput struct {
	ReadCapacityUnits  *int64
	WriteCapacityUnits *int64
}

type projection struct {
	ProjectionType   string   `json:",omitempty"`
	NonKeyAttributes []string `json:",omitempty"`
}

type indexInput struct {
	IndexName             *string
	KeySchema             []keyElement
	Projection            *projection
	ProvisionedThroughput *throughput
	OnDemandThroughput    *onDemand
	WarmThroughput        *warm
}

type streamSpecification struct {
	StreamEnabled  *bool
	StreamViewType string `json:",omitempty"`
}

type tag struct{ Key, Value *string }

func createTable(r *Request) error {
	in := &createTableInput{}
	if err := r.parse(in); err != nil {
		return err
	}
	name, d, err := in.definition(r.api.Now())
	if err != nil {
		return err
	}
	if err := r.requireAdmin(name); err != nil {
		return err
	}
	db, err := r.makeTable(name, d)
	for dberr.Is(err, dberr.NotFound) && r.Ctx().Err() == nil { // another has deleted it between the two steps
		db, err = r.makeTable(name, d)
	}
	if err != nil {
		return err
	}
	return r.answerDefined(&tableAt{Definition: d, name: name, db: db}, (*tableDescription).beginning)
}

// answerDefined answers a request that has written a table's definition: it carries out what
// follows from it and describes the table, as change says. Another request may delete the
// table meanwhile; the answer is then what the definition says.
func (r *Request) answerDefined(t *tableAt, change func(*tableDescription)) error {
	err := r.decideStream(t)
	if err == nil {
		err = r.awaitIndexes(t)
	}
	shown := r.described(t)
	if err == nil {
		err = r.showState(shown, t)
	}
	if err != nil && !dberr.Is(err, dberr.NotFound) {
		return err
	}
	change(shown)
	return r.answerMember("TableDescription", shown)
}

// beginning makes the description that of a table that is being made. It is there already,
// but clients wait for it to be active in any case.
func (s *tableDescription) beginning() {
	s.TableStatus = "CREATING"
	for i := range s.GlobalSecondaryIndexes {
		x := &s.GlobalSecondaryIndexes[i]
		x.IndexStatus, x.Backfilling = "CREATING", false
	}
}

// makeTable makes the database and writes its definition. A database that is partitioned,
// empty and no table becomes one: so a request is carried on that was cut between the two.
func (r *Request) makeTable(name string, d *table.Definition) (*store.Database, error) {
	database, _ := table.DatabaseOf(name)
	if err := store.ParseName(database); err != nil {
		return nil, err
	}
	db, err := r.api.Store.Create(r.Ctx(), database, store.Creation{Partitioned: true, Security: r.api.Access().JSON()})
	if dberr.Is(err, dberr.Exists) {
		db, err = r.emptyDatabase(database)
	}
	if err != nil {
		return nil, err
	}
	return db, r.writeDefinition(db, document.Rev{}, d, name)
}

// emptyDatabase opens a database that may become a table.
func (r *Request) emptyDatabase(database string) (*store.Database, error) {
	name, _ := table.NameOf(database)
	exists := dberr.New(dberr.Exists, resourceInUse, "Table already exists: %s", name)
	db, err := r.api.Store.Database(r.Ctx(), database)
	if err != nil {
		return nil, err
	}
	totals, err := db.Whole().Totals(r.Ctx())
	if err != nil {
		return nil, err
	}
	if !db.Partitioned() || totals.Docs > 0 {
		return nil, exists
	}
	return db, nil
}

// writeDefinition writes the design document over a revision, zero for none.
func (r *Request) writeDefinition(db *store.Database, over document.Rev, d *table.Definition, name string) error {
	body, err := d.Body()
	if err != nil {
		return err
	}
	results, err := db.Whole().Write(r.Ctx(), []document.Edit{{ID: table.DesignID, Parent: over, Body: body}}, store.WriteOptions{})
	if err == nil {
		err = results[0].Err
	}
	if dberr.Is(err, dberr.Conflict) {
		return dberr.New(dberr.Exists, resourceInUse, "Attempt to change a resource which is still in use: Table is being updated: %s", name)
	}
	return err
}

// definition checks the request, in AWS's order, and makes the definition of it.
func (in *createTableInput) definition(now time.Time) (name string, d *table.Definition, err error) {
	if name, err = in.checkForm(); err != nil {
		return name, nil, err
	}
	d = &table.Definition{Attributes: map[string]table.Type{}, Created: now.UTC().Truncate(time.Millisecond), Protected: in.DeletionProtectionEnabled}
	for _, a := range in.AttributeDefinitions {
		if _, twice := d.Attributes[*a.AttributeName]; twice {
			return name, nil, badParameter("Cannot define two attributes of the same name: %s", *a.AttributeName)
		}
		d.Attributes[*a.AttributeName] = table.Type(*a.AttributeType)
	}
	if d.Billing, err = billing(in.BillingMode, in.ProvisionedThroughput, now); err != nil {
		return name, nil, err
	}
	if d.OnDemand, err = in.OnDemandThroughput.limits(d.OnDemand, d.Billing); err != nil {
		return name, nil, err
	}
	d.Warm = in.WarmThroughput.units(d.Warm)
	if d.Keys, err = keysOf(d, in.KeySchema); err != nil {
		return name, nil, err
	}
	return name, d, in.addTo(d, now)
}

// addTo adds to the definition what a table may have besides keys.
func (in *createTableInput) addTo(d *table.Definition, now time.Time) (err error) {
	if err := addIndexes(d, in.LocalSecondaryIndexes, true, now); err != nil {
		return err
	}
	if err := addIndexes(d, in.GlobalSecondaryIndexes, false, now); err != nil {
		return err
	}
	if err := allUsed(d); err != nil {
		return err
	}
	if d.Stream, err = in.StreamSpecification.stream(now); err != nil {
		return err
	}
	if in.TableClass != "STANDARD" {
		d.Class = in.TableClass
	}
	d.Encryption = in.SSESpecification.asked()
	d.Tags = withTags(d.Tags, in.Tags)
	return checkTagCount(d)
}

// badParameter is a ValidationException of AWS's most frequent form.
func badParameter(text string, args ...any) error {
	return attribute.Invalid("One or more parameter values were invalid: "+text, args...)
}
