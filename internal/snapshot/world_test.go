package snapshot

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

var ctx = context.Background()

// world is a store over the model engine, with a clock that is moved by hand.
type world struct {
	*store.Store
	t   testing.TB
	now time.Time
}

func newWorld(t testing.TB, o store.Options) *world {
	t.Helper()
	e := kvtest.NewModel(kvtest.ModelOptions{})
	w := &world{t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	o.Idle, o.Clock = true, func() time.Time { return w.now }
	s, err := store.Open(ctx, e, o)
	must(t, err)
	w.Store = s
	t.Cleanup(func() {
		if err := s.Check(ctx); err != nil {
			t.Errorf("Check: %v", err)
		}
		s.Close()
		e.Close()
	})
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) create(name string, partitioned bool) *store.Database {
	w.t.Helper()
	d, err := w.Create(ctx, name, store.Creation{Partitioned: partitioned})
	must(w.t, err)
	return d
}

// write writes edits, each of which must be stored.
func write(t testing.TB, s store.Scope, edits ...document.Edit) (revs []document.Rev) {
	t.Helper()
	results, err := s.Write(ctx, edits, store.WriteOptions{})
	must(t, err)
	for _, r := range results {
		if r.Err != nil {
			t.Fatalf("%s: %v", r.ID, r.Err)
		}
		revs = append(revs, r.Rev)
	}
	return revs
}

// author writes at random.
type author struct {
	*rand.Rand
	t testing.TB
	s store.Scope
}

func newAuthor(t testing.TB, s store.Scope, seed uint64) *author {
	return &author{rand.New(rand.NewPCG(seed, 7)), t, s}
}

// id returns one of a few ids.
func (a *author) id() document.ID {
	if a.IntN(20) == 0 && a.s.Partition() == "" {
		return "_design/d"
	}
	if a.s.Database().Partitioned() {
		p := a.s.Partition()
		if p == "" {
			p = document.Partition("p" + string(rune('0'+a.IntN(4))))
		}
		return document.ID(fmt.Sprintf("%s:%d", p, a.IntN(12)))
	}
	return document.ID(fmt.Sprintf("d%02d", a.IntN(48)))
}

// step writes one edit: a new document, an update, a deletion, a conflict, each
// with or without attachments.
func (a *author) step() {
	a.t.Helper()
	id := a.id()
	var leaves []document.Node
	must(a.t, a.s.View(ctx, func(r *store.Reader) error {
		if d, err := r.Doc(id); err == nil {
			leaves = d.Tree.Leaves()
		}
		return nil
	}))
	e := document.Edit{ID: id, Body: fmt.Appendf(nil, `{"n":%d}`, a.IntN(1000))}
	if a.IntN(30) == 0 {
		e.Body = fmt.Appendf(nil, `{"long":"%s"}`, strings.Repeat("x", 100_000))
	}
	if len(leaves) > 0 {
		l := leaves[a.IntN(len(leaves))]
		if e.Deleted = !l.Deleted && a.IntN(5) == 0; !l.Deleted {
			e.Parent = l.Rev
		}
		if a.IntN(4) == 0 && len(leaves) < 5 { // a conflict, as a replica brings it
			e.Parent, e.Path = document.Rev{}, a.branch(l.Rev)
		}
	}
	for n := a.IntN(12) - 8; n > 0; n-- {
		e.Attachments = append(e.Attachments, a.attachment(string(rune('d'-n))))
	}
	// An update of a tombstone that is not the winner is a conflict, which is fine.
	_, err := a.s.Write(ctx, []document.Edit{e}, store.WriteOptions{})
	must(a.t, err)
}

// branch returns a path that leaves the history of r, or has none in common.
func (a *author) branch(r document.Rev) (path []document.Rev) {
	gen := r.Gen + uint32(a.IntN(40))
	for range a.IntN(50) + 1 {
		var hash [16]byte
		for i := range hash {
			hash[i] = byte(a.Uint32())
		}
		path = append(path, document.Rev{Gen: gen, Hash: string(hash[:])})
		if gen--; gen == 0 {
			break
		}
	}
	if gen == r.Gen && a.IntN(2) == 0 {
		path = append(path, r)
	}
	return path
}

// attachment returns one of a few contents, so that some are shared.
func (a *author) attachment(name string) document.Attachment {
	size := []int{0, 10, 1000, 70_000, 200_000}[a.IntN(5)]
	data := bytes.Repeat([]byte{byte('a' + a.IntN(3))}, size)
	at := document.Attachment{Name: name, ContentType: "text/plain", Data: data}
	if a.IntN(3) == 0 {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(data)
		z.Close()
		at.Length, at.Encoding, at.Data = int64(len(data)), "gzip", b.Bytes()
	}
	return at
}

// image returns everything that replicas have in common: of each document the tree
// with its inner tombstones, and of each leaf body and attachments with their
// bytes.
func image(t testing.TB, s store.Scope) string {
	t.Helper()
	var b strings.Builder
	var atts []document.Attachment
	must(t, s.View(ctx, func(r *store.Reader) error {
		for d, err := range r.Replicas(store.Span{}) {
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%q tree %x\n", d.ID, sum(d.Tree.AppendBinary(nil)))
			for i := range d.Leaves {
				l, err := d.Leaf(i)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, "  %s deleted %v body %x\n", l.Rev, l.Deleted, sum(l.Body))
				for _, a := range l.Attachments {
					fmt.Fprintf(&b, "    %q %q revpos %d md5 %x length %d stored %d %q bytes #%d#\n", a.Name, a.ContentType, a.RevPos,
						a.Digest, a.Length, a.Encoded, a.Encoding, len(atts))
					atts = append(atts, a)
				}
			}
		}
		return nil
	}))
	text := b.String()
	for i, a := range atts {
		data, err := io.ReadAll(s.Download(ctx, a, 0, a.Encoded))
		must(t, err)
		text = strings.Replace(text, fmt.Sprintf("#%d#", i), hex.EncodeToString(sum(data)), 1)
	}
	return text
}

