package snapshot

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

func sum(b []byte) []byte {
	s := sha256.Sum256(b)
	return s[:8]
}

// busy is a writer to a stream that lets an author write whenever a page has
// been sent.
type busy struct {
	bytes.Buffer
	a *author
}

// Flush lets the author write.
func (b *busy) Flush() error {
	for range 5 {
		b.a.step()
	}
	return nil
}

// TestEqualTreesUnderWriters loads snapshots that were taken while others wrote,
// and follows the changes since.
func TestEqualTreesUnderWriters(t *testing.T) {
	seeds := uint64(4)
	if testrun.IsLong() {
		seeds = 24
	}
	for seed := range seeds {
		partitioned := seed%2 == 1
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w, other := newWorld(t, store.Options{}), newWorld(t, store.Options{})
			from, to := w.create("db", partitioned).Whole(), other.create("copy", partitioned).Whole()
			if seed%4 == 3 {
				from, to = from.Database().Within("p1"), to.Database().Within("p1")
			}
			if seed%3 == 0 {
				must(t, from.Database().SetRevsLimit(ctx, 20))
				must(t, to.Database().SetRevsLimit(ctx, 20))
			}
			a := newAuthor(t, from, seed)
			for range 150 {
				a.step()
			}
			_, err := from.PutLocal(ctx, "_local/x", 0, []byte(`{}`))
			must(t, err)
			quiet := image(t, from)
			load(t, to, send(t, from, "", 0))
			if diff := cmp.Diff(quiet, image(t, to)); diff != "" {
				t.Fatalf("a quiet database (-source +target):\n%s", diff)
			}
			src, err := Open(ctx, from, "the source", "")
			must(t, err)
			src.docs = 3
			out := &busy{a: a}
			_, err = src.Send(ctx, out, 0)
			must(t, err)
			other = newWorld(t, store.Options{})
			to = other.create("copy", partitioned).Whole()
			if from.Partition() != "" {
				to = to.Database().Within(from.Partition())
			}
			if seed%3 == 0 {
				must(t, to.Database().SetRevsLimit(ctx, 20))
			}
			p := load(t, to, out.Bytes())
			follow(t, from, to, p.Header.Seq)
			if diff := cmp.Diff(image(t, from), image(t, to)); diff != "" {
				t.Fatalf("under writers (-source +target):\n%s", diff)
			}
			must(t, to.View(ctx, func(r *store.Reader) error {
				if _, err := r.Local("_local/x"); !dberr.Is(err, dberr.NotFound) {
					t.Errorf("a local document came along: %v", err)
				}
				return nil
			}))
		})
	}
}

// boundaries returns where each frame of a stream ends.
func boundaries(t *testing.T, stream []byte) (ends []int) {
	t.Helper()
	at := len(magic)
	for at < len(stream) {
		n, size := binary.Uvarint(stream[at+1:])
		at += 1 + size + int(n) + 4
		ends = append(ends, at)
	}
	if at != len(stream) {
		t.Fatalf("frames end at %d of %d", at, len(stream))
	}
	return ends
}

// TestCutAnywhere cuts a stream after each frame and in the middle of it: the
// load says so and how far it came, and going on from there makes the whole.
func TestCutAnywhere(t *testing.T) {
	testrun.Sequential(t)
	w := newWorld(t, store.Options{})
	from := w.create("db", true).Whole()
	a := newAuthor(t, from, 99)
	for range 30 {
		a.step()
	}
	want := image(t, from)
	stream := send(t, from, "", 0)
	ends := boundaries(t, stream)
	before := 0
	resumed := 0
	for _, e := range ends {
		for _, cut := range []int{(before + e) / 2, e} {
			if cut == len(stream) {
				continue
			}
			to := newWorld(t, store.Options{}).create("copy", true).Whole()
			p, err := Load(ctx, to, bytes.NewReader(stream[:cut]), LoadOptions{})
			if !dberr.Is(err, dberr.Invalid) || p.Whole {
				t.Fatalf("cut at %d: %v %+v", cut, err, p)
			}
			if p.Bookmark != "" {
				resumed++
			}
			load(t, to, send(t, from, p.Bookmark, 0))
			if diff := cmp.Diff(want, image(t, to)); diff != "" {
				t.Fatalf("cut at %d (-source +target):\n%s", cut, diff)
			}
		}
		before = e
	}
	if resumed == 0 {
		t.Error("no cut left a mark")
	}
}

