// Package demo owns the data that a newcomer finds in a server started with --demo: a shop in three partitioned
// databases, sensor readings, a fitness log in an ordinary database, and the cities of the world.
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
	"io"
	"iter"
	"slices"
	"strings"
)

// DefaultSize is the number of orders where nobody asks for another; users, readings and workouts follow from it.
const DefaultSize = 1000

// batch is the number of documents in one _bulk_docs: large enough that one sync serves many, small enough that the
// progress bar moves.
const batch = 1000

// marker is the document that says a database is complete. It is local, so it is not counted and not replicated.
const marker = "/_local/demo"

// Do sends one request to the CouchDB API with an administrator's rights and gives back status and body.
type Do func(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error)

// database is one part of the demo: its documents come in order, as many as size asks for.
type database struct {
	name        string
	partitioned bool
	documents   func(size int) iter.Seq2[[]byte, error]
}

// databases lists the parts in the order in which they are loaded.
func databases() []database {
	return []database{
		{"products", true, products},
		{"users", true, users},
		{"orders", true, orders},
		{"readings", true, readings},
		{"fitness", false, fitness},
		{"cities", true, cities},
	}
}

// Load makes the demo's databases and loads what they lack, telling progress as it goes. A complete database carries
// a marker with its size and is passed over; an incomplete one is sent again from the start, and documents that are
// already there are left as they are.
func Load(ctx context.Context, do Do, size int, progress io.Writer) error {
	if size < 1 {
		return fmt.Errorf("demo: the size must be positive, got %d", size)
	}
	return loadAll(ctx, do, size, progress, databases())
}

func loadAll(ctx context.Context, do Do, size int, progress io.Writer, list []database) error {
	for _, d := range list {
		l := loader{do: do, database: d, size: size, bar: bar{out: progress, name: d.name}}
		if err := l.run(ctx); err != nil {
			return fmt.Errorf("demo: loading %s: %w", d.name, err)
		}
	}
	return nil
}

// Hints gives three command lines worth trying. base is the server's address with its scheme, credentials are
// "user:password".
func Hints(base, credentials string) []string {
	curl := func(path string) string {
		return "curl -u '" + credentials + "' '" + strings.TrimSuffix(base, "/") + path + "'"
	}
	return []string{
		curl("/products/_partition/Home%23Kitchen%23Small%20Appliances/_all_docs?include_docs=true&limit=3"),
		curl("/orders/_partition/order000007/_all_docs?include_docs=true"),
		curl("/cities/_partitions?sort=docs&descending=true&limit=5"),
	}
}

// loader brings one database to completeness.
type loader struct {
	do       Do
	database database
	size     int
	bar      bar
}

func (l *loader) run(ctx context.Context) error {
	path := "/" + l.database.name
	create := path
	if l.database.partitioned {
		create += "?partitioned=true"
	}
	if _, err := l.send(ctx, "PUT", create, nil, 201, 202, 412); err != nil {
		return err
	}
	revision, done, err := l.loaded(ctx)
	if err != nil || done {
		return err
	}
	if err := l.documents(ctx); err != nil {
		return err
	}
	body, err := json.Marshal(markerBody{Rev: revision, Size: l.size})
	if err != nil {
		return err
	}
	_, err = l.send(ctx, "PUT", path+marker, body, 201, 202)
	return err
}

// markerBody is the marker's content: the size up to which its database is complete.
type markerBody struct {
	Rev  string `json:"_rev,omitempty"`
	Size int    `json:"size"`
}

// loaded tells whether the marker says that the database holds at least the wanted size, and the marker's revision.
func (l *loader) loaded(ctx context.Context) (revision string, done bool, err error) {
	answer, err := l.send(ctx, "GET", "/"+l.database.name+marker, nil, 200, 404)
	if err != nil {
		return "", false, err
	}
	var m markerBody
	if err := json.Unmarshal(answer, &m); err != nil {
		return "", false, fmt.Errorf("the marker is not JSON: %w", err)
	}
	return m.Rev, m.Size >= l.size, nil
}

// documents sends every document of the database in batches.
func (l *loader) documents(ctx context.Context) error {
	total := 0
	for _, err := range l.database.documents(l.size) {
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
		l.bar.show(sent, total)
		return nil
	}
	for row, err := range l.database.documents(l.size) {
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
	return l.bar.end()
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
	status, answer, err := l.do(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(want, status) {
		return nil, errors.New(method + " " + path + " answered " + fmt.Sprint(status) + ": " + string(answer))
	}
	return answer, nil
}
