package query

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// explained is the answer of _explain, member by member in CouchDB's order.
type explained struct {
	DBName      string          `json:"dbname"`
	Index       json.RawMessage `json:"index"`
	Partitioned bool            `json:"partitioned"`
	Selector    json.RawMessage `json:"selector"`
	Opts        options         `json:"opts"`
	Limit       int             `json:"limit"`
	Skip        int             `json:"skip"`
	Fields      []string        `json:"fields"`
	Candidates  []judged        `json:"index_candidates"`
	Hints       []hint          `json:"selector_hints"`
	MRArgs      *mrArgs         `json:"mrargs,omitempty"`
	Covering    *bool           `json:"covering,omitempty"`
	Plan        []step          `json:"plan,omitempty"`
}

// options are the request as it was understood.
type options struct {
	UseIndex      []string        `json:"use_index"`
	Bookmark      string          `json:"bookmark"`
	Limit         int             `json:"limit"`
	Skip          int             `json:"skip"`
	Sort          json.RawMessage `json:"sort"`
	Fields        []string        `json:"fields"`
	Partition     string          `json:"partition"`
	R             json.Number     `json:"r"`
	Conflicts     bool            `json:"conflicts"`
	Stale         json.RawMessage `json:"stale"`
	Update        bool            `json:"update"`
	Stable        bool            `json:"stable"`
	Stats         bool            `json:"execution_stats"`
	AllowFallback bool            `json:"allow_fallback"`
}

// mrArgs is the plan as CouchDB asks its views.
type mrArgs struct {
	IncludeDocs bool            `json:"include_docs"`
	ViewType    string          `json:"view_type"`
	Reduce      bool            `json:"reduce"`
	Partition   *string         `json:"partition"`
	StartKey    json.RawMessage `json:"start_key"`
	EndKey      json.RawMessage `json:"end_key"`
	Direction   string          `json:"direction"`
	Stable      bool            `json:"stable"`
	Update      bool            `json:"update"`
	Conflicts   any             `json:"conflicts"`
}

// judged is an index that was not chosen.
type judged struct {
	Index    json.RawMessage `json:"index"`
	Analysis analysis        `json:"analysis"`
}

type analysis struct {
	Usable   bool    `json:"usable"`
	Reasons  []named `json:"reasons"`
	Ranking  int     `json:"ranking"`
	Covering *bool   `json:"covering"`
	stage    int
}

type named struct {
	Name reason `json:"name"`
}

type hint struct {
	Type        string   `json:"type"`
	Indexable   []string `json:"indexable_fields"`
	Unindexable []string `json:"unindexable_fields"`
}

// step is a branch of the plan. It is ours.
type step struct {
	Index     string   `json:"index"`
	Direction string   `json:"direction"`
	Covering  bool     `json:"covering"`
	Ranges    []string `json:"ranges"`
	Rows      int      `json:"rows"`
	Exact     bool     `json:"exact"`
}

// counted is up to how many rows _explain counts to tell how many there are.
const counted = 10_000

// Explain returns the answer of _explain: how the request would be answered. With
// execution_stats it tells the plan and counts its rows.
func Explain(ctx context.Context, req *Request, scope store.Scope) (answer []byte, err error) {
	err = scope.View(ctx, func(r *store.Reader) error {
		set, err := index.Of(r)
		if err != nil {
			return err
		}
		shared, err := index.Shared(r)
		if err != nil {
			return err
		}
		p := newPlanner(req, pathsOf(set, shared, scope.Partition() != ""), scope.Partition() != "")
		p.estimate = func(b *Branch) (int, error) { return b.path.estimate(r, b.ranges, probe) }
		plan, err := p.plan(scope.Partitioned())
		var refused *dberr.Error
		if errors.As(err, &refused) && refused.Code == "no_usable_index" {
			err = nil
		}
		if err != nil {
			return err
		}
		if plan.await != nil {
			plan.Branches = []*Branch{plan.await}
		}
		e := p.explain(plan, scope)
		if req.Stats {
			if e.Plan, err = steps(plan, r); err != nil {
				return err
			}
		}
		var b bytes.Buffer
		w := json.NewEncoder(&b)
		w.SetEscapeHTML(false)
		err = w.Encode(e)
		answer = b.Bytes()
		return err
	})
	return bytes.TrimSpace(answer), err
}

