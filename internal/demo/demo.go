// Package demo owns the data that a newcomer finds in a server started with --demo: a shop in three partitioned
// databases, sensor readings, a fitness log in an ordinary database and one in which each user has a partition,
// organisations with their projects, and the cities of the world. All but the cities follow the articles that
// docs/articles describes: their models, sample documents, indexes and views.
//
// It promises that the same size always gives the same documents, byte for byte, and that loading twice, or again
// after an interrupted load, leaves each document there once. It speaks to the server through one function that
// sends a request, so it knows neither storage nor net/http. Begin reading at Load; each database has a file.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/progress"
)

// DefaultSize is the number of orders where nobody asks for another; users, readings and workouts follow from it.
const DefaultSize = 1000

// batch is the number of documents in one _bulk_docs: large enough that one sync serves many, small enough that the
// progress bar moves.
const batch = 1000

// marker is the document that says a database is complete. It is local, so it is not counted and not replicated.
const marker = "/_local/demo"

// Do sends one request to the CouchDB API with an administrator's rights and returns status and body.
type Do func(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error)

// database is one part of the demo.
type database struct {
	name        string
	partitioned bool
	security    string                                  // the _security it begins with, "" for that of any database
	design      []request                               // its indexes and design documents
	views       []string                                // paths of views, which are brought up to date after a load
	samples     func() []any                            // the articles' own documents, whatever the size; may be nil
	generated   func(size int) iter.Seq2[[]byte, error] // documents in order, as many as size asks for; may be nil
}

// request is one request below a database.
type request struct{ method, path, body string }

// databases lists the parts in the order in which they are loaded.
func databases() []database {
	return []database{
		productsDatabase(), usersDatabase(), ordersDatabase(),
		readingsDatabase(),
		fitnessDatabase(), sharedFitnessDatabase(),
		organisationsDatabase(), projectsDatabase(),
		{name: "cities", partitioned: true, generated: cities},
	}
}

// documents returns the samples and what is generated; without the latter where those of another shape are there.
func (d *database) documents(size int, generated bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if d.samples != nil {
			for _, sample := range d.samples() {
				if row, err := encode(sample); !yield(row, err) || err != nil {
					return
				}
			}
		}
		if d.generated == nil || !generated {
			return
		}
		for row, err := range d.generated(size) {
			if !yield(row, err) {
				return
			}
		}
	}
}

// Load makes the demo's databases and loads what they lack, showing on the line how far it came. A complete database carries
// a marker with its size and is passed over; an incomplete one is sent again from the start, and documents that are
// already there are left as they are. A database that an earlier release generated in another shape keeps its
// documents, and gets the samples, indexes and views alone.
func Load(ctx context.Context, do Do, size int, line *progress.Line) error {
	if size < 1 {
		return fmt.Errorf("demo: the size must be positive, got %d", size)
	}
	return loadAll(ctx, do, size, line, databases())
}

func loadAll(ctx context.Context, do Do, size int, line *progress.Line, list []database) error {
	defer line.Clear()
	for _, d := range list {
		l := loader{do: do, database: d, size: size, line: line}
		if err := l.run(ctx); err != nil {
			return fmt.Errorf("demo: loading %s: %w", d.name, err)
		}
	}
	return nil
}

// Hints returns three command lines worth trying. base is the server's address with its scheme, credentials are
// "user:password".
func Hints(base, credentials string) []string {
	curl := func(path string) string {
		return "curl -u '" + credentials + "' '" + strings.TrimSuffix(base, "/") + path + "'"
	}
	return []string{
		curl("/products/_partition/Home%23Kitchen%23Small%20Appliances/_all_docs?include_docs=true&limit=3"),
		curl("/orders/_partition/order555/_all_docs?include_docs=true"),
		curl("/cities/_partitions?sort=docs&descending=true&limit=5"),
	}
}

// loader brings one database to completeness.
type loader struct {
	do       Do
	database database
	size     int
	line     *progress.Line
}

