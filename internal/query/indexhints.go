package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/jsonscan"
)

// near is a sparse index that would serve the query if the selector demanded more.
type near struct {
	*Branch
	def     *field.Def
	leading int      // columns in front that the selector demands
	lacking []string // fields that it does not
}

// maxHint bounds the text of a hint: the names in it are as long as somebody made
// them.
const maxHint = 500

// hint names the index that nearly serves the query, and what to add to the
// selector; "" if there is none. It is meant for queries that no index serves.
func (p *planner) hint(considered []*Branch) string {
	var best *near
	for _, b := range considered {
		if n := p.near(b); n != nil && (best == nil || n.compare(best) < 0) {
			best = n
		}
	}
	if best == nil {
		return ""
	}
	text := best.text()
	if len(text) > maxHint {
		return ""
	}
	return text
}

// near reports what an index lacks to serve the query; nil if it could not serve it
// with further conditions alone.
func (p *planner) near(b *Branch) *near {
	path, ok := b.path.(*fieldPath)
	if !ok || b.reason != fieldMismatch || !path.def.Sparse || b.Index().State != index.Readable || len(p.conjuncts) == 0 {
		return nil
	}
	n := &near{Branch: b, def: path.def}
	for i := range n.def.Columns {
		name := n.def.Columns[i].Path.String()
		switch demanded := p.demands(n.def, i); {
		case !demanded && (i == 0 || n.def.Columns[i].Elements || p.excludes(name)):
			return nil // to be there is not enough for an array, which may be empty
		case !demanded:
			n.lacking = append(n.lacking, name)
		case len(n.lacking) == 0:
			n.leading++
		}
	}
	if _, ok := path.order(p.req.Sort, p.conjuncts); !ok || len(n.lacking) == 0 {
		return nil
	}
	return n
}

// demands reports whether every conjunct demands a column of a sparse index.
func (p *planner) demands(d *field.Def, i int) bool {
	return !slices.ContainsFunc(p.conjuncts, func(c conjunct) bool {
		_, ok := columnFor(d, i, &c, p.req.Sort)
		return !ok
	})
}

// excludes reports whether a conjunct wants a field to be missing.
func (p *planner) excludes(path string) bool {
	return slices.ContainsFunc(p.conjuncts, func(c conjunct) bool { return c.by[path] != nil && c.by[path].absent })
}

func (n *near) compare(o *near) int {
	return cmp.Or(cmp.Compare(o.leading, n.leading), cmp.Compare(len(n.lacking), len(o.lacking)), cmp.Compare(len(n.def.Columns), len(o.def.Columns)), cmp.Compare(n.label(), o.label()))
}

func (n *near) text() string {
	var fields, conditions []string
	for _, c := range n.def.Columns {
		fields = append(fields, c.Name)
	}
	for _, path := range n.lacking {
		conditions = append(conditions, string(jsonscan.AppendQuoted(nil, path))+`: {"$exists": true}`)
	}
	return fmt.Sprintf(`Index %s on %s leaves out documents without %s. It would serve if the selector had %s, or if it were made with "sparse": false.`,
		n.label(), strings.Join(fields, ", "), strings.Join(n.lacking, " or "), strings.Join(conditions, ", "))
}
