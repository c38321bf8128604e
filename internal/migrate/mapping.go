package migrate

import (
	"fmt"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/partitionkey"
)

// Mapping says what becomes of ids, and of the references to them.
type Mapping struct {
	// By gives a document's partition.
	By partitionkey.Template
	// Default is the partition of documents for which By has none; "": they are refused.
	Default document.Partition
	// KeepIDs keeps ids as they are. Each has to begin with its partition and a colon. Otherwise these are put before it.
	KeepIDs bool
	// References are members whose values are ids of other documents, or arrays of such: paths as in templates, which
	// lead through the elements of arrays.
	References []string
}

const designPrefix = "_design/"

// partition returns where a document belongs, and otherwise why it belongs nowhere.
func (m *Mapping) partition(id string, body []byte) (p document.Partition, why string) {
	if p, why = m.By.Partition(id, body); why != "" && m.Default != "" {
		p, why = m.Default, ""
	}
	if why == "" && m.KeepIDs && !strings.HasPrefix(id, string(p)+":") {
		return "", fmt.Sprintf("its id does not begin with its partition, %s:", p)
	}
	return p, why
}

// newID returns the id that a document of a partition gets.
func (m *Mapping) newID(old string, p document.Partition) string {
	if m.KeepIDs || strings.HasPrefix(old, designPrefix) {
		return old
	}
	return string(p) + ":" + old
}

// oldID returns the id of which newID made one.
func (m *Mapping) oldID(id string) string {
	if m.KeepIDs || strings.HasPrefix(id, designPrefix) {
		return id
	}
	if _, old, ok := strings.Cut(id, ":"); ok {
		return old
	}
	return id
}

// placed returns the old id that a document of the target would be of, and its partition; ok is false for what is in no
// partition.
func (m *Mapping) placed(id string) (old string, p document.Partition, ok bool) {
	before, _, ok := strings.Cut(id, ":")
	if !ok || strings.HasPrefix(id, "_") {
		return "", "", false
	}
	return m.oldID(id), document.Partition(before), true
}

// check refuses references that are no paths.
func (m *Mapping) check() error {
	for _, path := range m.References {
		for _, name := range steps(path) {
			if name == "" || strings.HasPrefix(name, "_") {
				return dberr.New(dberr.Invalid, "bad_request", "%s names no member that may refer to documents.", path)
			}
		}
	}
	return nil
}

// steps returns the names that a path is made of; \. is a point in a name.
func steps(path string) []string {
	names := strings.Split(strings.ReplaceAll(path, `\.`, "\x00"), ".")
	for i := range names {
		names[i] = strings.ReplaceAll(names[i], "\x00", ".")
	}
	return names
}

// references calls each with every id that a document refers to.
func (m *Mapping) references(doc []byte, each func(id string)) {
	for _, path := range m.References {
		walk(doc, steps(path), func(id string) (string, bool) {
			each(id)
			return "", false
		})
	}
}

// rewrite returns a document with its new id, and with references to what place knows.
func (m *Mapping) rewrite(doc []byte, id string, place func(old string) (id string, ok bool)) []byte {
	doc = jsonscan.With(doc, "_id", jsonscan.AppendQuoted(nil, id))
	for _, path := range m.References {
		doc = walk(doc, steps(path), place)
	}
	return doc
}

// walk returns a value in which the texts at a path are changed, where change has something else for them.
func walk(value []byte, path []string, change func(text string) (string, bool)) []byte {
	switch jsonscan.KindOf(value) {
	case jsonscan.Array:
		out := []byte{'['}
		for e := jsonscan.ElementsOf(value); ; {
			element, ok := e.Next()
			if !ok {
				return append(out, ']')
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, walk(element, path, change)...)
		}
	case jsonscan.Object:
		if len(path) == 0 {
			return value
		}
		inner, ok := jsonscan.Member(value, path[0])
		if !ok {
			return value
		}
		return jsonscan.With(value, path[0], walk(inner, path[1:], change))
	case jsonscan.String:
		if len(path) > 0 {
			return value
		}
		if to, ok := change(string(jsonscan.Text(nil, value))); ok {
			return jsonscan.AppendQuoted(nil, to)
		}
	}
	return value
}

// global returns a design document whose queries ask the whole database, as they did before it had partitions, and
// whether that is another one.
func global(doc []byte) ([]byte, bool) {
	if deleted, ok := jsonscan.Member(doc, "_deleted"); ok && jsonscan.KindOf(deleted) == jsonscan.True {
		return doc, false
	}
	options, ok := jsonscan.Member(doc, "options")
	if !ok || jsonscan.KindOf(options) != jsonscan.Object {
		options = []byte("{}")
	}
	if _, said := jsonscan.Member(options, "partitioned"); said {
		return doc, false
	}
	return jsonscan.With(doc, "options", jsonscan.With(options, "partitioned", []byte("false"))), true
}
