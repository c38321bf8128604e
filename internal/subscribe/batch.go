package subscribe

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

const (
	// pageRows is how many changes a step looks at: with a selector that lets
	// few pass, others get their turn.
	pageRows = 1000
	// letterBytes bounds the ids of a batch, so that it fits a dead letter.
	letterBytes = 32 << 10
)

// batch is what goes out in one request: changes of the feed, or those of a
// dead letter.
type batch struct {
	letter uint64    // the number of the dead letter, 0 for none
	old    letter    // that letter
	to     store.Seq // of the feed: everything up to it has been looked at
	more   bool      // the feed goes on after to
	rows   []letterRow
	out    []byte // the rows as they are sent
	ids    int    // bytes of the ids
	pend   uint64 // changes after to
	series string
	// What the subscription was when the batch was gathered: how far it had come, and when
	// its last attempt was made.
	from    store.Seq
	attempt int64
}

// read gathers what comes next in the feed after since.
func (b *batch) read(ctx context.Context, scope store.Scope, d *definition, since store.Seq) error {
	sel, err := d.parseSelector()
	if err != nil {
		return err
	}
	return scope.View(ctx, func(r *store.Reader) error {
		*b = batch{series: d.Series, to: since}
		last, err := r.LastSeq()
		if err != nil {
			return err
		}
		n := 0
		feed := r.Changes(since, false)
		if sel != nil || d.Docs {
			feed = r.WithWinners(feed, store.Ahead{Docs: d.Rows, Bytes: d.Bytes})
		}
		for c, err := range feed {
			if err != nil {
				return err
			}
			passes, rev, err := d.look(ctx, r, sel, c)
			if err != nil {
				return err
			}
			if passes {
				b.add(r, d, c, rev)
			}
			b.to = c.Seq
			if n++; n == pageRows || len(b.rows) == d.Rows || len(b.out) >= d.Bytes || b.ids >= letterBytes {
				b.more = b.to < last
				b.pend, err = r.Pending(b.to)
				return err
			}
		}
		b.to = max(b.to, last)
		return nil
	})
}

// reread gathers the changes of a dead letter as they are now. A document that
// was forgotten since is left out.
func (b *batch) reread(ctx context.Context, scope store.Scope, d *definition, number uint64, l letter) error {
	return scope.View(ctx, func(r *store.Reader) error {
		*b = batch{series: d.Series, letter: number, old: l}
		asks := make([]store.Ask, len(l.Rows))
		for i := range asks {
			asks[i] = store.Ask{ID: l.Rows[i].ID, Head: true, Winner: d.Docs}
		}
		if err := r.Fetch(asks); err != nil {
			return err
		}
		for _, row := range l.Rows {
			doc, err := r.Doc(row.ID)
			if dberr.Is(err, dberr.NotFound) {
				continue
			}
			if err != nil {
				return err
			}
			w := doc.Tree.Winner()
			c := store.Change{Seq: doc.Seq, ID: row.ID, Deleted: w.Deleted, Leaves: []document.Rev{w.Rev}}
			_, rev, err := d.look(ctx, r, nil, &c)
			if err != nil {
				return err
			}
			b.add(r, d, &c, rev)
		}
		return nil
	})
}

func (d *definition) parseSelector() (*selector.Selector, error) {
	if len(d.Selector) == 0 {
		return nil, nil
	}
	return selector.Parse(d.Selector)
}

// look reports whether a change passes the selector (nil lets everything pass), and reads the
// document if that or the message needs it; rev is nil if there is none.
func (d *definition) look(ctx context.Context, r *store.Reader, sel *selector.Selector, c *store.Change) (passes bool, rev *store.Revision, err error) {
	if sel == nil && !d.Docs {
		return true, nil, nil
	}
	if rev, err = r.Changed(c.ID, c.Leaves[0], c.Deleted); err != nil && !dberr.Is(err, dberr.NotFound) {
		return false, nil, err
	}
	if sel == nil || rev == nil {
		return sel == nil, rev, nil
	}
	passes, err = sel.Match(selectable(rev, sel), selector.NewBudget(ctx, 0))
	return passes, rev, err
}

// add appends a change; rev is its document, if that is sent.
func (b *batch) add(r *store.Reader, d *definition, c *store.Change, rev *store.Revision) {
	b.ids += len(c.ID)
	b.rows = append(b.rows, letterRow{c.Seq, c.ID})
	if len(b.out) > 0 {
		b.out = append(b.out, ',')
	}
	b.out = append(b.out, "\n{\"seq\":\""...)
	b.out = append(r.AppendSeq(b.out, c.Seq), '"')
	b.out = couchwire.AppendChange(b.out, c.ID, c.Leaves[:1], c.Deleted)
	if d.Docs && rev != nil {
		b.out = append(b.out, `,"doc":`...)
		b.out = couchwire.AppendDocument(b.out, sent(rev), couchwire.Form{})
	} else if d.Docs {
		b.out = append(b.out, `,"doc":null`...)
	}
	b.out = append(b.out, '}')
}

func sent(rev *store.Revision) *couchwire.Revision {
	return &couchwire.Revision{ID: rev.ID, Rev: rev.Rev, Deleted: rev.Deleted, Body: rev.Body, Attachments: rev.Attachments}
}

// selectable gives a revision the form that the selector language works on.
func selectable(rev *store.Revision, sel *selector.Selector) *selector.Doc {
	d := &selector.Doc{ID: string(rev.ID), Deleted: rev.Deleted, Body: rev.Body}
	if sel.Uses("_rev") {
		d.Rev = rev.Rev.String()
	}
	if len(rev.Attachments) > 0 && sel.Uses("_attachments") {
		stubs := couchwire.AppendAttachments(nil, rev.Attachments, couchwire.Form{})
		d.Meta = []selector.Member{{Name: "_attachments", Value: stubs}}
	}
	return d
}

// id names the message: the same rows of the same series have the same id, so
// that a receiver can tell what it has had already.
func (b *batch) id() string {
	h := sha256.New()
	h.Write([]byte(b.series))
	h.Write(b.out)
	return "msg_" + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
}

// body returns the message.
func (b *batch) body(scope store.Scope, id string) []byte {
	out := make([]byte, 0, len(b.out)+256)
	out = append(out, `{"type":"changes","subscription":`...)
	out = jsonscan.AppendQuoted(out, id)
	out = append(out, `,"database":`...)
	out = jsonscan.AppendQuoted(out, scope.Database().Name())
	if p := scope.Partition(); p != "" {
		out = append(out, `,"partition":`...)
		out = jsonscan.AppendQuoted(out, string(p))
	}
	if b.letter > 0 {
		out = append(out, `,"dead_letter":`...)
		out = strconv.AppendUint(out, b.letter, 10)
	}
	out = append(out, `,"results":[`...)
	out = append(out, b.out...)
	out = append(out, "\n]"...)
	if b.letter == 0 {
		out = append(out, `,"last_seq":"`...)
		out = scope.AppendSeq(out, b.to)
		out = append(out, `","pending":`...)
		out = strconv.AppendUint(out, b.pend, 10)
	}
	return append(out, "}\n"...)
}
