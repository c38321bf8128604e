package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/testkit/golden"
)

// FuzzRows returns any bytes to every decoder of a row's value: none may panic,
// and what a decoder takes, the encoder writes again (to something that is
// taken as the same).
func FuzzRows(f *testing.F) {
	for _, value := range someRows() {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for name, decode := range decoders {
			encode := decode(value)
			if encode == nil {
				continue
			}
			once := encode()
			again := decode(once)
			if again == nil {
				t.Fatalf("%s: %x was taken, its own encoding %x is not", name, value, once)
			}
			if twice := again(); !bytes.Equal(once, twice) {
				t.Fatalf("%s: %x became %x", name, once, twice)
			}
		}
	})
}

// TestRowBytes holds the bytes of rows as stores have them: a row that is written
// otherwise is a format of its own.
func TestRowBytes(t *testing.T) {
	var b strings.Builder
	for _, value := range someRows() {
		if len(value) > 200 {
			fmt.Fprintf(&b, "%d bytes, sha256 %x\n", len(value), sha256.Sum256(value))
			continue
		}
		fmt.Fprintf(&b, "%x\n", value)
	}
	golden.File(t, "testdata/rows.hex", b.String())
}

// decoders try to read a value; they give what encodes it again, nil for what
// they do not take.
var decoders = map[string]func([]byte) func() []byte{
	"head": func(b []byte) func() []byte {
		var pieces [][]byte // for heads whose tree lies elsewhere
		h, err := decodeHead(b, func(n int) ([]byte, error) {
			if pieces == nil {
				pieces = manyLeaves().pieces
			}
			if n >= len(pieces) {
				return nil, packed.ErrFormat
			}
			return pieces[n], nil
		})
		if _, _, werr := decodeWinner(b); err != nil || werr != nil {
			return nil
		}
		return func() []byte { v, _ := h.encode(); return v }
	},
	"body": func(b []byte) func() []byte {
		s, err := decodeBody(b)
		if err != nil || s.length > 1<<20 {
			return nil
		}
		body := s.body
		if s.length > chunkSize {
			body = make([]byte, s.length)
		}
		return func() []byte { v, _ := bodyValue(body, s.attachments); return v }
	},
	"feed": func(b []byte) func() []byte {
		var c Change
		more, err := decodeFeed(b, &c)
		if err != nil {
			return nil
		}
		return func() []byte { return encodeChange(&c, more) }
	},
	"lane":      func(b []byte) func() []byte { l, err := decodeLane(b); return taken(l.encode, err) },
	"partition": func(b []byte) func() []byte { p, err := decodePartition(b); return taken(p.encode, err) },
	"blob":      func(b []byte) func() []byte { x, err := decodeBlob(b); return taken(x.encode, err) },
	"entry":     func(b []byte) func() []byte { x, err := decodeEntry(b); return taken(x.encode, err) },
	"log":       func(b []byte) func() []byte { x, err := decodeLogEntry(b); return taken(x.encode, err) },
	"local":     func(b []byte) func() []byte { x, err := decodeLocal("_local/a", b); return taken(x.encode, err) },
}

func taken(encode func() []byte, err error) func() []byte {
	if err != nil {
		return nil
	}
	return encode
}

// encodeChange writes an entry from what was read of one.
func encodeChange(c *Change, more bool) []byte {
	p := packed.Writer{}
	if more {
		p.Byte(feedOfSome)
	} else {
		p.Byte(rowVersion)
	}
	p.Byte(feedDocument)
	p.Flag(c.Deleted)
	p.Text(string(c.ID))
	p.Uint(uint64(len(c.Leaves)))
	for _, r := range c.Leaves {
		writeRev(&p, r)
	}
	return p
}

// manyLeaves is the head of a document with a large tree.
func manyLeaves() *head {
	h := &head{seq: 9}
	for i := range 2000 {
		h.tree.Merge(nil, document.Node{Rev: numbered(1, i), External: 7, Active: 7})
	}
	_, h.pieces = h.encode()
	return h
}

// someRows are values as the store writes them.
func someRows() (values [][]byte) {
	var h head
	h.tree.Add(document.Rev{}, document.Node{Rev: document.Rev{Gen: 1, Hash: "0123456789abcdef"}, External: 7, Active: 7})
	h.seq = 5
	atts := []document.Attachment{{Name: "a", ContentType: "text/plain", RevPos: 1, Length: 3, Encoded: 3, Blob: 1}}
	body, _ := bodyValue([]byte(`{"n":1}`), atts)
	large, _ := bodyValue(bytes.Repeat([]byte(" "), chunkSize+1), nil)
	l := lane{seq: 300, version: 2, serial: 9, nextBlob: 1, counts: counts{docs: 1, active: 7, external: 7}}
	p := partition{seq: 300, lastWrite: time.UnixMilli(1_795_000_000_000), writes: 1.5, counts: l.counts}
	b := blob{references: 1, length: 3, partition: "p"}
	e := entry{number: 3, partitioned: true, incarnation: 77, created: p.lastWrite}
	lo := Local{Rev: 2, Body: []byte(`{}`)}
	small, _ := h.encode()
	many := manyLeaves()
	wide, _ := many.encode()
	marked := marker{revs: []document.Rev{{Gen: 2, Hash: "0123456789abcdef"}, {Gen: 300, Hash: "text"}}}
	collected := collection{upTo: 300, samples: []sample{{at: time.Unix(1_795_000_000, 0), seq: 300}}}
	expiring := partition{seq: 1, lastWrite: p.lastWrite, designs: 300, expiry: Expiry{Own: true, Field: "e", TTLField: "t", TTL: 3600}}
	logged := logEntry{time: p.lastWrite, commit: 300, cause: ByPurge, id: "p:a", old: winner{marked.revs[0], true}, now: winner{rev: marked.revs[1]}, purged: marked.revs}
	return [][]byte{logged.encode(), marked.encode(), collected.encode(), encodeDue(300), expiring.encode(), small, wide, encodeFeed("p:m", many), body, large, encodeFeed("p:a", &h), l.encode(), p.encode(), b.encode(), e.encode(), lo.encode(), {1, 5, 1, 'a'}}
}

// FuzzFromClients returns any text where clients hand back what they were given.
func FuzzFromClients(f *testing.F) {
	w := newWorld(f, Options{})
	d := w.create("db", true)
	w.put(d, "p:a", "", `{}`)
	w.put(d, "q:a", "", `{}`)
	w.sweep()
	_, bookmark, _, err := d.Partitions(ctx, ByDocs, true, 1, "")
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", "0", "5", "-", "1-", "1-AA", "18446744073709551616-AA", d.Whole().FormatSeq(2), d.Within("p").Restrict().FormatSeq(2), bookmark,
		base64.RawURLEncoding.EncodeToString([]byte{1, 0, 0})} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, scope := range []Scope{d.Whole(), d.Within("p"), d.Within("p").Restrict()} {
			q, err := scope.ParseSeq(s)
			if own, ok := scope.OwnSeq(s); ok && (own != q || err != nil) || !ok && q != 0 {
				t.Errorf("the sequence %q: %d, %v, own %d, %v", s, q, err, own, ok)
			}
		}
		for _, by := range []Ranking{ByName, ByDocs, ByWrites} {
			for _, descending := range []bool{false, true} {
				rows, _, _, err := d.Partitions(ctx, by, descending, 5, s)
				if err != nil && !refusal(err) {
					t.Errorf("the bookmark %q: %v", s, err)
				}
				if len(rows) > 2 {
					t.Errorf("the bookmark %q shows %v", s, rows)
				}
			}
		}
	})
}
