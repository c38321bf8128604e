package dynamoapi

import "github.com/sectional/sectional/internal/dberr"

func deleteTable(r *Request) error {
	name, err := r.tableName()
	if err != nil {
		return err
	}
	if err := r.requireAdmin(name); err != nil {
		return err
	}
	t, err := r.table(name, true)
	if err != nil {
		return notFound(err, name)
	}
	if t.Protected {
		return badParameter("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	shown, err := r.shown(t)
	if err != nil {
		return notFound(err, name)
	}
	shown.TableStatus = "DELETING"
	if err := r.api.Store.Drop(r.Ctx(), t.db.Name()); err != nil {
		return notFound(noTable(err), name)
	}
	return r.answerMember("TableDescription", shown)
}

// tableNotFound is the error of operations on a table that there is not.
func tableNotFound(name string) error {
	return dberr.New(dberr.NotFound, resourceNotFound, "Requested resource not found: Table: %s not found", name)
}
