package store

import (
	"crypto/aes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

func TestSequencesComeBack(t *testing.T) {
	w := newWorld(t, Options{})
	a, b := w.create("a", false).Whole(), w.create("b", false).Whole()
	for _, q := range []Seq{0, 1, 127, 128, 1 << 40, 1<<64 - 1} {
		if got, err := a.ParseSeq(a.FormatSeq(q)); err != nil || got != q {
			t.Errorf("%d became %d, %v", q, got, err)
		}
		if got, err := b.ParseSeq(a.FormatSeq(q)); err != nil || got != 0 {
			t.Errorf("a sequence of another database is %d, %v", got, err)
		}
	}
}

// opaqueSeqs are sequences that a restricted reader may be shown.
var opaqueSeqs = []Seq{1, 2, 127, 128, 255, 256, 1 << 40, 1<<64 - 1}

// TestOpaqueSequencesHaveAKeyOfTheirOwn: no incarnation and partition have the key of
// something else that the store's secret is for.
func TestOpaqueSequencesHaveAKeyOfTheirOwn(t *testing.T) {
	w := newWorld(t, Options{})
	const purpose = "access keys"
	text := "for " + purpose
	k := &opaqueSeq{db: &Database{store: w.Store, incarnation: binary.BigEndian.Uint64([]byte(text[:8]))}, partition: document.Partition(text[8:])}
	other, err := aes.NewCipher(w.Secret(purpose))
	if err != nil {
		t.Fatal(err)
	}
	var a, b [aes.BlockSize]byte
	k.block().Encrypt(a[:], a[:])
	other.Encrypt(b[:], b[:])
	if a == b {
		t.Errorf("the sequences of a partition are sealed with the secret of %s", purpose)
	}
}

// TestOpaqueSequences reads what a restricted reader's scope gave wherever it may be read: at
// either endpoint, by a member too, and when the store was opened again.
func TestOpaqueSequences(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	texts := map[string]Seq{}
	for _, q := range opaqueSeqs {
		text := d.Within("p").Restrict().FormatSeq(q)
		if n, opaque, _ := strings.Cut(text, "-"); n != "1" || len(opaque) != opaqueText {
			t.Errorf("%d has the form %q", q, text)
		}
		if _, twice := texts[text]; twice || text != d.Tenant("p").Restrict().FormatSeq(q) {
			t.Errorf("%d is %q, and %q to the tenant", q, text, d.Tenant("p").Restrict().FormatSeq(q))
		}
		texts[text] = q
	}
	if text := d.Within("p").Restrict().FormatSeq(0); text != "0" {
		t.Errorf("the beginning is %q", text)
	}
	s, err := Open(ctx, w.engine, Options{Idle: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	again, err := s.Database(ctx, "db")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Scope{d.Within("p"), d.Tenant("p"), d.Within("p").Restrict(), d.Tenant("p").Restrict(), again.Within("p").Restrict()} {
		for text, q := range texts {
			if got, own := s.OwnSeq(text); !own || got != q {
				t.Errorf("%d became %d, own: %v", q, got, own)
			}
			if got, err := s.ParseSeq(text); err != nil || got != q {
				t.Errorf("%d became %d, %v", q, got, err)
			}
		}
	}
}

// TestForeignOpaqueSequences returns scopes what was made opaque for others, what was changed on
// the way, and restricted readers the sequences of the database: all of it means nothing.
func TestForeignOpaqueSequences(t *testing.T) {
	w := newWorld(t, Options{})
	d, other := w.create("db", true), w.create("other", true)
	foreign := func(what string, s Scope, text string) {
		t.Helper()
		if got, own := s.OwnSeq(text); own {
			t.Errorf("%s: %q is %d here", what, text, got)
		}
		if got, err := s.ParseSeq(text); err != nil || got != 0 {
			t.Errorf("%s: %q is %d, %v", what, text, got, err)
		}
	}
	p := d.Within("p").Restrict()
	for _, q := range opaqueSeqs {
		text := p.FormatSeq(q)
		for _, s := range []Scope{d.Within("q"), d.Within("pp").Restrict(), d.Whole(), other.Within("p").Restrict(), other.Within("p")} {
			foreign("made for another", s, text)
		}
		for _, s := range []Scope{d.Whole(), d.Within("p"), d.Tenant("p")} {
			foreign("not opaque", p, s.FormatSeq(q))
		}
		raw, err := base64.RawURLEncoding.DecodeString(text[len(opaquePrefix):])
		if err != nil {
			t.Fatal(err)
		}
		for bit := range 8 * len(raw) {
			raw[bit/8] ^= 1 << (bit % 8)
			foreign("damaged", p, opaquePrefix+base64.RawURLEncoding.EncodeToString(raw))
			raw[bit/8] ^= 1 << (bit % 8)
		}
	}
	foreign("not opaque", p, d.Whole().FormatSeq(0))
	if err := w.Drop(ctx, "db"); err != nil {
		t.Fatal(err)
	}
	foreign("made anew", w.create("db", true).Within("p").Restrict(), p.FormatSeq(5))
}

// TestSecrets compares the opaque sequences of two stores, and opens one that was written
// before there were any.
func TestSecrets(t *testing.T) {
	a, b := newWorld(t, Options{}), newWorld(t, Options{})
	if len(a.secret) != secretSize || string(a.secret) == string(b.secret) {
		t.Errorf("the secrets of two stores: %x, %x", a.secret, b.secret)
	}
	if err := a.engine.Update(ctx, func(tx kv.Txn) error { return tx.Delete(metaKey(metaSecret)) }); err != nil {
		t.Fatal(err)
	}
	var secrets []string
	for range 2 {
		s, err := Open(ctx, a.engine, Options{Idle: true})
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, string(s.secret))
		s.Close()
	}
	if len(secrets[0]) != secretSize || secrets[0] != secrets[1] || secrets[0] == string(a.secret) {
		t.Errorf("the old store had %x, and has %x, then %x", a.secret, secrets[0], secrets[1])
	}
}

// TestRestrictedReadersCountNothing asks as a restricted reader for numbers that sequences are counted
// in, before and after others write.
func TestRestrictedReadersCountNothing(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	var edits []document.Edit
	for i := range pendingExact + 50 {
		edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("p:d%d", i)), Body: []byte("{}")})
	}
	write := func(edits ...document.Edit) {
		t.Helper()
		rs, err := d.Whole().Write(ctx, edits, WriteOptions{})
		for _, r := range rs {
			err = errors.Join(err, r.Err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(edits[:20]...)
	ask := func() (pending uint64, upTo, last Seq) {
		if err := d.Within("p").Restrict().View(ctx, func(r *Reader) (err error) {
			if pending, err = r.Pending(10); err != nil {
				return err
			}
			if upTo, err = r.SeqUpTo(25); err != nil {
				return err
			}
			last, err = r.LastSeq()
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return pending, upTo, last
	}
	write(edit(t, "q:1", "", "{}"), edit(t, "q:2", "", "{}"), edit(t, "q:3", "", "{}"))
	if _, upTo, last := ask(); upTo != 20 || last != 20 {
		t.Errorf("up to 25 there is %d, the last is %d", upTo, last)
	}
	write(edit(t, "q:4", "", "{}"), edit(t, "q:5", "", "{}"), edit(t, "q:6", "", "{}"))
	write(edits[20:]...)
	before, upTo, last := ask()
	if before != uint64(len(edits)) || upTo != 20 {
		t.Errorf("%d pending, up to 25 there is %d", before, upTo)
	}
	write(edit(t, "q:7", "", "{}"))
	write(replicated(t, "p:d0", "{}", "2-b", "1-a"))
	if after, _, now := ask(); after != before || now <= last {
		t.Errorf("%d pending, %d when somebody else had written", before, after)
	}
}

// BenchmarkAppendSeq returns sequences their text, as a feed does.
func BenchmarkAppendSeq(b *testing.B) {
	d := newWorld(b, Options{}).create("db", true)
	for name, s := range map[string]Scope{"plain": d.Within("p"), "opaque": d.Within("p").Restrict()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for i := range b.N {
				dst = s.AppendSeq(dst[:0], Seq(i))
			}
		})
	}
	b.Run("a request's seal", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for range b.N {
			dst = d.Within("p").Restrict().AppendSeq(dst[:0], 5)
		}
	})
}
