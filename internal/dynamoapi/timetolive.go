package dynamoapi

import (
	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// Items expire as documents do: the database's expiry names the attribute that holds the
// time, in seconds.

// timeToLive is what the API says of it.
type timeToLive struct {
	AttributeName    string `json:",omitempty"`
	Enabled          *bool  `json:",omitempty"`
	TimeToLiveStatus string `json:",omitempty"`
}

func updateTimeToLive(r *Request) error {
	var in struct {
		TableName               *string
		TimeToLiveSpecification *struct {
			AttributeName *string
			Enabled       *bool
		}
	}
	if err := r.parse(&in); err != nil {
		return err
	}
	var c constraints
	name := c.tableName(in.TableName)
	spec := in.TimeToLiveSpecification
	if c.given("timeToLiveSpecification", spec != nil) {
		checkAttributeName(&c, "timeToLiveSpecification.attributeName", spec.AttributeName)
		c.given("timeToLiveSpecification.enabled", spec.Enabled != nil)
	}
	if err := c.err(); err != nil {
		return err
	}
	if err := r.requireAdmin(name); err != nil {
		return err
	}
	t, err := r.table(name, true)
	if err != nil {
		return notFound(err, name)
	}
	if err := r.setExpiry(t, *spec.AttributeName, *spec.Enabled); err != nil {
		return err
	}
	return r.answerMember("TimeToLiveSpecification", timeToLive{AttributeName: *spec.AttributeName, Enabled: spec.Enabled})
}

// setExpiry switches the expiry on or off. AWS refuses to do what is done already.
func (r *Request) setExpiry(t *tableAt, name string, on bool) error {
	now, err := t.db.Whole().Expiry(r.Ctx())
	if err != nil {
		return noTable(err)
	}
	enabled := now.Holds.Field != ""
	switch {
	case on && enabled:
		return attribute.Invalid("TimeToLive is already enabled")
	case !on && !enabled:
		return attribute.Invalid("TimeToLive is already disabled")
	case !on && now.Holds.Field != table.MemberOf(name):
		return attribute.Invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", attributeOf(now.Holds.Field))
	case !on:
		return t.db.Whole().SetExpiry(r.Ctx(), store.Expiry{Own: true})
	}
	return t.db.Whole().SetExpiry(r.Ctx(), store.Expiry{Own: true, Field: table.MemberOf(name), Seconds: true})
}

// attributeOf returns the attribute that a member of documents is.
func attributeOf(member string) string {
	if len(member) > 1 && member[0] == '$' {
		return member[1:]
	}
	return member
}

func describeTimeToLive(r *Request) error {
	in := struct{ TableName *string }{}
	if err := r.parse(&in); err != nil {
		return err
	}
	var c constraints
	name := c.tableName(in.TableName)
	if err := c.err(); err != nil {
		return err
	}
	t, err := r.table(name, false)
	if err != nil {
		return notFound(err, name)
	}
	now, err := t.db.Whole().Expiry(r.Ctx())
	if err != nil {
		return notFound(noTable(err), name)
	}
	shown := timeToLive{TimeToLiveStatus: "DISABLED"}
	if now.Holds.Field != "" {
		shown = timeToLive{TimeToLiveStatus: "ENABLED", AttributeName: attributeOf(now.Holds.Field)}
	}
	return r.answerMember("TimeToLiveDescription", shown)
}

// describeContinuousBackups says that backups are not this API's: sectional backup makes
// them while the server runs.
func describeContinuousBackups(r *Request) error {
	in := struct{ TableName *string }{}
	if err := r.parse(&in); err != nil {
		return err
	}
	var c constraints
	name := c.tableName(in.TableName)
	if err := c.err(); err != nil {
		return err
	}
	if _, err := r.table(name, false); err != nil {
		return notFound(err, name)
	}
	return r.answer([]byte(`{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"DISABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"DISABLED"}}}`))
}
