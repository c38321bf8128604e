package store

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/testkit/golden"
)

// TestScripts runs the files in testdata. A file is a list of paragraphs; each
// has commands, one a line, then ---- and what they print. What a command does
// is in the table below.
func TestScripts(t *testing.T) {
	golden.Scripts(t, "testdata/*.txt", func(t *testing.T) func(string) string {
		s := &script{world: newWorld(t, Options{})}
		return func(commands string) string {
			s.out.Reset()
			for line := range strings.SplitSeq(commands, "\n") {
				if !strings.HasPrefix(line, "#") {
					s.run(line)
				}
			}
			return s.out.String()
		}
	})
}

// script is a script that is running; commands work on the database made last.
type script struct {
	*world
	d   *Database
	out strings.Builder
}

func (s *script) run(line string) {
	name, rest, _ := strings.Cut(line, " ")
	c, ok := scriptCommands[name]
	if !ok {
		s.t.Fatalf("no command %q", name)
	}
	args := strings.SplitN(rest, " ", c.args)
	for len(args) < c.args {
		args = append(args, "")
	}
	c.run(s, args)
}

func (s *script) printf(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

func (s *script) done(err error) {
	if err != nil {
		s.printf("error: %v", err)
	}
}

// scriptCommands are the commands; the last argument takes the rest of its
// line.
var scriptCommands = map[string]struct {
	args int
	run  func(s *script, a []string)
}{
	// database KIND: makes a database, partitioned or ordinary
	"database": {1, func(s *script, a []string) { s.d = s.create("db", a[0] == "partitioned") }},
	// put ID BODY: writes over the winner, whatever it is
	"put": {2, func(s *script, a []string) { s.edit(document.Edit{ID: document.ID(a[0]), Body: []byte(a[1])}) }},
	// stale ID BODY: writes as if the document were not there
	"stale": {2, func(s *script, a []string) {
		s.result(s.write(s.d, document.Edit{ID: document.ID(a[0]), Body: []byte(a[1])}))
	}},
	"del": {1, func(s *script, a []string) { s.edit(document.Edit{ID: document.ID(a[0]), Deleted: true}) }},
	// attach ID NAME DATA: writes over the winner with one attachment
	"attach": {3, func(s *script, a []string) {
		s.edit(document.Edit{ID: document.ID(a[0]), Attachments: []document.Attachment{{Name: a[1], ContentType: "text/plain", Data: []byte(a[2])}}})
	}},
	// long ID N: writes a body of N bytes
	"long": {2, func(s *script, a []string) {
		n, _ := strconv.Atoi(a[1])
		s.edit(document.Edit{ID: document.ID(a[0]), Body: []byte(`{"x":"` + strings.Repeat("x", n-8) + `"}`)})
	}},
	// times ID N: writes N times
	"times": {2, func(s *script, a []string) {
		n, _ := strconv.Atoi(a[1])
		for i := range n {
			s.edit(document.Edit{ID: document.ID(a[0]), Body: fmt.Appendf(nil, `{"n":%d}`, i)})
		}
		s.out.Reset()
	}},
	// replicate ID REV,ANCESTOR,… BODY
	"replicate": {3, func(s *script, a []string) {
		s.result(s.write(s.d, replicated(s.t, a[0], a[2], strings.Split(a[1], ",")...)))
	}},
	// purge ID: the winner
	"purge": {1, func(s *script, a []string) {
		done, err := s.d.Purge(ctx, []Purging{{ID: document.ID(a[0]), Revs: []document.Rev{s.winner(a[0])}}})
		s.done(err)
		for _, p := range done {
			s.printf("purged %v", p.Revs)
		}
	}},
	// local PARTITION|- ID BODY
	"local": {3, func(s *script, a []string) {
		_, err := Scope{db: s.d, partition: document.Partition(strings.Trim(a[0], "-"))}.PutLocal(ctx, document.ID(a[1]), 0, []byte(a[2]))
		s.done(err)
	}},
	// drop PARTITION [tombstones]
	"drop": {2, func(s *script, a []string) {
		s.done(s.d.DropPartition(ctx, document.Partition(a[0]), a[1] == "tombstones"))
	}},
	// step PARTITION: one transaction of its drop
	"step": {2, func(s *script, a []string) {
		kind := map[bool]string{false: jobPartition, true: jobTombstones}[a[1] == "tombstones"]
		more, err := s.d.stepOf(kind, a[0])
		s.done(err)
		s.printf("more: %v", more)
	}},
	// expiry PARTITION|- FIELD[,TTLFIELD,TTL]|none|off
	"expiry": {2, func(s *script, a []string) {
		e := Expiry{Own: a[1] != "none", Field: a[1]}
		if a[1] == "none" || a[1] == "off" {
			e.Field = ""
		}
		if parts := strings.Split(e.Field, ","); len(parts) == 3 {
			e.Field, e.TTLField = parts[0], parts[1]
			e.TTL, _ = strconv.ParseUint(parts[2], 10, 64)
		}
		s.done(Scope{db: s.d, partition: document.Partition(strings.Trim(a[0], "-"))}.SetExpiry(ctx, e))
	}},
	// ttl PERIOD: the age at which tombstones are dropped
	"ttl": {1, func(s *script, a []string) {
		p, err := ParsePeriod(a[0])
		s.done(err)
		s.done(s.d.SetDeletedTTL(ctx, p))
	}},
	// missing ID REV,…: what _revs_diff says
	"missing": {2, func(s *script, a []string) {
		var revs []document.Rev
		for r := range strings.SplitSeq(a[1], ",") {
			revs = append(revs, rev(s.t, r))
		}
		s.done(s.d.Whole().View(ctx, func(r *Reader) error {
			missing, ancestors, err := r.Missing(document.ID(a[0]), revs)
			s.printf("missing:%s, perhaps after:%s", showRevs(missing), showRevs(ancestors))
			return err
		}))
	}},
	// rank ORDER: lists the partitions in that order
	"rank": {1, func(s *script, a []string) {
		rows, _, lag, err := s.d.Partitions(ctx, Ranking(a[0]), false, 10, "")
		s.done(err)
		for _, row := range rows {
			s.printf("%s %d %v", row.Partition, row.Docs, lag)
		}
	}},
	"sweep": {1, func(s *script, _ []string) { s.done(s.Sweep(ctx)); s.done(s.Check(ctx)) }},
	"advance": {1, func(s *script, a []string) {
		d, err := time.ParseDuration(a[0])
		s.done(err)
		s.now = s.now.Add(d)
	}},
	"limit": {1, func(s *script, a []string) {
		n, _ := strconv.Atoi(a[0])
		s.done(s.d.SetRevsLimit(ctx, n))
	}},
	"get": {1, func(s *script, a []string) { s.printf("%s", s.get(s.d, a[0])) }},
	// feed [PARTITION]
	"feed": {1, func(s *script, a []string) {
		for _, line := range s.feed(Scope{db: s.d, partition: document.Partition(a[0])}, 0) {
			s.printf("%s", line)
		}
	}},
	// dump [SPACE…]: all rows of the database and jobs, or those of some spaces
	"dump": {1, func(s *script, a []string) {
		for _, r := range []kv.Range{kv.Prefix(keyspace.Job.Key(0)), databaseRange(s.d)} {
			s.out.WriteString(rows(s.t, s.engine, r, func(key, value []byte) string { return showRow(key, value, strings.Fields(a[0])) }))
		}
	}},
}

// edit writes over the winner.
func (s *script) edit(e document.Edit) {
	if w := s.winner(string(e.ID)); !strings.Contains(s.get(s.d, string(e.ID)), "deleted") {
		e.Parent = w
	}
	s.result(s.write(s.d, e))
}

func (s *script) result(r Result) {
	if r.Err != nil {
		s.printf("error: %v", r.Err)
		return
	}
	s.printf("%s", r.Rev)
}

func (s *script) winner(id string) (rev document.Rev) {
	err := s.d.Whole().View(ctx, func(r *Reader) error {
		if w, _ := r.Winner(document.ID(id)); w != nil {
			rev = w.Rev
		}
		return nil
	})
	s.done(err)
	return rev
}

// showRow prints a row for a reader.
func showRow(key, value []byte, only []string) string {
	for _, s := range keyspace.Spaces {
		_, parts, err := s.Decode(key)
		if err != nil {
			continue
		}
		if len(only) > 0 && !strings.Contains(" "+strings.Join(only, " ")+" ", " "+s.Name+" ") {
			return ""
		}
		show := rowPrinters[s.Name]
		if show == nil {
			return fmt.Sprintf("%s = %s\n", keyspace.Print(key), value)
		}
		return strings.TrimRight(fmt.Sprintf("%s = %s", keyspace.Print(key), show(parts, value)), " =;") + "\n"
	}
	return fmt.Sprintf("%s: a row of no space\n", keyspace.Print(key))
}

// rowPrinters print values by the name of their space; others are printed as
// they are.
var rowPrinters = map[string]func(parts []keyspace.Part, value []byte) string{
	"job": func(p []keyspace.Part, v []byte) string {
		j, err := jobs.Decode(keyspace.Job.Key(0, p...), v)
		return fmt.Sprintf("of %q, due %s, %d done up to %q%s", j.Database, j.Due.UTC().Format(time.TimeOnly), j.Done, j.Checkpoint, showErr(err))
	},
	"job-due": func(_ []keyspace.Part, _ []byte) string { return "" },
	"lane": func(_ []keyspace.Part, v []byte) string {
		l, err := decodeLane(v)
		return fmt.Sprintf("seq %d, version %d, serial %d, blobs %d, purges %d (%d kept), %s%s", l.seq, l.version, l.serial, l.nextBlob, l.purgeSeq, l.purged, showCounts(l.counts), showErr(err))
	},
	"doc": showDocRow,
	"feed": func(_ []keyspace.Part, v []byte) string {
		var c Change
		_, err := decodeFeed(v, &c)
		return fmt.Sprintf("%s%s%s%s", c.ID, map[bool]string{true: " deleted"}[c.Deleted], showRevs(c.Leaves), showErr(err))
	},
	"partition-feed": func(p []keyspace.Part, v []byte) string {
		var c Change
		_, err := decodeFeed(v, &c)
		return fmt.Sprintf("%s%s%s%s", c.ID, map[bool]string{true: " deleted"}[c.Deleted], showRevs(c.Leaves), showErr(err))
	},
	"partition": func(_ []keyspace.Part, v []byte) string {
		t, err := decodePartition(v)
		own := ""
		if t.expiry.Own {
			own = fmt.Sprintf(", expires by %q", showExpiry(t.expiry))
		}
		return fmt.Sprintf("state %d, seq %d, last write %s, writes %.2f, %s%s%s", t.state, t.seq, t.lastWrite.UTC().Format(time.TimeOnly), t.writes, showCounts(t.counts), own, showErr(err))
	},
	"change-log": func(_ []keyspace.Part, v []byte) string {
		e, err := decodeLogEntry(v)
		return fmt.Sprintf("cause %d, %q wrote %s: %s to %s%s", e.cause, e.id, showRev(e.rev), showRev(e.old.rev), showRev(e.now.rev), showErr(err))
	},
	"rank":            func([]keyspace.Part, []byte) string { return "" },
	"partition-drop":  func(_ []keyspace.Part, v []byte) string { return showNumbers(v[1:]) },
	"ranked":          func(_ []keyspace.Part, v []byte) string { return showNumbers(v[1:]) },
	"rank-checkpoint": func(_ []keyspace.Part, v []byte) string { return showNumbers(v) },
	"blob": func(_ []keyspace.Part, v []byte) string {
		b, err := decodeBlob(v)
		return fmt.Sprintf("%d references, %d bytes, partition %q, sha256 %x…%s", b.references, b.length, b.partition, b.sha[:4], showErr(err))
	},
	"blob-chunk":   func(_ []keyspace.Part, v []byte) string { return showBytes(v) },
	"body-chunk":   func(_ []keyspace.Part, v []byte) string { return showBytes(v) },
	"blob-digest":  func(_ []keyspace.Part, v []byte) string { return "blob " + showNumbers(v) },
	"blob-pending": func(_ []keyspace.Part, v []byte) string { return hex.EncodeToString(v) },
	"local": func(p []keyspace.Part, v []byte) string {
		l, err := decodeLocal(document.ID(p[1].String()), v)
		return fmt.Sprintf("0-%d %s%s", l.Rev, l.Body, showErr(err))
	},
	"superseded": func(_ []keyspace.Part, v []byte) string {
		u := packed.ReadVersion(v, rowVersion)
		var b bytes.Buffer
		for n := u.Uint(); n > 0; n-- {
			fmt.Fprintf(&b, "%s %s; ", u.Text(), showRev(decodeRev(&u)))
		}
		return b.String()
	},
	"due": func(_ []keyspace.Part, v []byte) string {
		if written, err := decodeDue(v); written != 0 || err != nil {
			return fmt.Sprintf("written %d%s", written, showErr(err))
		}
		return ""
	},
	"deletion-marker": func(_ []keyspace.Part, v []byte) string {
		g, err := decodeMarker(v)
		if err != nil {
			return showErr(err)
		}
		return fmt.Sprintf("%s in %d bytes", showRevs(g.revs), len(v))
	},
	"purge": func(_ []keyspace.Part, v []byte) string {
		u := packed.ReadVersion(v, rowVersion)
		id, n := u.Text(), u.Uint()
		return fmt.Sprintf("%s, %d: %s", id, n, showRev(decodeRev(&u)))
	},
	"setting": func(p []keyspace.Part, v []byte) string {
		switch p[0].String() {
		case settingSecurity, settingDeletedTTL:
			return string(v)
		case settingExpiry:
			e, err := parseExpiry(string(v))
			return showExpiry(e) + showErr(err)
		case settingCollection:
			p, err := decodeCollection(v)
			return fmt.Sprintf("up to %d, %d samples%s", p.upTo, len(p.samples), showErr(err))
		}
		return showNumbers(v)
	},
}

func showExpiry(e Expiry) string {
	text := e.Field
	if e.TTLField != "" || e.TTL > 0 {
		text = fmt.Sprintf("%s,%s,%d", e.Field, e.TTLField, e.TTL)
	}
	if e.Seconds {
		text += ", as seconds"
	}
	return text
}

func showDocRow(parts []keyspace.Part, v []byte) string {
	switch parts[1].Num() {
	case keyspace.SubHead:
		h, err := decodeHead(v, nil)
		var b bytes.Buffer
		fmt.Fprintf(&b, "seq %d, winner %s, dead %v, %d unloaded", h.seq, showRev(h.winner), h.dead, h.tree.Unloaded())
		if h.due != 0 {
			fmt.Fprintf(&b, ", expires %d", h.due)
		}
		for _, l := range h.tree.Leaves() {
			path, _ := h.tree.Path(l.Rev)
			if len(path) > 6 {
				path = path[:6]
			}
			fmt.Fprintf(&b, ", leaf of %d bytes%s", l.External, showRevs(path))
		}
		return b.String() + showErr(err)
	case keyspace.SubChunk:
		return showBytes(v)
	}
	s, err := decodeBody(v)
	var b bytes.Buffer
	if s.length > 0 {
		fmt.Fprintf(&b, "%d bytes in chunks", s.length)
	}
	b.Write(s.body)
	for _, a := range s.attachments {
		fmt.Fprintf(&b, ", %s (%s, revpos %d, %d bytes, blob %d, md5 %x…)", a.Name, a.ContentType, a.RevPos, a.Length, a.Blob, a.Digest[:4])
	}
	return b.String() + showErr(err)
}

func showErr(err error) string {
	if err != nil {
		return " (" + err.Error() + ")"
	}
	return ""
}

// showRev shortens a hash to six digits.
func showRev(r document.Rev) string {
	s := r.String()
	if len(r.Hash) == 16 {
		s = s[:len(s)-26] + "…"
	}
	return s
}

func showRevs(rs []document.Rev) string {
	var b strings.Builder
	for _, r := range rs {
		b.WriteString(" " + showRev(r))
	}
	return b.String()
}

func showCounts(c counts) string {
	return fmt.Sprintf("%d documents, %d deleted, %d active, %d external", c.docs, c.deleted, c.active, c.external)
}

func showBytes(v []byte) string { return fmt.Sprintf("%d bytes", len(v)) }

func showNumbers(v []byte) string {
	var ns []string
	for u := packed.Read(v); len(u.Rest()) > 0 && !u.Failed(); {
		ns = append(ns, strconv.FormatUint(u.Uint(), 10))
	}
	return strings.Join(ns, " ")
}