// send returns the stream of a source.
func send(t testing.TB, s store.Scope, after string, most int64) []byte {
	t.Helper()
	src, err := Open(ctx, s, "the source", after)
	must(t, err)
	src.docs = 5
	var b bytes.Buffer
	_, err = src.Send(ctx, &b, most)
	must(t, err)
	return b.Bytes()
}

// load loads a stream, all of which must be taken.
func load(t testing.TB, s store.Scope, stream []byte) Progress {
	t.Helper()
	p, err := Load(ctx, s, bytes.NewReader(stream), LoadOptions{Refused: func(r Refusal) { t.Errorf("refused: %s %s: %v", r.ID, r.Rev, r.Err) }})
	must(t, err)
	if !p.Whole || p.Refused != 0 {
		t.Fatalf("loaded %+v", p)
	}
	return p
}

// follow carries over what changed since a sequence, all leaves with their
// paths, as the protocol of replication does.
func follow(t testing.TB, from, to store.Scope, since string) {
	t.Helper()
	q, err := from.ParseSeq(since)
	must(t, err)
	var edits []document.Edit
	must(t, from.View(ctx, func(r *store.Reader) error {
		for c, err := range r.Changes(q, false) {
			if err != nil {
				return err
			}
			d, err := r.Doc(c.ID)
			if err != nil {
				return err
			}
			if err := r.Load(d); err != nil {
				return err
			}
			for _, l := range d.Tree.Leaves() {
				rev, err := r.Revision(d, l.Rev)
				if err != nil {
					return err
				}
				path, _ := d.Tree.Path(l.Rev)
				edits = append(edits, document.Edit{ID: c.ID, Path: path, Tombstones: d.Tree.InnerTombstones(path), Deleted: l.Deleted,
					Body: rev.Body, Attachments: rev.Attachments})
			}
		}
		return nil
	}))
	for i := range edits {
		for j := range edits[i].Attachments {
			a := &edits[i].Attachments[j]
			data, err := io.ReadAll(from.Download(ctx, *a, 0, a.Encoded))
			must(t, err)
			a.Data, a.Blob = data, 0
		}
	}
	write(t, to, edits...)
}