// TestParts takes a snapshot in many streams, each of which names the first
// one's sequence.
func TestParts(t *testing.T) {
	from := newWorld(t, store.Options{}).create("db", false).Whole()
	a := newAuthor(t, from, 5)
	for range 100 {
		a.step()
	}
	to := newWorld(t, store.Options{}).create("copy", false).Whole()
	bookmark, seq, parts := "", "", 0
	for more := true; more; parts++ {
		p := load(t, to, send(t, from, bookmark, 1))
		if p.Bookmark == bookmark || seq != "" && p.Header.Seq != seq {
			t.Fatalf("part %d: %+v after %q since %q", parts, p, bookmark, seq)
		}
		bookmark, seq, more = p.Bookmark, p.Header.Seq, p.More
		a.step()
	}
	if parts < 5 {
		t.Errorf("only %d parts", parts)
	}
	follow(t, from, to, seq)
	if diff := cmp.Diff(image(t, from), image(t, to)); diff != "" {
		t.Fatalf("(-source +target):\n%s", diff)
	}
	empty := newWorld(t, store.Options{}).create("empty", false).Whole()
	if p := load(t, to, send(t, empty, "", 1)); p.More || p.Bookmark != "" || p.Documents != 0 {
		t.Errorf("nothing: %+v", p)
	}
}

