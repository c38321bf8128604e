package couchapi

import (
	"bytes"
	"context"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/changes"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchapi/legacy"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/script/compiled"
	"github.com/sectional/sectional/internal/store"
)

// A function is asked about so many leaves at once, and not about more bytes
// of them than these by much.
const (
	judgeLeaves = 100
	judgeBytes  = 1 << 20
)

// judge is a filter that is a function of a design document. It is a
// changes.Judge. The winners that it reads are kept for the rows that show
// them, which are written in a later snapshot.
type judge struct {
	rows *changesRows
	ask  func(ctx context.Context, docs [][]byte) ([]bool, error)

	leaves []document.Rev // taken
	counts []int          // how many of leaves each change has
	docs   [][]byte
	size   int
}

var _ changes.Judge = (*judge)(nil)

// Take implements changes.Judge.
func (j *judge) Take(v changes.Reader, ch *store.Change, revs []document.Rev) (full bool, err error) {
	if len(j.counts) == 0 {
		clear(j.rows.winners) // the rows of the page before are written
	}
	n := 0
	for i, rev := range revs {
		doc, err := j.document(v, ch, rev, i == 0)
		if dberr.Is(err, dberr.NotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		j.leaves, j.docs = append(j.leaves, rev), append(j.docs, doc)
		j.size += len(doc)
		n++
	}
	j.counts = append(j.counts, n)
	return len(j.docs) >= judgeLeaves || j.size >= judgeBytes, nil
}

// document reads a leaf as the function sees it.
func (j *judge) document(v changes.Reader, ch *store.Change, leaf document.Rev, winner bool) ([]byte, error) {
	d, err := v.Doc(ch.ID)
	if err != nil {
		return nil, err
	}
	path, complete := d.Tree.Path(leaf)
	if !complete && len(path) < admission.ShownRevisions {
		if err := v.Load(d); err != nil {
			return nil, err
		}
		path, _ = d.Tree.Path(leaf)
	}
	rev, err := v.Revision(d, leaf)
	if err != nil {
		return nil, err
	}
	if winner && j.rows.Form.Include {
		kept := *rev
		kept.Body = bytes.Clone(rev.Body)
		j.rows.winners[ch.Seq] = readWinner{&d.Tree, &kept}
	}
	out := couchhttp.Outgoing(rev)
	return legacy.FunctionDocument(&out, path), nil
}

// Verdicts implements changes.Judge.
func (j *judge) Verdicts(ctx context.Context) ([][]document.Rev, error) {
	passed, err := j.ask(ctx, j.docs)
	if err != nil {
		return nil, err
	}
	verdicts := make([][]document.Rev, len(j.counts))
	at := 0
	for i, n := range j.counts {
		for range n {
			if passed[at] {
				verdicts[i] = append(verdicts[i], j.leaves[at])
			}
			at++
		}
	}
	j.leaves, j.counts, j.docs, j.size = j.leaves[:0], j.counts[:0], j.docs[:0], 0
	return verdicts, nil
}

// byFunction is the filter by a filter function of a design document.
func (f *filterRequest) byFunction(design, name string) error {
	d, err := f.DesignNamed(design)
	if err != nil {
		return err
	}
	if _, err := d.Function("filters", name); err != nil {
		return err
	}
	realm, err := f.Realm(d)
	if err != nil {
		return err
	}
	seen := couchhttp.FunctionRequest{Body: f.raw}
	if f.Method == "POST" && seen.Body == nil {
		seen.Text = []byte{}
	}
	req, err := f.FunctionJSON(seen)
	if err != nil {
		return err
	}
	f.judge(func(ctx context.Context, docs [][]byte) ([]bool, error) {
		return f.API.Scripts.Filter(ctx, realm, name, docs, req)
	})
	return nil
}

// byMap is the filter by a view's map function: what it emits something for
// passes.
func (f *filterRequest) byMap(design, view string) error {
	d, err := f.DesignNamed(design)
	if err != nil {
		return err
	}
	source, err := d.Function("views", view, "map")
	if err != nil {
		return err
	}
	realm, err := f.Realm(d)
	if err != nil {
		return err
	}
	text := string(jsonscan.Text(nil, source))
	realm.Version += "/" + view
	realm.Functions = []string{text}
	m := mapFilter{scripts: f.API.Scripts, realm: realm}
	m.program, _ = compiled.Compile(text)
	f.judge(m.ask)
	return nil
}

// mapFilter asks a map function whether it emits anything: compiled where that
// can be done, and the interpreter about the rest.
type mapFilter struct {
	scripts couchhttp.Scripts
	realm   script.Realm
	program *compiled.Map // nil: not compiled
}

func (m *mapFilter) ask(ctx context.Context, docs [][]byte) ([]bool, error) {
	passed := make([]bool, len(docs))
	var rest [][]byte
	var positions []int
	var machine *compiled.Machine // for these documents only: feeds wait long, and it would keep memory
	if m.program != nil {
		machine = m.program.NewMachine()
	}
	for i, doc := range docs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if machine != nil {
			machine.Reset()
			rows, err := machine.Run(ctx, doc, nil)
			if err == nil {
				passed[i] = len(rows) > 0
				continue
			}
		}
		rest, positions = append(rest, doc), append(positions, i)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	verdicts, err := m.scripts.ViewFilter(ctx, m.realm, rest)
	for i, pass := range verdicts {
		passed[positions[i]] = pass
	}
	return passed, err
}

func (f *filterRequest) judge(ask func(ctx context.Context, docs [][]byte) ([]bool, error)) {
	f.rows.winners = map[store.Seq]readWinner{}
	f.q.Judge = &judge{rows: f.rows, ask: ask}
}

var _ couchhttp.Scripts = (*script.Pool)(nil)
