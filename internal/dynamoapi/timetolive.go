package dynamoapi

import (
	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
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
		c.required("timeToLiveSpecification.attributeName", spec.AttributeName, attributeNameLength)
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
	case !on && now.Holds.Field != attribute.Member(name):
		return attribute.Invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", shownField(now.Holds.Field))
	case !on:
		return t.db.Whole().SetExpiry(r.Ctx(), store.Expiry{Own: true})
	}
	return t.db.Whole().SetExpiry(r.Ctx(), store.Expiry{Own: true, Field: attribute.Member(name), Seconds: true})
}

// shownField returns the attribute that the expiry goes by: that of the member, or, where
// the other API named a member that is no attribute, the member.
func shownField(member string) string {
	if name, ok := attribute.OfMember(member); ok {
		return name
	}
	return member
}

func describeTimeToLive(r *Request) error {
	t, err := r.tableNamed()
	if err != nil {
		return err
	}
	now, err := t.db.Whole().Expiry(r.Ctx())
	if err != nil {
		return notFound(noTable(err), t.name)
	}
	shown := timeToLive{TimeToLiveStatus: "DISABLED"}
	if now.Holds.Field != "" {
		shown = timeToLive{TimeToLiveStatus: "ENABLED", AttributeName: shownField(now.Holds.Field)}
	}
	return r.answerMember("TimeToLiveDescription", shown)
}

// describeContinuousBackups says that backups are not this API's: sectional backup makes
// them while the server runs.
func describeContinuousBackups(r *Request) error {
	if _, err := r.tableNamed(); err != nil {
		return err
	}
	return r.answer(noBackups)
}

var noBackups = []byte(`{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"DISABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"DISABLED"}}}`)

// updateContinuousBackups takes that there are to be none, and refuses the other.
func updateContinuousBackups(r *Request) error {
	var in struct {
		TableName                        *string
		PointInTimeRecoverySpecification *struct{ PointInTimeRecoveryEnabled *bool }
	}
	if err := r.parse(&in); err != nil {
		return err
	}
	var c constraints
	name := c.tableName(in.TableName)
	spec := in.PointInTimeRecoverySpecification
	if c.given("pointInTimeRecoverySpecification", spec != nil) {
		c.given("pointInTimeRecoverySpecification.pointInTimeRecoveryEnabled", spec.PointInTimeRecoveryEnabled != nil)
	}
	if err := c.err(); err != nil {
		return err
	}
	if err := r.requireAdmin(name); err != nil {
		return err
	}
	if _, err := r.table(name, true); err != nil {
		return notFound(err, name)
	}
	if *spec.PointInTimeRecoveryEnabled {
		return dberr.New(dberr.Invalid, "ContinuousBackupsUnavailableException", "Backups of single tables are not available: %s", insteadOfBackups)
	}
	return r.answer(noBackups)
}