// TestChangedBytesAreFound changes single bytes of a stream. Whatever is stored
// of it is what the source has.
func TestChangedBytesAreFound(t *testing.T) {
	from := newWorld(t, store.Options{}).create("db", true).Whole()
	for i := range 20 {
		write(t, from, document.Edit{ID: document.ID(fmt.Sprintf("p:%02d", i)), Body: fmt.Appendf(nil, `{"n":%d}`, i),
			Attachments: []document.Attachment{{Name: "a", ContentType: "text/plain", Data: []byte(strings.Repeat("x", i))}}})
	}
	want := image(t, from)
	stream := send(t, from, "", 0)
	to := newWorld(t, store.Options{}).create("copy", true).Whole()
	for at := 0; at < len(stream); at += 3 {
		damaged := bytes.Clone(stream)
		damaged[at] ^= 1 << (at % 8)
		if p, err := Load(ctx, to, bytes.NewReader(damaged), LoadOptions{}); !dberr.Is(err, dberr.Invalid) || p.Whole {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
	for line := range strings.SplitSeq(image(t, to), "\n") {
		if !strings.Contains(want, line) {
			t.Errorf("the target has %s", line)
		}
	}
	// Frames that are left out, doubled or exchanged are found too.
	ends := boundaries(t, stream)
	for i := 2; i < len(ends); i++ {
		a, b, c := ends[i-2], ends[i-1], ends[i]
		for name, changed := range map[string][]byte{
			"left out":  bytes.Join([][]byte{stream[:a], stream[b:]}, nil),
			"doubled":   bytes.Join([][]byte{stream[:b], stream[a:]}, nil),
			"exchanged": bytes.Join([][]byte{stream[:a], stream[b:c], stream[a:b], stream[c:]}, nil),
		} {
			if _, err := Load(ctx, to, bytes.NewReader(changed), LoadOptions{}); !dberr.Is(err, dberr.Invalid) {
				t.Fatalf("frame %d %s: %v", i, name, err)
			}
		}
	}
	if _, err := Load(ctx, to, bytes.NewReader(append(bytes.Clone(stream), 0)), LoadOptions{}); !dberr.Is(err, dberr.Invalid) {
		t.Errorf("something behind the end: %v", err)
	}
}

// made makes a stream of frames, with sums that fit.
func made(put func(f *frames)) []byte {
	var b bytes.Buffer
	f := newFrames(&b)
	h := Header{UUID: "u", Database: "d", Seq: "0"}
	_ = f.put(kindHeader, h.append(nil))
	put(f)
	_ = f.flush()
	return b.Bytes()
}

// tree makes a tree of one path.
func tree(deleted bool, path ...document.Rev) *document.Tree {
	var t document.Tree
	t.Merge(path, document.Node{Rev: path[0], Deleted: deleted})
	return &t
}

var oneRev = document.Rev{Gen: 1, Hash: "0123456789abcdef"}

func TestMalformedStreamsAreRefused(t *testing.T) {
	doc := func(id string, leaf string, t *document.Tree) []byte {
		return append(appendDocument(nil, document.ID(id), t), leaf...)
	}
	att := func(a leafAttachment) string { return string(append(a.append([]byte{1}), "{}"...)) }
	blobFrame := func(shared bool, data string) func(*frames) {
		return func(f *frames) {
			h := blob{shared: shared, length: uint64(len(data)), digest: md5Of(data)}
			_ = f.put(kindBlob, h.append(nil))
			_ = f.put(kindChunk, []byte(data))
		}
	}
	plain := tree(false, oneRev)
	endOf := func(c Counts) []byte { return (&end{Counts: c}).append(nil) }
	for name, put := range map[string]func(f *frames){
		"no end":              func(*frames) {},
		"unknown kind":        func(f *frames) { f.put('X', nil) },
		"second header":       func(f *frames) { f.put(kindHeader, (&Header{}).append(nil)) },
		"empty id":            func(f *frames) { f.put(kindDocument, doc("", "\x00{}", plain)) },
		"local id":            func(f *frames) { f.put(kindDocument, doc("_local/x", "\x00{}", plain)) },
		"reserved id":         func(f *frames) { f.put(kindDocument, doc("_x", "\x00{}", plain)) },
		"id that is no UTF-8": func(f *frames) { f.put(kindDocument, doc("\xff", "\x00{}", plain)) },
		"no tree":             func(f *frames) { f.put(kindDocument, packedText("x")) },
		"empty tree":          func(f *frames) { f.put(kindDocument, doc("x", "\x00{}", &document.Tree{})) },
		"generation 0":        func(f *frames) { f.put(kindDocument, doc("x", "\x00{}", tree(false, document.Rev{Hash: "x"}))) },
		"revision with a quote": func(f *frames) {
			f.put(kindDocument, doc("x", "\x00{}", tree(false, document.Rev{Gen: 1, Hash: `a"b`})))
		},
		"body that is no JSON":    func(f *frames) { f.put(kindDocument, doc("x", "\x00{", plain)) },
		"body that is an array":   func(f *frames) { f.put(kindDocument, doc("x", "\x00[]", plain)) },
		"body with _id":           func(f *frames) { f.put(kindDocument, doc("x", "\x00{\"_id\":\"y\"}", plain)) },
		"leaf without a document": func(f *frames) { f.put(kindLeaf, []byte("\x00{}")) },
		"blob without a document": func(f *frames) { blobFrame(true, "x")(f) },
		"chunk without a blob":    func(f *frames) { f.put(kindChunk, []byte("x")) },
		"mark for want of a leaf": func(f *frames) {
			f.put(kindDocument, doc("x", "", plain))
			f.put(kindBookmark, packedText("m"))
		},
		"blob that is not there": func(f *frames) {
			f.put(kindDocument, doc("x", "", plain))
			f.put(kindLeaf, []byte(att(leafAttachment{name: "a", blob: 1})))
		},
		"blob that nobody names": func(f *frames) {
			f.put(kindDocument, doc("x", "", plain))
			blobFrame(false, "x")(f)
			f.put(kindLeaf, []byte("\x00{}"))
		},
		"blob named again without a word": func(f *frames) {
			f.put(kindDocument, doc("x", "", plain))
			blobFrame(false, "x")(f)
			a := leafAttachment{name: "a", length: 1, blob: 1}
			b := leafAttachment{name: "b", length: 1, blob: 1}
			f.put(kindLeaf, append(b.append(a.append([]byte{2})), "{}"...))
		},
		"attachment of another length": func(f *frames) {
			f.put(kindDocument, doc("x", "", plain))
			blobFrame(false, "x")(f)
			f.put(kindLeaf, []byte(att(leafAttachment{name: "a", length: 2, blob: 1})))
		},
		"attachment of another digest": func(f *frames) {
			f.put(kindDocument, doc("x", "", plain))
			f.put(kindBlob, (&blob{length: 1}).append(nil))
			f.put(kindChunk, []byte("x"))
		},
		"large attachment of another digest": func(f *frames) {
			f.put(kindDocument, doc("x", "", plain))
			f.put(kindBlob, (&blob{length: maxInline + 1}).append(nil))
			f.put(kindChunk, make([]byte, maxInline+1))
		},
		"chunk that is too long": func(f *frames) {
			f.put(kindDocument, doc("x", "", plain))
			f.put(kindBlob, (&blob{length: 1}).append(nil))
			f.put(kindChunk, []byte("xy"))
		},
		"attachment with a reserved name": func(f *frames) {
			f.put(kindDocument, doc("x", "", plain))
			blobFrame(false, "x")(f)
			f.put(kindLeaf, []byte(att(leafAttachment{name: "_a", length: 1, blob: 1})))
		},
		"counts that do not fit": func(f *frames) { f.put(kindEnd, endOf(Counts{Documents: 1})) },
		"end within a document": func(f *frames) {
			f.put(kindDocument, doc("x", "", plain))
			f.put(kindEnd, endOf(Counts{Documents: 1}))
		},
	} {
		to := newWorld(t, store.Options{}).create("copy", false).Whole()
		p, err := Load(ctx, to, bytes.NewReader(made(put)), LoadOptions{})
		var e *dberr.Error
		if !errors.As(err, &e) || e.Kind != dberr.Invalid || e.Code != "bad_snapshot" || e.Reason == "" || p.Whole {
			t.Errorf("%s: %v", name, err)
		}
		if got := image(t, to); got != "" {
			t.Errorf("%s stored %s", name, got)
		}
	}
	for name, stream := range map[string]string{"nothing": "", "no snapshot": "{}", "another version": strings.Replace(magic, "1", "2", 1)} {
		to := newWorld(t, store.Options{}).create("copy", false).Whole()
		if _, err := Load(ctx, to, strings.NewReader(stream), LoadOptions{}); !dberr.Is(err, dberr.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func md5Of(s string) [16]byte { return md5.Sum([]byte(s)) }

// TestRefusedDocuments loads what the target does not take in part: the rest is
// stored.
func TestRefusedDocuments(t *testing.T) {
	from := newWorld(t, store.Options{}).create("db", false).Whole()
	same := document.Attachment{Name: "a", ContentType: "text/plain", Data: []byte("the same")}
	large := document.Attachment{Name: "b", ContentType: "text/plain", Data: []byte(strings.Repeat("large", 20))}
	write(t, from,
		document.Edit{ID: "nowhere", Body: []byte(`{}`), Attachments: []document.Attachment{same}},
		document.Edit{ID: "p:1", Body: []byte(`{}`), Attachments: []document.Attachment{same}},
		document.Edit{ID: "p:2", Body: []byte(`{"a":"much too long a text"}`)},
		document.Edit{ID: "p:3", Body: []byte(`{}`), Attachments: []document.Attachment{large}},
		document.Edit{ID: "p:4", Body: []byte(`{}`)},
		document.Edit{ID: "p:5-has-a-long-id", Body: []byte(`{}`)},
		document.Edit{ID: "q:1", Body: []byte(`{}`), Attachments: []document.Attachment{same}},
	)
	var refused []string
	to := newWorld(t, store.Options{}).create("copy", true).Whole()
	p, err := Load(ctx, to, bytes.NewReader(send(t, from, "", 0)), LoadOptions{
		Rules: couchwire.Rules{MaxID: 10, MaxDocument: 20, MaxAttachment: 50},
		Refused: func(r Refusal) {
			var e *dberr.Error
			errors.As(r.Err, &e)
			refused = append(refused, string(r.ID)+" "+e.Code)
		},
	})
	must(t, err)
	want := []string{"nowhere illegal_docid", "p:2 document_too_large", "p:3 attachment_too_large", "p:5-has-a-long-id illegal_docid"}
	if diff := cmp.Diff(want, refused); diff != "" || p.Refused != 4 || !p.Whole || p.Documents != 7 {
		t.Errorf("%+v refused (-want +got):\n%s", p, diff)
	}
	var kept []string
	for line := range strings.SplitSeq(image(t, from), "\n") {
		if !strings.HasPrefix(line, " ") {
			kept = append(kept, line)
		} else if len(kept) > 0 {
			kept[len(kept)-1] += "\n" + line
		}
	}
	wanted := strings.Join([]string{kept[1], kept[4], kept[6], ""}, "\n")
	if diff := cmp.Diff(wanted, image(t, to)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	// A partition's endpoint takes that partition's documents alone.
	other := newWorld(t, store.Options{}).create("copy", true)
	p, err = Load(ctx, other.Within("q"), bytes.NewReader(send(t, from, "", 0)), LoadOptions{})
	if err != nil || p.Refused != 6 || !strings.HasPrefix(image(t, other.Whole()), `"q:1"`) {
		t.Errorf("through a partition: %+v %v", p, err)
	}
}

// failing is an admission that fails as a store does, from an id on.
type failing document.ID

func (f failing) Admit(_ context.Context, _ *store.Database, e *document.Edit, _ func() (*store.Revision, error)) error {
	if e.ID >= document.ID(f) {
		return dberr.New(dberr.Unavailable, "", "no more")
	}
	return nil
}

// TestSharedBytesTravelOnce sends bytes that many documents have once for each
// partition that has them, also into a database of the other kind.
func TestSharedBytesTravelOnce(t *testing.T) {
	at := []document.Attachment{{Name: "a", ContentType: "text/plain", Data: []byte(strings.Repeat("the same", 100))}}
	for _, partitioned := range []bool{false, true} {
		from := newWorld(t, store.Options{}).create("db", partitioned).Whole()
		for i := range 30 {
			write(t, from, document.Edit{ID: document.ID(fmt.Sprintf("%c:%d", 'p'+i/10, i)), Body: []byte(`{}`), Attachments: at})
		}
		want := int64(1)
		if partitioned {
			want = 3
		}
		for _, other := range []bool{false, true} {
			to := newWorld(t, store.Options{}).create("copy", other).Whole()
			if p := load(t, to, send(t, from, "", 0)); p.Blobs != want || p.Bytes != want*800 {
				t.Errorf("partitioned %v: %+v", partitioned, p)
			}
			if diff := cmp.Diff(image(t, from), image(t, to)); diff != "" {
				t.Errorf("(-source +target):\n%s", diff)
			}
		}
	}
}

// TestFailedWrites checks up to which bookmark everything is stored when the store
// fails in the middle.
func TestFailedWrites(t *testing.T) {
	from := newWorld(t, store.Options{}).create("db", true).Whole()
	for i := range 40 {
		write(t, from, document.Edit{ID: document.ID(fmt.Sprintf("p:%02d", i)), Body: fmt.Appendf(nil, `{"n":"%0800000d"}`, i)})
	}
	stream := send(t, from, "", 0)
	w := newWorld(t, store.Options{Admission: failing("p:20")})
	to := w.create("copy", true).Whole()
	p, err := Load(ctx, to, bytes.NewReader(stream), LoadOptions{})
	if !dberr.Is(err, dberr.Unavailable) || p.Whole || p.Bookmark == "" {
		t.Fatalf("%+v %v", p, err)
	}
	m, err := parseBookmark(from, p.Bookmark)
	must(t, err)
	must(t, to.View(ctx, func(r *store.Reader) error {
		for i := range 40 {
			id := document.ID(fmt.Sprintf("p:%02d", i))
			if _, err := r.Doc(id); id <= m.last && err != nil {
				t.Errorf("%s lies before the mark %s: %v", id, m.last, err)
			}
		}
		return nil
	}))
}

// TestBookmarksOfOthers refuses bookmarks that belong elsewhere.
func TestBookmarksOfOthers(t *testing.T) {
	w := newWorld(t, store.Options{})
	d := w.create("db", true)
	write(t, d.Whole(), document.Edit{ID: "p:1", Body: []byte(`{}`)})
	p := load(t, newWorld(t, store.Options{}).create("x", true).Whole(), send(t, d.Whole(), "", 0))
	must(t, w.Drop(ctx, "db"))
	again := w.create("db", true)
	for name, s := range map[string]store.Scope{"partition": d.Within("p"), "made anew": again.Whole()} {
		if _, err := Open(ctx, s, "u", p.Bookmark); !dberr.Is(err, dberr.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"x", "AQ", "!", p.Bookmark[:len(p.Bookmark)-4]} {
		if _, err := Open(ctx, d.Whole(), "u", text); !dberr.Is(err, dberr.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestEncodings packs and unpacks, whole and cut.
func TestEncodings(t *testing.T) {
	for accept, want := range map[string]string{
		"": "", "identity": "", "gzip": Gzip, "gzip, zstd": Zstd, "zstd;q=0, gzip;q=0.5": Gzip, "br, *": Zstd, "gzip;q=0": "", "ZSTD": Zstd,
		"zstd;q=0, *": Gzip, "*, zstd;q=0": Gzip, "*;q=0": "", "*;q=0, gzip": Gzip, "gzip;q=x": "",
	} {
		if got := Encoding(accept); got != want {
			t.Errorf("%q chooses %q, want %q", accept, got, want)
		}
	}
	from := newWorld(t, store.Options{}).create("db", false).Whole()
	a := newAuthor(t, from, 3)
	for range 60 {
		a.step()
	}
	stream := send(t, from, "", 0)
	for _, encoding := range []string{"", Gzip, Zstd} {
		var packed bytes.Buffer
		p, err := NewPacker(encoding, &packed)
		must(t, err)
		_, err = p.Write(stream[:len(stream)/10*9])
		must(t, err)
		must(t, p.Flush())
		most := packed.Len()
		_, err = p.Write(stream[len(stream)/10*9:])
		must(t, err)
		must(t, p.Close())
		in, err := NewUnpacker(encoding, bytes.NewReader(packed.Bytes()))
		must(t, err)
		got, err := io.ReadAll(in)
		if must(t, in.Close()); err != nil || !bytes.Equal(got, stream) {
			t.Errorf("%q: %v, %d bytes of %d", encoding, err, len(got), len(stream))
		}
		if in, err = NewUnpacker(encoding, bytes.NewReader(packed.Bytes()[:most])); err != nil {
			t.Fatal(err)
		}
		to := newWorld(t, store.Options{}).create("copy", false).Whole()
		progress, err := Load(ctx, to, in, LoadOptions{})
		if !dberr.Is(err, dberr.Invalid) || progress.Documents == 0 || progress.Bookmark == "" {
			t.Errorf("%q cut: %+v %v", encoding, progress, err)
		}
		if encoding == "" {
			continue
		}
		if in, err = NewUnpacker(encoding, strings.NewReader("not packed at all, but long enough to look at")); err == nil {
			_, err = io.ReadAll(in)
		}
		if !dberr.Is(err, dberr.Invalid) {
			t.Errorf("%q of something else: %v", encoding, err)
		}
	}
	if _, err := NewUnpacker("br", strings.NewReader("")); !dberr.Is(err, dberr.Unsupported) {
		t.Errorf("br: %v", err)
	}
}

// afterFirst calls a function when the first bytes have been written.
type afterFirst struct {
	bytes.Buffer
	then func()
}

func (w *afterFirst) Write(b []byte) (int, error) {
	if w.then != nil {
		w.then()
		w.then = nil
	}
	return w.Buffer.Write(b)
}

// TestLeavesThatAreGone has a document of several pages change between two of
// them: an edit changes nothing, and when what is to be sent is gone the stream
// is cut, and the next one is whole.
func TestLeavesThatAreGone(t *testing.T) {
	w := newWorld(t, store.Options{})
	d := w.create("db", false)
	from := d.Whole()
	var revs []document.Rev
	for _, hash := range "abcd" {
		rev, err := document.ParseRev("1-" + strings.Repeat(string(hash), 32))
		must(t, err)
		write(t, from, document.Edit{ID: "x", Path: []document.Rev{rev}, Body: fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("x", pageBytes*3/4))})
		revs = append(revs, rev)
	}
	try := func(then func()) (*afterFirst, error) {
		src, err := Open(ctx, from, "u", "")
		must(t, err)
		out := &afterFirst{then: then}
		_, err = src.Send(ctx, out, 0)
		return out, err
	}
	out, err := try(func() { write(t, from, document.Edit{ID: "x", Parent: revs[0], Body: []byte(`{}`)}) })
	must(t, err)
	if p := load(t, w.create("edited", false).Whole(), out.Bytes()); p.Leaves != 4 {
		t.Errorf("%+v", p)
	}
	out, err = try(func() {
		_, err := d.Purge(ctx, []store.Purging{{ID: "x", Revs: revs[1:2]}})
		must(t, err)
	})
	if !dberr.Is(err, dberr.NotFound) {
		t.Errorf("a leaf is gone: %v", err)
	}
	if p, err := Load(ctx, w.create("cut", false).Whole(), bytes.NewReader(out.Bytes()), LoadOptions{}); !dberr.Is(err, dberr.Invalid) || p.Whole {
		t.Errorf("half a document: %+v %v", p, err)
	}
	out, err = try(nil)
	must(t, err)
	copied := w.create("copy", false).Whole()
	if load(t, copied, out.Bytes()); image(t, copied) != image(t, from) {
		t.Error("the next stream is not whole")
	}
}

func packedText(s string) []byte {
	var w packed.Writer
	w.Text(s)
	return w
}
