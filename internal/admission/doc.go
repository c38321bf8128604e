// Package admission owns the rules that an edit passes before it is stored,
// whatever face it came through: who may write design documents, what a design
// document must look like, what the _users database and _replicator databases
// demand, and what the validation functions of a database's design documents say.
//
// It implements store.Admission and store.Validation. The caller comes in the context (WithCaller).
// It must know neither HTTP nor how edits are committed, nor how
// functions are run.
//
// Begin reading at Rules.Admit and Rules.Validate.
package admission
