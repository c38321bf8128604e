package documents

import (
	"slices"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// found is a revision as it goes to a reader, with what was asked about it.
type found struct {
	couchwire.Revision
	form couchwire.Form
	// meta says that the answer depends on more than the revision, so that
	// the revision can't be its ETag.
	meta bool
}

// loader reads revisions of one document at one snapshot.
type loader struct {
	r   *couchhttp.Request
	rd  *store.Reader
	doc *store.Doc
	o   *ReadOptions
}

// NewLoader reads a document and returns what reads its revisions, as o asks for them. Errors: NotFound.
func NewLoader(r *couchhttp.Request, rd *store.Reader, id document.ID, o *ReadOptions) (*loader, error) {
	doc, err := rd.Doc(id)
	if err != nil {
		return nil, err
	}
	return &loader{r: r, rd: rd, doc: doc, o: o}, nil
}

// Winner reads the winner with all that was asked about it. NotFound "deleted"
// if it is a tombstone.
func (l *loader) Winner() (*found, error) {
	w := l.doc.Tree.Winner()
	if w.Deleted {
		return nil, dberr.New(dberr.NotFound, "not_found", "deleted")
	}
	f, err := l.revision(w.Rev)
	if err != nil {
		return nil, err
	}
	for _, leaf := range l.doc.Tree.Leaves()[1:] {
		switch {
		case leaf.Deleted && l.o.deletedConflicts:
			f.DeletedConflicts = append(f.DeletedConflicts, leaf.Rev)
		case !leaf.Deleted && l.o.Conflicts:
			f.Conflicts = append(f.Conflicts, leaf.Rev)
		}
	}
	if l.o.localSeq && !l.r.Scope.Restricted() { // a number of the database's
		f.LocalSeq = uint64(l.doc.Seq)
	}
	if l.o.revsInfo {
		if f.RevsInfo, err = l.revsInfo(w.Rev); err != nil {
			return nil, err
		}
	}
	f.meta = len(f.Conflicts)+len(f.DeletedConflicts)+len(f.RevsInfo) > 0 || l.o.localSeq
	return f, nil
}

// named reads the revision that o names or, with latest, the best leaf that
// grew from it; a revision that is not known then stands for the winner, as in
// CouchDB.
func (l *loader) named() (*found, error) {
	rev := l.o.rev
	if l.o.latest {
		leaves, err := l.leavesFrom(rev)
		if err != nil {
			return nil, err
		}
		if len(leaves) == 0 {
			return l.Winner()
		}
		rev = leaves[0].Rev
	}
	return l.revision(rev)
}

// leavesFrom returns the leaves that grew from rev, itself if it is one.
func (l *loader) leavesFrom(rev document.Rev) ([]document.Node, error) {
	if !l.doc.Tree.Covers([]document.Rev{rev}) {
		if err := l.rd.Load(l.doc); err != nil {
			return nil, err
		}
	}
	return l.doc.Tree.LeavesFrom(rev), nil
}

// revision reads one revision and, where o needs it, its history.
func (l *loader) revision(rev document.Rev) (*found, error) {
	stored, err := l.rd.Revision(l.doc, rev)
	if err != nil {
		return nil, err
	}
	f := &found{Revision: couchhttp.Outgoing(stored)}
	var path []document.Rev
	if l.o.Revs || l.o.since != nil {
		if path, err = l.path(rev); err != nil {
			return nil, err
		}
	}
	if l.o.Revs {
		if f.Path, err = l.shown(path); err != nil {
			return nil, err
		}
	}
	f.form = l.o.form(path)
	return f, nil
}

// path returns the whole known history of rev.
func (l *loader) path(rev document.Rev) ([]document.Rev, error) {
	path, complete := l.doc.Tree.Path(rev)
	if complete {
		return path, nil
	}
	if err := l.rd.Load(l.doc); err != nil {
		return nil, err
	}
	path, _ = l.doc.Tree.Path(rev)
	return path, nil
}

// shown cuts a history to what the database remembers by its setting: a lower
// limit holds at once, while the rows of a document are cut by its next edit.
func (l *loader) shown(path []document.Rev) ([]document.Rev, error) {
	limit, err := l.rd.RevsLimit()
	return path[:min(len(path), limit)], err
}

func (l *loader) revsInfo(rev document.Rev) ([]couchwire.RevStatus, error) {
	path, err := l.path(rev)
	if err == nil {
		path, err = l.shown(path)
	}
	if err != nil {
		return nil, err
	}
	info := make([]couchwire.RevStatus, len(path))
	for i, p := range path {
		info[i] = couchwire.RevStatus{Rev: p, Status: "missing"}
		stored, err := l.rd.Revision(l.doc, p)
		switch {
		case dberr.Is(err, dberr.NotFound):
		case err != nil:
			return nil, err
		case stored.Deleted:
			info[i].Status = "deleted"
		default:
			info[i].Status = "available"
		}
	}
	return info, nil
}

// opened is one item of an answer to open_revs.
type opened struct {
	rev   document.Rev
	found *found // nil: missing
}

// openRevs reads the revisions that o lists, each once: those that are there
// in ascending order, then the missing ones.
func (l *loader) openRevs() ([]opened, error) {
	wanted, err := l.wanted()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(wanted, document.Rev.Compare)
	wanted = slices.Compact(wanted)
	items := make([]opened, 0, len(wanted))
	var missing []opened
	for _, rev := range wanted {
		f, err := l.revision(rev)
		switch {
		case dberr.Is(err, dberr.NotFound):
			missing = append(missing, opened{rev: rev})
		case err != nil:
			return nil, err
		default:
			items = append(items, opened{rev: rev, found: f})
		}
	}
	return append(items, missing...), nil
}

func (l *loader) wanted() ([]document.Rev, error) {
	if l.o.openAll {
		return nodeRevs(nil, l.doc.Tree.Leaves()), nil
	}
	open := slices.Clone(l.o.open)
	if !l.o.latest {
		return open, nil
	}
	slices.SortFunc(open, document.Rev.Compare)
	var revs []document.Rev
	seen := map[document.Rev]struct{}{}
	for _, rev := range slices.Compact(open) {
		leaves, err := l.leavesFrom(rev)
		if err != nil {
			return nil, err
		}
		if len(leaves) == 0 {
			revs = append(revs, rev) // it will be missing
		}
		for _, leaf := range leaves { // which may have grown from several
			if _, ok := seen[leaf.Rev]; !ok {
				seen[leaf.Rev] = struct{}{}
				revs = append(revs, leaf.Rev)
			}
		}
	}
	return revs, nil
}

func nodeRevs(dst []document.Rev, nodes []document.Node) []document.Rev {
	for _, n := range nodes {
		dst = append(dst, n.Rev)
	}
	return dst
}
