// Package lists owns every answer of many rows: _all_docs and its kin, views, Mango queries, and the definitions of their
// indexes. A list reads a page in each snapshot, and sends it between two.
//
// It must not know how an index is kept or a query planned: that is index's and query's. Begin reading at
// Routes.
package lists
