package dynamoapi

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// updateTableInput is the request of UpdateTable.
type updateTableInput struct {
	TableName                   *string
	AttributeDefinitions        []attributeDefinition
	BillingMode                 string
	ProvisionedThroughput       *throughput
	GlobalSecondaryIndexUpdates []indexUpdate
	StreamSpecification         *streamSpecification
	SSESpecification            *encryption
	TableClass                  string
	DeletionProtectionEnabled   *bool
	OnDemandThroughput          *onDemand
	WarmThroughput              *warm
}

// indexUpdate is one change of the global indexes.
type indexUpdate struct {
	Create *indexInput
	Update *indexChange
	Delete *struct{ IndexName *string }
}

// indexChange is what an index may be changed in: its capacity.
type indexChange struct {
	IndexName             *string
	ProvisionedThroughput *throughput
	OnDemandThroughput    *onDemand
	WarmThroughput        *warm
}

// actions is how many of the three there are.
func (u *indexUpdate) actions() (n int) {
	for _, there := range []bool{u.Create != nil, u.Update != nil, u.Delete != nil} {
		if there {
			n++
		}
	}
	return n
}

const indexActions = "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete"

var errNothing = attribute.Invalid("At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required")

func updateTable(r *Request) error {
	in := &updateTableInput{}
	if err := r.parse(in); err != nil {
		return err
	}
	name, err := in.checkForm()
	if err != nil {
		return err
	}
	if err := r.requireAdmin(name); err != nil {
		return err
	}
	t, err := r.changeDefinition(name, func(d *table.Definition) error { return in.apply(d, r.api.Now()) })
	if err != nil {
		return err
	}
	return r.answerDefined(t, func(s *tableDescription) { s.updating(in.GlobalSecondaryIndexUpdates) })
}

// updating makes the description that of a table that is being changed, as clients expect
// it: what they asked for may be done by now, and they wait for it in any case.
func (s *tableDescription) updating(updates []indexUpdate) {
	s.TableStatus = "UPDATING"
	for i := range s.GlobalSecondaryIndexes {
		x := &s.GlobalSecondaryIndexes[i]
		for _, u := range updates {
			if u.Create != nil && *u.Create.IndexName == x.IndexName {
				x.IndexStatus, x.Backfilling = "CREATING", false
			}
		}
	}
}

func (in *updateTableInput) checkForm() (name string, err error) {
	var c constraints
	name = c.tableName(in.TableName)
	checkAttributes(&c, in.AttributeDefinitions)
	c.oneOf("billingMode", in.BillingMode, billingModes)
	c.oneOf("tableClass", in.TableClass, tableClasses)
	checkThroughput(&c, "provisionedThroughput", in.ProvisionedThroughput)
	checkNewer(&c, "", in.OnDemandThroughput, in.WarmThroughput)
	checkEncryption(&c, in.SSESpecification)
	for i, u := range in.GlobalSecondaryIndexUpdates {
		at := fmt.Sprintf("globalSecondaryIndexUpdates.%d.member.", i+1)
		switch {
		case u.Create != nil:
			checkIndex(&c, at+"create.", u.Create)
		case u.Update != nil:
			c.nameOf(at+"update.indexName", u.Update.IndexName)
			checkThroughput(&c, at+"update.provisionedThroughput", u.Update.ProvisionedThroughput)
			checkNewer(&c, at+"update.", u.Update.OnDemandThroughput, u.Update.WarmThroughput)
		case u.Delete != nil:
			c.nameOf(at+"delete.indexName", u.Delete.IndexName)
		}
	}
	if in.StreamSpecification != nil {
		checkStream(&c, in.StreamSpecification)
	}
	return name, c.err()
}

// apply changes a definition as the request says.
func (in *updateTableInput) apply(d *table.Definition, now time.Time) (err error) {
	if in.BillingMode == "" && in.ProvisionedThroughput == nil && in.GlobalSecondaryIndexUpdates == nil && in.StreamSpecification == nil &&
		in.TableClass == "" && in.DeletionProtectionEnabled == nil && in.OnDemandThroughput == nil && in.WarmThroughput == nil && in.SSESpecification == nil {
		return errNothing
	}
	if in.BillingMode != "" || in.ProvisionedThroughput != nil {
		mode := in.BillingMode
		if mode == "" && d.Billing == nil {
			mode = "PAY_PER_REQUEST"
		}
		if d.Billing, err = billing(mode, in.ProvisionedThroughput, now); err != nil {
			return err
		}
	}
	if d.OnDemand, err = in.OnDemandThroughput.limits(d.OnDemand, d.Billing); err != nil {
		return err
	}
	d.Warm = in.WarmThroughput.units(d.Warm)
	if in.SSESpecification != nil {
		d.Encryption = in.SSESpecification.asked()
	}
	if in.TableClass != "" {
		d.Class = in.TableClass
		if d.Class == "STANDARD" {
			d.Class = ""
		}
	}
	if in.DeletionProtectionEnabled != nil {
		d.Protected = *in.DeletionProtectionEnabled
	}
	if err := in.applyStream(d, now); err != nil {
		return err
	}
	return in.applyIndexes(d, now)
}