func (l *loader) run(ctx context.Context) error {
	path := "/" + l.database.name
	theirs, err := l.create(ctx, path)
	if err != nil || theirs {
		return err
	}
	m, err := l.marker(ctx)
	if err != nil || m.covers(l.size) {
		return err
	}
	if m.Size == 0 {
		m.Shape = shape
	}
	for _, r := range l.database.design {
		if _, err := l.send(ctx, r.method, path+r.path, []byte(r.body), 200, 201, 202, 409); err != nil {
			return err
		}
	}
	if err := l.documents(ctx, m.Shape == shape); err != nil {
		return err
	}
	for _, view := range l.database.views {
		if _, err := l.send(ctx, "GET", path+view+"?limit=1", nil, 200); err != nil {
			return err
		}
	}
	if m.Samples = shape; m.Shape == shape {
		m.Size = l.size
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = l.send(ctx, "PUT", path+marker, body, 201, 202)
	return err
}

// create makes the database. It reports whether one of another kind has the name: that is not the demo's.
func (l *loader) create(ctx context.Context, path string) (theirs bool, err error) {
	create := path
	if l.database.partitioned {
		create += "?partitioned=true"
	}
	status, _, err := l.answer(ctx, "PUT", create, nil, 201, 202, 412)
	if err != nil {
		return false, err
	}
	if status == 412 {
		return l.otherKind(ctx, path)
	}
	if l.database.security != "" {
		_, err = l.send(ctx, "PUT", path+"/_security", []byte(l.database.security), 200)
	}
	return false, err
}

// otherKind reports whether the database that is there is not partitioned as the demo's is.
func (l *loader) otherKind(ctx context.Context, path string) (bool, error) {
	answer, err := l.send(ctx, "GET", path, nil, 200)
	if err != nil {
		return false, err
	}
	var info struct {
		Props struct{ Partitioned bool }
	}
	if err := json.Unmarshal(answer, &info); err != nil {
		return false, fmt.Errorf("the database's information is not JSON: %w", err)
	}
	return info.Props.Partitioned != l.database.partitioned, nil
}

// shape is the version of the documents' members. The first release had 0, with names of its own.
const shape = 1

// markerBody is the marker's content.
type markerBody struct {
	Rev     string `json:"_rev,omitempty"`
	Size    int    `json:"size"`              // the size up to which the database is complete
	Shape   int    `json:"shape,omitempty"`   // of the generated documents
	Samples int    `json:"samples,omitempty"` // the shape of the samples, indexes and views
}

// covers reports whether nothing is missing for a size.
func (m *markerBody) covers(size int) bool {
	return m.Samples == shape && (m.Size >= size || m.Shape != shape)
}

// marker reads the database's marker, the zero value where there is none.
func (l *loader) marker(ctx context.Context) (m markerBody, err error) {
	answer, err := l.send(ctx, "GET", "/"+l.database.name+marker, nil, 200, 404)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(answer, &m); err != nil {
		return m, fmt.Errorf("the marker is not JSON: %w", err)
	}
	return m, nil
}

// documents sends the documents of the database in batches.
func (l *loader) documents(ctx context.Context, generated bool) error {
	total := 0
	for _, err := range l.database.documents(l.size, generated) {
		if err != nil {
			return err
		}
		total++
	}
	sent, rows := 0, make([][]byte, 0, batch)
	flush := func() error {
		if err := l.bulk(ctx, rows); err != nil {
			return err
		}
		sent += len(rows)
		rows = rows[:0]
		l.show(sent, total)
		return nil
	}
	for row, err := range l.database.documents(l.size, generated) {
		if err != nil {
			return err
		}
		if rows = append(rows, row); len(rows) == batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return nil
}

// bulk stores documents; one that is there already answers with a conflict, which is what a second load wants.
func (l *loader) bulk(ctx context.Context, rows [][]byte) error {
	if len(rows) == 0 {
		return nil
	}
	var body bytes.Buffer
	body.WriteString(`{"docs":[`)
	body.Write(bytes.Join(rows, []byte{','}))
	body.WriteString(`]}`)
	answer, err := l.send(ctx, "POST", "/"+l.database.name+"/_bulk_docs", body.Bytes(), 201, 202)
	if err != nil {
		return err
	}
	var outcomes []struct{ ID, Error, Reason string }
	if err := json.Unmarshal(answer, &outcomes); err != nil {
		return fmt.Errorf("the answer to _bulk_docs is not JSON: %w", err)
	}
	for _, o := range outcomes {
		if o.Error != "" && o.Error != "conflict" {
			return fmt.Errorf("%s was refused: %s: %s", o.ID, o.Error, o.Reason)
		}
	}
	return nil
}

// send makes one request and fails on a status that the caller did not name.
func (l *loader) send(ctx context.Context, method, path string, body []byte, want ...int) ([]byte, error) {
	_, answer, err := l.answer(ctx, method, path, body, want...)
	return answer, err
}

// answer is send for callers who ask which of the statuses it was.
func (l *loader) answer(ctx context.Context, method, path string, body []byte, want ...int) (int, []byte, error) {
	status, answer, err := l.do(ctx, method, path, body)
	if err != nil {
		return 0, nil, err
	}
	if !slices.Contains(want, status) {
		return 0, nil, errors.New(method + " " + path + " answered " + fmt.Sprint(status) + ": " + string(answer))
	}
	return status, answer, nil
}
