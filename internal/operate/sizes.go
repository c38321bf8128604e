package operate

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Counted is how much there is of something: documents, and their bytes.
type Counted struct {
	Documents int64 `json:"documents"`
	Deleted   int64 `json:"deleted_documents"`
	Active    int64 `json:"active_bytes"`             // documents and attachments as they are stored
	External  int64 `json:"external_bytes"`           // as they would be sent
	File      int64 `json:"engine_bytes,omitempty"`   // what the engine's files have of it, about; 0: not known
	Updates   int64 `json:"updates,omitempty"`        // sequence numbers that were given
	Partition bool  `json:"is_partitioned,omitempty"` // of a database: it has partitions
}

// Database is a database and how much is in it.
type Database struct {
	Name string `json:"database"`
	Counted
}

// Partition is a partition and how much is in it.
type Partition struct {
	Database string `json:"database"`
	Name     string `json:"partition"`
	Counted
	WritesPerHour float64    `json:"writes_per_hour,omitempty"`
	LastWrite     *time.Time `json:"last_write,omitempty"`
}

// info is what the server says of a database or a partition.
type info struct {
	Name    string `json:"db_name"`
	Docs    int64  `json:"doc_count"`
	Deleted int64  `json:"doc_del_count"`
	Seq     string `json:"update_seq"`
	Sizes   struct{ File, Active, External int64 }
	Props   struct{ Partitioned bool }
}

func (i *info) counted() Counted {
	number, _, _ := strings.Cut(i.Seq, "-")
	updates, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		updates = 0 // opaque sequences of later versions have no number that means anything
	}
	return Counted{i.Docs, i.Deleted, i.Sizes.Active, i.Sizes.External, i.Sizes.File, updates, i.Props.Partitioned}
}

// infosAtOnce is how many databases are asked about in one request.
const infosAtOnce = 100

// Databases returns all databases by their names.
func (s *Server) Databases(ctx context.Context) (all []Database, err error) {
	query := url.Values{"limit": {strconv.Itoa(infosAtOnce)}}
	for {
		var page []struct {
			Key  string
			Info *info
		}
		if err := s.get(ctx, query, &page, "_dbs_info"); err != nil {
			return nil, err
		}
		for _, d := range page {
			if d.Info != nil { // else it was dropped just now
				all = append(all, Database{d.Key, d.Info.counted()})
			}
		}
		if len(page) < infosAtOnce {
			return all, nil
		}
		last, err := json.Marshal(page[len(page)-1].Key + "\x00")
		if err != nil {
			return nil, err
		}
		query.Set("start_key", string(last))
	}
}

// Database returns one database.
func (s *Server) Database(ctx context.Context, name string) (Database, error) {
	var i info
	err := s.ask(ctx, http.MethodGet, nil, &i, name)
	return Database{name, i.counted()}, err
}

// Partition returns one partition: an empty one, where there is none.
func (s *Server) Partition(ctx context.Context, database, name string) (Partition, error) {
	var i info
	err := s.ask(ctx, http.MethodGet, nil, &i, database, "_partition", name)
	c := i.counted()
	c.Partition = false
	return Partition{Database: database, Name: name, Counted: c}, err
}

// Rankings are the orders of Partitions.
const (
	ByBytes  = "external"
	ByWrites = "writes"
)

// Partitions returns the first partitions of a database in an order, the greatest first.
func (s *Server) Partitions(ctx context.Context, database, by string, most int) (all []Partition, err error) {
	var page struct {
		Rows []struct {
			Partition string
			Docs      int64 `json:"doc_count"`
			Deleted   int64 `json:"doc_del_count"`
			Sizes     struct{ Active, External int64 }
			Writes    float64    `json:"writes_per_hour,omitempty"`
			Last      *time.Time `json:"last_write"`
		}
	}
	err = s.get(ctx, url.Values{"sort": {by}, "descending": {"true"}, "limit": {strconv.Itoa(most)}}, &page, database, "_partitions")
	for _, r := range page.Rows {
		c := Counted{Documents: r.Docs, Deleted: r.Deleted, Active: r.Sizes.Active, External: r.Sizes.External}
		all = append(all, Partition{database, r.Partition, c, r.Writes, r.Last})
	}
	return all, err
}

// Holds reports whether a database is there, and how many documents it or one of its partitions has or had.
func (s *Server) Holds(ctx context.Context, database, partition string) (there bool, documents int64, err error) {
	d, err := s.Database(ctx, database)
	if missing(err) {
		return false, 0, nil
	}
	if err != nil || partition == "" {
		return err == nil, d.Documents + d.Deleted, err
	}
	p, err := s.Partition(ctx, database, partition)
	return err == nil, p.Documents + p.Deleted, err
}

// CreateDatabase makes a database.
func (s *Server) CreateDatabase(ctx context.Context, name string, partitioned bool) error {
	return s.askWith(ctx, http.MethodPut, url.Values{"partitioned": {strconv.FormatBool(partitioned)}}, nil, nil, name)
}