func (in *updateTableInput) applyStream(d *table.Definition, now time.Time) error {
	if in.StreamSpecification == nil {
		return nil
	}
	s, err := in.StreamSpecification.stream(now)
	switch {
	case err != nil:
		return err
	case s != nil && d.Stream != nil:
		return attribute.Invalid("Table already has an enabled stream: TableName: %s", *in.TableName)
	case s == nil && d.Stream == nil:
		return attribute.Invalid("Table has no stream to disable: TableName: %s", *in.TableName)
	}
	d.Stream = s
	return nil
}

// applyIndexes adds and takes away global indexes, one in a request as at AWS.
func (in *updateTableInput) applyIndexes(d *table.Definition, now time.Time) error {
	changed := 0
	for _, u := range in.GlobalSecondaryIndexUpdates {
		switch {
		case u.actions() > 1:
			return badParameter(indexActions + " must be given, and no other beside it")
		case u.Create != nil:
			changed++
			for _, a := range in.AttributeDefinitions {
				if was, ok := d.Attributes[*a.AttributeName]; ok && was != table.Type(*a.AttributeType) {
					return badParameter("The type of an attribute in keys can't be changed: %s", *a.AttributeName)
				}
				d.Attributes[*a.AttributeName] = table.Type(*a.AttributeType)
			}
			if err := addIndexes(d, []indexInput{*u.Create}, false, now); err != nil {
				return err
			}
		case u.Update != nil:
			x, ok := d.Indexes[*u.Update.IndexName]
			if !ok || x.Local {
				return noIndex(*u.Update.IndexName)
			}
			if err := u.Update.applyTo(&x, d, now); err != nil {
				return err
			}
			d.Indexes[*u.Update.IndexName] = x
		case u.Delete != nil:
			changed++
			if x, ok := d.Indexes[*u.Delete.IndexName]; !ok || x.Local {
				return noIndex(*u.Delete.IndexName)
			}
			delete(d.Indexes, *u.Delete.IndexName)
			dropUnused(d)
		default:
			return badParameter(indexActions + " must not be null")
		}
	}
	if changed > 1 {
		return dberr.New(dberr.Invalid, "LimitExceededException", "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table")
	}
	return allUsed(d)
}

// applyTo changes an index.
func (in *indexChange) applyTo(x *table.Index, d *table.Definition, now time.Time) (err error) {
	x.Warm = in.WarmThroughput.units(x.Warm)
	if x.OnDemand, err = in.OnDemandThroughput.limits(x.OnDemand, d.Billing); err != nil {
		return err
	}
	if in.ProvisionedThroughput != nil || in.OnDemandThroughput == nil && in.WarmThroughput == nil {
		x.Billing, err = billing("PROVISIONED", in.ProvisionedThroughput, now)
	}
	return err
}

func noIndex(name string) error {
	return dberr.New(dberr.NotFound, resourceNotFound, "Requested resource not found: Index: %s not found", name)
}

// dropUnused forgets the types of attributes that are in no key any more.
func dropUnused(d *table.Definition) {
	used := d.KeyAttributes()
	maps.DeleteFunc(d.Attributes, func(name string, _ table.Type) bool { return !slices.Contains(used, name) })
}

// changeDefinition changes the definition of a table. Of two that do so at once one is
// told that the table is in use, as at AWS.
func (r *Request) changeDefinition(name string, change func(*table.Definition) error) (*tableAt, error) {
	t, err := r.table(name, true)
	if err != nil {
		return nil, notFound(err, name)
	}
	if t.IDs {
		return nil, attribute.Invalid("The table %s is a database that was not made as a table: it has no definition.", name)
	}
	var was *store.Revision
	err = t.db.Whole().View(r.Ctx(), func(rd *store.Reader) error {
		was, err = rd.Winner(table.DesignID)
		return err
	})
	if err != nil {
		return nil, notFound(noTable(err), name)
	}
	if t.Definition, err = table.Parse(was.Body); err != nil { // one of its own, to be changed
		return nil, err
	}
	if err := change(t.Definition); err != nil {
		return nil, err
	}
	return t, r.writeDefinition(t.db, was.Rev, t.Definition, name)
}