func (p *planner) explain(plan *Plan, scope store.Scope) *explained {
	req := p.req
	e := &explained{
		DBName: scope.Name(), Index: json.RawMessage("null"), Partitioned: scope.Partitioned(),
		Selector: req.Selector.JSON(), Limit: req.Limit, Skip: req.Skip, Fields: fieldNames(req), Candidates: p.judge(plan), Hints: p.hints(),
	}
	e.Opts = options{
		UseIndex: append([]string{}, req.UseIndex...), Bookmark: cmp.Or(req.Bookmark, noBookmark), Limit: req.Limit, Skip: req.Skip, Sort: sortJSON(req.Sort),
		Fields: e.Fields, Partition: string(scope.Partition()), R: json.Number(req.R), Conflicts: req.Conflicts, Stale: json.RawMessage(req.Stale),
		Update: req.Update, Stable: req.Stable, Stats: req.Stats, AllowFallback: req.AllowFallback,
	}
	if len(plan.Branches) == 0 {
		return e
	}
	b := plan.Branches[0]
	covering := b.covering()
	e.Index, e.Covering = AppendIndex(nil, b.path.index()), &covering
	e.MRArgs = &mrArgs{
		IncludeDocs: !covering && req.R == "1", ViewType: "map", Direction: "fwd", Stable: req.Stable, Update: req.Update, Conflicts: "undefined",
	}
	if req.Conflicts {
		e.MRArgs.Conflicts = true
	}
	if part := string(scope.Partition()); part != "" {
		e.MRArgs.Partition = &part
	}
	e.MRArgs.StartKey, e.MRArgs.EndKey = b.keys()
	if b.descending {
		e.MRArgs.Direction = "rev"
		e.MRArgs.StartKey, e.MRArgs.EndKey = e.MRArgs.EndKey, e.MRArgs.StartKey
	}
	return e
}

func fieldNames(req *Request) []string {
	names := []string{}
	for _, p := range req.Fields.Paths() {
		names = append(names, p.String())
	}
	return names
}

func sortJSON(fields []SortField) []byte {
	dst := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendQuoted(dst, f.Path.String()), ':')
		dst = append(dst, direction(f.Desc)...)
	}
	return append(dst, '}')
}

func direction(desc bool) string {
	if desc {
		return `"desc"`
	}
	return `"asc"`
}

// AppendIndex appends an index as _index lists it; nil is the list of all
// documents. What def shows is what POST _index takes to make the same index.
func AppendIndex(dst []byte, n *index.Named) []byte {
	if n == nil {
		return append(dst, `{"ddoc":null,"name":"_all_docs","type":"special","def":{"fields":[{"_id":"asc"}]}}`...)
	}
	d := field.Of(n.Index)
	dst = jsonscan.AppendQuoted(append(dst, `{"ddoc":`...), string(n.Design))
	dst = jsonscan.AppendQuoted(append(dst, `,"name":`...), n.Name)
	dst = strconv.AppendBool(append(dst, `,"type":"json","partitioned":`...), n.Index.Partitioned)
	dst = append(dst, `,"def":{"fields":[`...)
	for i, c := range d.Columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendQuoted(append(dst, '{'), c.Name), ':')
		dst = append(append(dst, direction(c.Desc)...), '}')
	}
	dst = append(dst, ']')
	if d.Partial != nil {
		dst = append(append(dst, `,"partial_filter_selector":`...), d.Partial.JSON()...)
	}
	for i, p := range d.Include {
		dst = append(dst, []string{`,"include":[`, `,`}[bit(i > 0)]...)
		dst = jsonscan.AppendQuoted(dst, p.String())
	}
	if len(d.Include) > 0 {
		dst = append(dst, ']')
	}
	if d.Sparse && len(d.Columns) > 1 {
		dst = append(dst, `,"sparse":true`...)
	}
	return append(dst, "}}"...)
}

