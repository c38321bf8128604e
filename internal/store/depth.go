package store

import (
	"math/bits"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// A document's tree is read and written with every edit of the document. So it
// is bounded, whatever is sent: in leaves by MaxConflicts, and in ancestors of
// each by a number that falls as the leaves become more.
const (
	// defaultConflicts is far more than anybody resolves.
	defaultConflicts = 10000
	// treeRevisions is how many revisions of a document are remembered in all
	// before its branches are cut shorter than the database's limit asks.
	treeRevisions = 50000
	// shortestBranch is how short that makes them: as far behind a replica may be
	// without seeing a conflict that there is none.
	shortestBranch = 10
)

// depth is how many revisions of each branch are remembered: the database's
// limit, or less in a tree of many branches. It changes when their number has
// doubled, not with each.
func (g *group) depth(t *document.Tree) int {
	limit := g.db.RevsLimit()
	if leaves := t.Sums().Leaves; leaves > 1 {
		doubled := 1 << bits.Len(uint(leaves-1))
		limit = min(limit, max(shortestBranch, treeRevisions/doubled))
	}
	return limit
}

// checkConflicts refuses a replicated edit that would give the document one leaf
// more than it may have. An edit that goes on from a leaf never does.
func (g *group) checkConflicts(p *plan, e *pendingEdit) error {
	most := g.db.store.o.MaxConflicts()
	if most == 0 || p.tree.Sums().Leaves <= most {
		return nil
	}
	if !p.tree.Covers(e.Path[:1]) { // it may be an old ancestor
		if err := g.db.loadTree(g.tx, e.ID, p.tree); err != nil {
			return err
		}
	}
	for _, rev := range e.Path {
		if _, leaf, known := p.tree.Node(rev); leaf || known && rev == e.Path[0] {
			return nil
		} else if known {
			break
		}
	}
	return dberr.New(dberr.TooLarge, "too_many_conflicts", "The document has %d conflicts already, which is the most that it may have ([sectional] max_conflicts).", most)
}
