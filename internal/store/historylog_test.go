package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/sectional/sectional/internal/document"
)

// logModel is what the change log has reported so far, and what it makes of the documents.
type logModel struct {
	keep    time.Duration // the shortest time that it keeps entries; 0: it is off
	at      LogPosition   // read so far
	docs    map[document.ID]string
	entries []seenEntry
	holds   map[document.Partition]bool // that were hidden when it began: nobody saw their documents
}

// seenEntry is an entry as it was read first.
type seenEntry struct {
	at   LogPosition
	time time.Time
	id   document.ID
	text string
	gone bool // what it names may have been purged or dropped since
}

// switchLog switches the change log on or off, or lets it keep entries longer or shorter.
func (x *runner) switchLog(o op) error {
	p := Period{}
	if o.a%4 > 0 {
		p = Period{Text: fmt.Sprint(1+o.b/2, "_min"), Length: time.Duration(1+o.b/2) * time.Minute}
	}
	return x.setLog(p)
}

func (x *runner) setLog(p Period) error {
	if err := x.d.SetChangeLog(ctx, p); err != nil {
		return err
	}
	if p.Text == "" || x.log.keep == 0 {
		x.log = logModel{keep: p.Length}
		return x.beginLog()
	}
	x.log.keep = min(x.log.keep, p.Length)
	return nil
}

// beginLog notes what there is when the log begins.
func (x *runner) beginLog() error {
	x.log.holds = map[document.Partition]bool{}
	for p := range x.m.drops {
		x.log.holds[p] = true
	}
	return x.d.Whole().View(ctx, func(r *Reader) (err error) {
		if x.log.keep > 0 {
			_, x.log.at, err = r.LogBounds()
		}
		x.log.docs = winnersOf(r)
		return err
	})
}

func winnersOf(r *Reader) map[document.ID]string {
	docs := map[document.ID]string{}
	for rev, err := range r.Winners(Span{}) {
		if err != nil {
			panic(err)
		}
		docs[rev.ID] = imageText(rev)
	}
	return docs
}

func imageText(rev *Revision) string {
	switch {
	case rev == nil:
		return ""
	case rev.Deleted:
		return rev.Rev.String() + " deleted"
	}
	return rev.Rev.String() + " " + string(rev.Body)
}

// followLog reads what is new in the change log, whose entries have to lead from
// the documents as they were to the documents as they are, and holds all that is
// kept against what was read before.
func (x *runner) followLog() error {
	if x.log.keep == 0 {
		return nil
	}
	return x.d.Whole().View(ctx, func(r *Reader) error {
		for e, err := range r.Log(x.log.at) {
			if err == nil {
				err = x.replay(e)
			}
			if err != nil {
				return err
			}
		}
		return errors.Join(x.replayed(r), x.kept(r))
	})
}

func (x *runner) replay(e *Logged) error {
	l := &x.log
	if !l.at.before(e.At) {
		return fmt.Errorf("the log's entry %v comes after %v", e.At, l.at)
	}
	l.at = e.At
	if e.Cause == ByRemoval {
		x.forget(func(id document.ID) bool { return id.Partition() == e.Partition })
		delete(l.holds, e.Partition)
		return nil
	}
	old, known := l.docs[e.ID]
	collected := e.Old == nil && len(old) > 8 && old[len(old)-8:] == " deleted"
	if got := imageText(e.Old); e.Cause != ByPurge && got != old && !collected && (known || !l.holds[e.Partition]) {
		return fmt.Errorf("entry %v of %q goes on from %s, want %s", e.At, e.ID, got, old)
	}
	if e.Cause == ByPurge {
		x.forget(func(id document.ID) bool { return id == e.ID })
	}
	if l.docs[e.ID] = imageText(e.New); e.New == nil {
		delete(l.docs, e.ID)
	}
	l.entries = append(l.entries, seenEntry{at: e.At, time: e.Time, id: e.ID, text: entryText(e), gone: e.Cause == ByPurge})
	return nil
}

// forget drops documents from the model: earlier entries lose what they named.
func (x *runner) forget(of func(document.ID) bool) {
	for i := range x.log.entries {
		x.log.entries[i].gone = x.log.entries[i].gone || of(x.log.entries[i].id)
	}
	for id := range x.log.docs {
		if of(id) {
			delete(x.log.docs, id)
		}
	}
}

func entryText(e *Logged) string {
	return fmt.Sprint(e.ID, " ", e.Cause, " ", e.Rev, ": ", imageText(e.Old), " -> ", imageText(e.New))
}

// replayed compares what the log made of the documents with the documents.
func (x *runner) replayed(r *Reader) error {
	now := winnersOf(r)
	for id, got := range x.log.docs {
		want, there := now[id]
		if x.m.drops[id.Partition()] != nil && x.m.partitioned {
			continue
		}
		if collected := !there && len(got) > 8 && got[len(got)-8:] == " deleted"; collected {
			delete(x.log.docs, id)
		} else if got != want {
			return fmt.Errorf("the log made %q of %q, it is %q", got, id, want)
		}
	}
	for id, want := range now {
		if _, known := x.log.docs[id]; !known && !x.log.holds[id.Partition()] {
			return fmt.Errorf("the log does not know %q, which is %q", id, want)
		}
	}
	return nil
}

// kept reads all entries that there are: those that are young enough, as they were.
func (x *runner) kept(r *Reader) error {
	first, _, err := r.LogBounds()
	if err != nil {
		return err
	}
	for len(x.log.entries) > 0 && !first.before(x.log.entries[0].at) {
		if age := x.now.Sub(x.log.entries[0].time); age < x.log.keep {
			return fmt.Errorf("entry %v went after %v", x.log.entries[0].at, age)
		}
		x.log.entries = x.log.entries[1:]
	}
	rest := x.log.entries
	for e, err := range r.Log(first) {
		if err != nil {
			return err
		}
		if e.Cause == ByRemoval {
			continue
		}
		if len(rest) == 0 || rest[0].at != e.At || !rest[0].gone && rest[0].text != entryText(e) && x.m.drops[e.Partition] == nil {
			return fmt.Errorf("the log has %v %s, want %+v", e.At, entryText(e), rest[:min(1, len(rest))])
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("the log has lost %+v", rest[0])
	}
	return nil
}
