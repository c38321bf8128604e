// Package admission owns the rules that an edit passes before it is stored,
// whatever face it came through: who may write design documents, what a design
// document must look like, and what the _users database demands.
//
// It implements store.Admission. The caller comes in the context (WithCaller).
// It must know neither HTTP nor how edits are committed.
//
// Begin reading at Rules.Admit.
package admission
