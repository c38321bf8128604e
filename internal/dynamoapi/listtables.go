package dynamoapi

import (
	"encoding/json"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/table"
)

// maxListed is how many names a page has, as at AWS.
const maxListed = 100

func listTables(r *Request) error {
	in := struct {
		ExclusiveStartTableName *string
		Limit                   *int64
	}{}
	if err := r.parse(&in); err != nil {
		return err
	}
	var c constraints
	after := ""
	if in.ExclusiveStartTableName != nil {
		c.nameOf("exclusiveStartTableName", in.ExclusiveStartTableName)
		after = *in.ExclusiveStartTableName
	}
	limit := int64(maxListed)
	if c.between("limit", in.Limit, 1, maxListed); in.Limit != nil {
		limit = *in.Limit
	}
	if err := c.err(); err != nil {
		return err
	}
	names, err := r.tables()
	if err != nil {
		return err
	}
	at, found := slices.BinarySearch(names, after)
	if found {
		at++
	}
	out := struct {
		LastEvaluatedTableName string `json:",omitempty"`
		TableNames             []string
	}{TableNames: names[at:]}
	if int64(len(out.TableNames)) > limit {
		out.TableNames = out.TableNames[:limit]
		out.LastEvaluatedTableName = out.TableNames[limit-1]
	}
	body, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return r.answer(body)
}

// tables returns the names of the tables that the caller may enter, sorted. Databases
// come in another order, so all are looked at.
func (r *Request) tables() ([]string, error) {
	names := []string{}
	for database, err := range r.api.Store.Names(r.Ctx(), "", "", false) {
		if err != nil {
			return nil, err
		}
		name, ok := table.NameOf(database)
		if !ok || !r.mayTable(name, false) {
			continue
		}
		if ok, err := r.listed(database); err != nil {
			return nil, err
		} else if ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// listed reports whether a database is a table that the caller may enter.
func (r *Request) listed(database string) (bool, error) {
	db, err := r.api.Store.Database(r.Ctx(), database)
	if dberr.Is(err, dberr.NotFound) {
		return false, nil
	}
	if err != nil || !db.Partitioned() {
		return false, err
	}
	security, err := r.api.Rules.Security(db)
	return err == nil && r.mayEnter(&tableAt{db: db, security: security}, false), err
}