// keys returns the range of a branch as CouchDB tells it: one start and one end.
func (b *Branch) keys() (start, end json.RawMessage) {
	if b.empty() {
		return json.RawMessage("null"), json.RawMessage("null")
	}
	const most = `"<MAX>"`
	if b.Index() == nil {
		start, end = json.RawMessage("null"), json.RawMessage(most)
		if s := b.sets[0]; len(s) == 1 {
			if v := s[0].low.Value; v != nil {
				start = v
			}
			if v := s[0].high.Value; v != nil {
				end = v
			}
		}
		return start, end
	}
	side := func(of func(interval) []byte) []byte {
		dst := []byte{'['}
		for _, s := range b.sets {
			if len(s) != 1 || s[0].kind || of(s[0]) == nil {
				break
			}
			dst = append(append(dst, of(s[0])...), ',')
		}
		return dst
	}
	start = side(func(i interval) []byte { return i.low.Value })
	if len(start) > 1 {
		start = start[:len(start)-1]
	}
	end = append(side(func(i interval) []byte { return i.high.Value }), most...)
	return append(start, ']'), append(end, ']')
}

// judge says of every index that was not chosen why it was not.
func (p *planner) judge(plan *Plan) []judged {
	all := []judged{}
	if len(plan.considered) == 1 && len(plan.Branches) > 0 {
		return all
	}
	list := slices.Clone(plan.considered)
	slices.SortStableFunc(list, func(a, b *Branch) int {
		x, y := a.path.index(), b.path.index()
		if x == nil || y == nil {
			return bit(x == nil) - bit(y == nil)
		}
		return cmp.Or(cmp.Compare(y.Design, x.Design), cmp.Compare(y.Name, x.Name))
	})
	stages := map[int]bool{}
	for _, b := range list {
		if slices.ContainsFunc(plan.Branches, func(c *Branch) bool { return c.label() == b.label() }) {
			continue
		}
		why, stage := p.reasonAgainst(b, plan)
		a := analysis{Usable: b.reason == "", Reasons: []named{{why}}, stage: stage}
		if covering := b.covering(); b.Index() != nil {
			a.Covering = &covering
		}
		stages[stage] = true
		all = append(all, judged{AppendIndex(nil, b.path.index()), a})
	}
	for i := range all {
		a := &all[i].Analysis
		for s := range stages {
			a.Ranking += bit(s <= a.stage)
		}
	}
	return all
}

// reasonAgainst says why an index was not chosen, and at which stage of the
// choice it fell out, the last first.
func (p *planner) reasonAgainst(b *Branch, plan *Plan) (why reason, stage int) {
	switch b.reason {
	case "":
	case scopeMismatch:
		return b.reason, 3
	case isPartial:
		return b.reason, 4
	default:
		return b.reason, 2
	}
	if len(plan.Branches) == 0 {
		return sortMismatch, 2
	}
	chosen := plan.Branches[0]
	switch {
	case p.chosen(chosen):
		return "excluded_by_user", 1
	case b.Index() == nil:
		return "unfavored_type", 1
	case b.equal < chosen.equal || b.equal == chosen.equal && !b.ranged && chosen.ranged || chosen.Index() == nil:
		return "less_overlap", 0
	case b.width > chosen.width:
		return "too_many_fields", 0
	}
	return "alphabetically_comes_after", 0
}

// hints returns which fields of the selector an index can help with.
func (p *planner) hints() []hint {
	h := hint{Type: "json", Indexable: []string{}, Unindexable: []string{}}
	one := project(p.conjuncts)
	seen := map[string]bool{}
	for i := range p.conjuncts {
		for path := range p.conjuncts[i].by {
			if path == "" || seen[path] {
				continue
			}
			seen[path] = true
			if one.demands(path) != nil {
				h.Indexable = append(h.Indexable, path)
			} else {
				h.Unindexable = append(h.Unindexable, path)
			}
		}
	}
	slices.Sort(h.Indexable)
	slices.Sort(h.Unindexable)
	return []hint{h}
}

// steps tells the plan and how many rows it reads.
func steps(plan *Plan, r *store.Reader) (all []step, err error) {
	for _, b := range plan.Branches {
		s := step{Index: b.label(), Direction: "fwd", Covering: b.covering(), Ranges: []string{}}
		if b.descending {
			s.Direction = "rev"
		}
		for i := range b.ranges[:min(len(b.ranges), 100)] {
			s.Ranges = append(s.Ranges, b.ranges[i].String())
		}
		if s.Rows, err = b.path.estimate(r, b.ranges, counted+1); err != nil {
			return nil, err
		}
		s.Exact = s.Rows <= counted
		s.Rows = min(s.Rows, counted)
		all = append(all, s)
	}
	return all, nil
}
