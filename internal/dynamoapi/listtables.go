package dynamoapi

import (
	"encoding/json"
	"iter"

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
	out := struct {
		LastEvaluatedTableName string `json:",omitempty"`
		TableNames             []string
	}{TableNames: []string{}}
	for name, err := range r.tablesAfter(after) {
		if err != nil {
			return err
		}
		if int64(len(out.TableNames)) == limit {
			out.LastEvaluatedTableName = out.TableNames[limit-1]
			break
		}
		out.TableNames = append(out.TableNames, name)
	}
	body, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return r.answer(body)
}

// tablesAfter gives the names of the tables that the caller may enter, after one of them or
// from the first on, in the order of their databases: a page reads its own names alone.
func (r *Request) tablesAfter(after string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		begin, _ := table.DatabaseOf(after)
		for database, err := range r.api.Store.Names(r.Ctx(), begin, "", false) {
			if err != nil {
				yield("", err)
				return
			}
			name, ok := table.NameOf(database)
			if !ok || database == begin || !r.mayTable(name, false) {
				continue
			}
			if ok, err = r.listed(database); (ok || err != nil) && !yield(name, err) || err != nil {
				return
			}
		}
	}
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
