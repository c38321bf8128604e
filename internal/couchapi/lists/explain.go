package lists

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/jsonscan"
	mango "github.com/sectional/sectional/internal/query"
	"github.com/sectional/sectional/internal/store"
)

// explain answers POST _explain: how a _find would be answered.
func explain(r *couchhttp.Request) error {
	if err := r.MayQuery(); err != nil { // it shows how many documents are in a range
		return err
	}
	req, scope, err := parseFind(r)
	if err != nil {
		return err
	}
	e, err := mango.Explain(r.Ctx(), req, scope, r.API.Indexes)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	if err := w.Encode(explainedOf(e, req, scope)); err != nil {
		return err
	}
	return r.JSON(http.StatusOK, bytes.TrimSpace(b.Bytes()))
}

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
	Query       string          `json:"query,omitempty"`
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
}

type named struct {
	Name string `json:"name"`
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

func explainedOf(of *mango.Explanation, req *mango.Request, scope store.Scope) *explained {
	e := &explained{
		DBName: scope.Name(), Index: json.RawMessage("null"), Partitioned: scope.Partitioned(),
		Selector: req.Selector.JSON(), Limit: req.Limit, Skip: req.Skip, Fields: fieldNames(req), Candidates: []judged{},
		Hints: []hint{
			{"json", append([]string{}, of.Indexable...), append([]string{}, of.Unindexable...)},
			{"text", append([]string{}, of.Words...), append([]string{}, of.Wordless...)},
		},
	}
	e.Opts = options{
		UseIndex: append([]string{}, req.UseIndex...), Bookmark: cmp.Or(req.Bookmark, mango.NoBookmark), Limit: req.Limit, Skip: req.Skip, Sort: sortJSON(req.Sort),
		Fields: e.Fields, Partition: string(scope.Partition()), R: json.Number(req.R), Conflicts: req.Conflicts, Stale: json.RawMessage(req.Stale),
		Update: req.Update, Stable: req.Stable, Stats: req.Stats, AllowFallback: req.AllowFallback,
	}
	for _, c := range of.Candidates {
		a := analysis{Usable: c.Usable, Reasons: []named{{c.Reason}}, Ranking: c.Ranking}
		if c.Index != nil && mangoText(c.Index) == nil {
			a.Covering = &c.Covering
		}
		e.Candidates = append(e.Candidates, judged{appendIndex(nil, c.Index, scope), a})
	}
	for _, s := range of.Steps {
		e.Plan = append(e.Plan, step{s.Index, readingOf(s.Descending), s.Covering, append([]string{}, s.Ranges...), s.Rows, s.Exact})
	}
	if b := of.Chosen; b != nil {
		covering := b.Covering()
		e.Index = appendIndex(nil, b.Named(), scope)
		if query, is := b.Question(); is {
			e.Query = query
		} else {
			e.Covering, e.MRArgs = &covering, mrArgsOf(b, req, scope)
		}
	}
	return e
}

// readingOf returns the word for the order in which rows are read.
func readingOf(descending bool) string {
	if descending {
		return "rev"
	}
	return "fwd"
}

func mrArgsOf(b *mango.Branch, req *mango.Request, scope store.Scope) *mrArgs {
	m := &mrArgs{
		IncludeDocs: !b.Covering() && req.R == "1", ViewType: "map", Direction: readingOf(b.Descending()), Stable: req.Stable, Update: req.Update, Conflicts: "undefined",
	}
	if req.Conflicts {
		m.Conflicts = true
	}
	if part := string(scope.Partition()); part != "" {
		m.Partition = &part
	}
	m.StartKey, m.EndKey = keysOf(b)
	if b.Descending() {
		m.StartKey, m.EndKey = m.EndKey, m.StartKey
	}
	return m
}

// keysOf returns the range of a branch as CouchDB shows it: one start and one end.
func keysOf(b *mango.Branch) (start, end json.RawMessage) {
	const most = `"<MAX>"`
	low, high, ok := b.Bounds()
	switch {
	case !ok:
		return json.RawMessage("null"), json.RawMessage("null")
	case b.Named() == nil: // ids are no lists
		low, high = append(low, []byte("null")), append(high, []byte(most))
		return low[0], high[0]
	}
	list := func(values [][]byte) json.RawMessage {
		return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
	}
	return list(low), list(append(high, []byte(most)))
}

func fieldNames(req *mango.Request) []string {
	names := []string{}
	for _, p := range req.Fields.Paths() {
		names = append(names, p.String())
	}
	return names
}

func sortJSON(fields []mango.SortField) []byte {
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

// appendIndex appends an index as _index lists it; nil is the list of all
// documents. What def shows is what POST _index takes to make the same index. To a tenant
// an index of its database for each partition is an ordinary one.
func appendIndex(dst []byte, n *index.Named, scope store.Scope) []byte {
	if n == nil {
		return append(dst, `{"ddoc":null,"name":"_all_docs","type":"special","def":{"fields":[{"_id":"asc"}]}}`...)
	}
	partitioned := n.Index.Partitioned && scope.Tenant() == ""
	if d := mangoText(n); d != nil {
		return appendTextIndex(dst, n, d, partitioned)
	}
	if d := mangoGeo(n); d != nil {
		return appendGeoIndex(dst, n, d, partitioned)
	}
	d := field.Of(n.Index)
	dst = jsonscan.AppendQuoted(append(dst, `{"ddoc":`...), string(n.Design))
	dst = jsonscan.AppendQuoted(append(dst, `,"name":`...), n.Name)
	dst = strconv.AppendBool(append(dst, `,"type":"json","partitioned":`...), partitioned)
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
		if i == 0 {
			dst = append(dst, `,"include":[`...)
		} else {
			dst = append(dst, ',')
		}
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
