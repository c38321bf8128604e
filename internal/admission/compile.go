package admission

import (
	"context"
	"strings"

	"github.com/sectional/sectional/internal/analyze"
	"github.com/sectional/sectional/internal/document"
	js "github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
)

var _ store.Compilation = (*Rules)(nil)

// Compile refuses a design document with a view function that does not compile, or,
// unless it is a replica, with an index function that does not or an analyzer that
// there is not: such an index would find nothing, but what is replicated may have been
// so for years, beside views that are needed. Other functions are compiled when they
// are called, as in CouchDB, and so is everything in a language that is not JavaScript.
func (r *Rules) Compile(ctx context.Context, d *store.Database, e *document.Edit) error {
	if e.Deleted || !e.ID.Designs(d.Partitioned()) {
		return nil
	}
	body := e.Body
	if !document.IsJavaScript(body) {
		return nil
	}
	sources := viewSources(body)
	if e.Path == nil {
		if err := checkAnalyzers(body); err != nil {
			return err
		}
		sources = append(sources, indexSources(body)...)
	}
	switch {
	case len(sources) == 0:
		return nil
	case r.o.Functions == nil:
		return errNoFunctions
	}
	return r.o.Functions.Check(ctx, !e.ID.IsDesign(), sources)
}

// viewSources returns the functions of a design document's views that are code.
func viewSources(body []byte) (sources []script.Source) {
	eachView(body, func(name string, view []byte) {
		for _, kind := range []string{"map", "reduce"} {
			code, ok := js.Member(view, kind)
			if text := string(js.Text(nil, code)); ok && !(kind == "reduce" && strings.HasPrefix(text, "_")) {
				sources = append(sources, script.Source{View: name, Kind: kind, Code: text})
			}
		}
	})
	return sources
}

// eachView calls fn with the views of a design document.
func eachView(body []byte, fn func(name string, view []byte)) {
	views, _ := js.Member(body, "views")
	members := js.MembersOf(views)
	for {
		quoted, view, ok := members.Next()
		if !ok {
			return
		}
		if !js.NameIs(quoted, "lib") {
			fn(string(js.Text(nil, quoted)), view)
		}
	}
}

// maxPartitioned is how many partitioned indexes a database may have under
// Cloudant's limits.
const maxPartitioned = 10

// globalOnly are the members that a partitioned design document may not have
// under Cloudant's limits.
var globalOnly = []string{"filters", "validate_doc_update", "updates", "lists", "shows", "rewrites", "st_indexes"}

// checkCloudant applies Cloudant's limits on partitioned design documents. The
// number of indexes is that of the documents as they are now: whoever writes
// another design document meanwhile moves the definitions, and the edit is asked
// about again.
func checkCloudant(ctx context.Context, d *store.Database, id document.ID, body []byte) error {
	if !d.Partitioned() || !isPartitioned(body) {
		return nil
	}
	for _, name := range globalOnly {
		if _, ok := js.Member(body, name); ok {
			return notPartitioned(name)
		}
	}
	own := 0
	var refused error
	eachView(body, func(_ string, view []byte) {
		own++
		if reduce, ok := js.Member(view, "reduce"); ok && !strings.HasPrefix(string(js.Text(nil, reduce)), "_") {
			refused = notPartitioned("reduce")
		}
	})
	own += searchIndexes(body)
	if refused != nil || own == 0 {
		return refused
	}
	others, err := partitionedIndexes(ctx, d, id)
	if err == nil && own+others > maxPartitioned {
		err = invalidDesign("A database can have 10 partitioned indexes at most.")
	}
	return err
}

func notPartitioned(member string) error {
	return invalidDesign("`" + member + "` cannot be used in a partitioned design doc")
}

// isPartitioned reports whether a design document of a partitioned database is.
func isPartitioned(body []byte) bool {
	options, _ := js.Member(body, "options")
	v, ok := js.Member(options, "partitioned")
	return !ok || js.KindOf(v) == js.True
}

// searchIndexes counts the full-text indexes of a design document.
func searchIndexes(body []byte) (n int) {
	for _, member := range []string{"indexes", "nouveau"} {
		indexes, _ := js.Member(body, member)
		for m := js.MembersOf(indexes); ; n++ {
			if _, _, ok := m.Next(); !ok {
				break
			}
		}
	}
	return n
}

// partitionedIndexes counts the indexes of a database's other partitioned
// design documents.
func partitionedIndexes(ctx context.Context, d *store.Database, except document.ID) (n int, err error) {
	err = d.Whole().View(ctx, func(r *store.Reader) error {
		n = 0
		for e, err := range r.Docs(store.Span{From: "_design/", To: "_design0", Before: true}, true) {
			if err != nil {
				return err
			}
			if e.Winner == nil || e.Doc.ID == except || !isPartitioned(e.Winner.Body) {
				continue
			}
			eachView(e.Winner.Body, func(string, []byte) { n++ })
			n += searchIndexes(e.Winner.Body)
		}
		return nil
	})
	return n, err
}

// indexSources returns the functions of a design document's full-text and geo indexes.
func indexSources(body []byte) (sources []script.Source) {
	for _, member := range []string{"indexes", "nouveau", "st_indexes"} {
		eachIndex(body, member, func(name string, index []byte) {
			if code, _ := js.Member(index, "index"); js.KindOf(code) == js.String {
				sources = append(sources, script.Source{Kind: member + "." + name + ".index", Code: string(js.Text(nil, code))})
			}
		})
	}
	return sources
}

// checkAnalyzers refuses full-text indexes with an analyzer that there is not.
func checkAnalyzers(body []byte) (err error) {
	eachIndex(body, "indexes", func(name string, index []byte) {
		definition, _ := js.Member(index, "analyzer")
		if _, wrong := analyze.New(definition); wrong != nil && err == nil {
			err = invalidDesign("`indexes." + name + ".analyzer`: " + wrong.Error())
		}
	})
	eachIndex(body, "nouveau", func(name string, index []byte) {
		if _, wrong := analyze.Nouveau(index); wrong != nil && err == nil {
			err = invalidDesign("`nouveau." + name + "`: " + wrong.Error())
		}
	})
	return err
}

// eachIndex calls fn with the indexes that a member of a design document defines.
func eachIndex(body []byte, member string, fn func(name string, index []byte)) {
	indexes, _ := js.Member(body, member)
	if js.KindOf(indexes) != js.Object {
		return
	}
	for members := js.MembersOf(indexes); ; {
		quoted, index, ok := members.Next()
		if !ok {
			return
		}
		if js.KindOf(index) == js.Object {
			fn(string(js.Text(nil, quoted)), index)
		}
	}
}
