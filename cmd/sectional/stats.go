package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sectional/sectional/internal/operate"
	"github.com/sectional/sectional/internal/progress"
)

// machine is the flag of commands that tell programs what they found.
type machine struct {
	JSON bool `name:"json" help:"Print JSON, for programs."`
}

// print writes v as JSON if that is asked for, or what text writes.
func (m *machine) print(c *console, v any, text func(io.Writer)) error {
	if m.JSON {
		e := json.NewEncoder(c.out)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}
	w := tabwriter.NewWriter(c.out, 0, 8, 2, ' ', 0)
	text(w)
	return w.Flush()
}

type stats struct {
	Of string `arg:"" optional:"" help:"A database, a partition as DATABASE/PARTITION, or the URL of either. Default: the server and all its databases."`
	asked
	machine
}

// shownPartitions is how many of a database's partitions are told of.
const shownPartitions = 20

// Run prints how much there is of what is asked for.
func (k *stats) Run(c *console) error {
	database, partition, err := k.target(k.Of)
	if err != nil {
		return err
	}
	return k.do(func(ctx context.Context, s *operate.Server) error {
		switch {
		case database == "":
			return k.server(ctx, s, c)
		case partition != "":
			p, err := s.Partition(ctx, database, partition)
			if err != nil {
				return err
			}
			return k.print(c, p, func(w io.Writer) { counts(w, p.Counted) })
		}
		return k.database(ctx, s, c, database)
	})
}

// errOf is the error of what names no database.
var errOf = errors.New("a database is named as NAME, NAME/PARTITION or by a URL such as http://localhost:5984/db or http://localhost:5984/db/_partition/p")

// target takes DATABASE/PARTITION apart. Names of databases may have slashes, which are written %2F as in a path. A URL, as
// other commands take, names the server, too.
func (a *asked) target(of string) (database, partition string, err error) {
	if !strings.Contains(of, "://") {
		database, partition, _ = strings.Cut(of, "/")
		return strings.ReplaceAll(strings.ReplaceAll(database, "%2F", "/"), "%2f", "/"), partition, nil
	}
	u, err := url.Parse(of)
	if err != nil {
		return "", "", errOf // it may have a password in it: it is not shown
	}
	a.Server = (&url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}).String()
	parts := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for i, p := range parts {
		if parts[i], err = url.PathUnescape(p); err != nil {
			return "", "", errOf
		}
	}
	switch {
	case len(parts) == 1:
		return parts[0], "", nil
	case len(parts) == 3 && parts[1] == "_partition":
		return parts[0], parts[2], nil
	}
	return "", "", errOf
}

// serverStats is what is told of a server.
type serverStats struct {
	operate.Numbers
	Uptime    float64            `json:"uptime_seconds"`
	Databases []operate.Database `json:"databases"`
}

func (k *stats) server(ctx context.Context, s *operate.Server, c *console) error {
	n, err := s.Numbers(ctx)
	if err != nil {
		return err
	}
	all, err := s.Databases(ctx)
	if err != nil {
		return err
	}
	return k.print(c, serverStats{n, n.Uptime.Seconds(), all}, func(w io.Writer) {
		progress.Fprintf(w, "Sectional %s, up for %s, %s of memory", n.Version, n.Uptime.Round(time.Second), progress.Size(int64(n.Memory)))
		if disk, ok := n.Storage["disk_bytes"]; ok {
			progress.Fprintf(w, ", %s on disk", progress.Size(int64(disk)))
		}
		fmt.Fprint(w, "\n\nDATABASE\tDOCUMENTS\tDELETED\tBYTES\tSTORED\n")
		sum := operate.Counted{}
		for _, d := range all {
			progress.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", d.Name, d.Documents, d.Deleted, progress.Size(d.External), progress.Size(d.File))
			sum.Documents, sum.Deleted, sum.External, sum.File = sum.Documents+d.Documents, sum.Deleted+d.Deleted, sum.External+d.External, sum.File+d.File
		}
		progress.Fprintf(w, "%d databases\t%d\t%d\t%s\t%s\n", len(all), sum.Documents, sum.Deleted, progress.Size(sum.External), progress.Size(sum.File))
	})
}

// databaseStats is what is told of a database.
type databaseStats struct {
	operate.Database
	Partitions []operate.Partition `json:"largest_partitions,omitempty"`
}

func (k *stats) database(ctx context.Context, s *operate.Server, c *console, name string) error {
	d, err := s.Database(ctx, name)
	if err != nil {
		return err
	}
	told := databaseStats{Database: d}
	if d.Partition {
		if told.Partitions, err = s.Partitions(ctx, name, operate.ByBytes, shownPartitions); err != nil {
			return err
		}
	}
	return k.print(c, told, func(w io.Writer) {
		counts(w, d.Counted)
		if d.Partition {
			fmt.Fprint(w, "\nPARTITION\tDOCUMENTS\tDELETED\tBYTES\tWRITES/H\n")
			partitionRows(w, told.Partitions)
		}
	})
}

func partitionRows(w io.Writer, all []operate.Partition) {
	for _, p := range all {
		progress.Fprintf(w, "%s\t%d\t%d\t%s\t%.1f\n", p.Name, p.Documents, p.Deleted, progress.Size(p.External), p.WritesPerHour)
	}
}

// counts writes how much there is of something.
func counts(w io.Writer, c operate.Counted) {
	progress.Fprintf(w, "documents\t%d\ndeleted\t%d\nbytes\t%s\nstored\t%s\n", c.Documents, c.Deleted, progress.Size(c.External), progress.Size(c.Active))
	if c.File > 0 {
		progress.Fprintf(w, "in files\t%s\n", progress.Size(c.File))
	}
}

// sorted returns the keys of classes in the order of their names.
func sorted(classes map[string]operate.Class) (names []string) {
	for name := range classes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
