package lists

import (
	"strconv"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/store"
)

// head appends what comes before the rows, once.
func (l *lister) head() {
	if l.headed {
		return
	}
	l.headed = true
	b := append(l.Buf, '{')
	if !l.q.unsorted {
		b = append(b, `"total_rows":`...)
		b = appendKnown(b, l.total, !l.kind.local)
		b = append(b, `,"offset":`...)
		b = appendKnown(b, l.offset, l.counted)
		b = append(b, ',')
	}
	if l.q.updateSeq && !l.kind.local {
		b = append(b, `"update_seq":"`...)
		b = l.R.Scope.AppendSeq(b, l.seq)
		b = append(b, `",`...)
	}
	l.Buf = append(b, `"rows":[`...)
}

func appendKnown(b []byte, n uint64, known bool) []byte {
	if !known {
		return append(b, "null"...)
	}
	return strconv.AppendUint(b, n, 10)
}

// open appends what comes before every row.
func (l *lister) open() {
	l.head()
	l.between("\r\n")
}

// row appends the row of a document.
func (l *lister) row(e listed) error {
	l.open()
	b := append(l.Buf, `{"id":`...)
	from := len(b)
	b = couchhttp.AppendString(b, string(e.id))
	to := len(b)
	b = append(b, `,"key":`...)
	b = append(b, b[from:to]...)
	b = append(b, `,"value":{"rev":"`...)
	if e.local != nil {
		l.Buf = append(appendLocalRev(b, e.local), `"}`...)
		l.localDoc(e.local)
		return nil
	}
	winner := e.doc.Tree.Winner()
	b = append(winner.Rev.AppendText(b), '"')
	if winner.Deleted {
		b = append(b, `,"deleted":true`...)
	}
	l.Buf = append(b, '}')
	switch {
	case !l.Form.Include:
	case e.body == nil:
		l.Buf = append(l.Buf, `,"doc":null`...)
	default:
		l.Buf = append(l.Buf, `,"doc":`...)
		l.Document(e.body, &e.doc.Tree, "}")
		return nil
	}
	l.Buf = append(l.Buf, '}')
	return nil
}

// localDoc appends the end of a local document's row.
func (l *lister) localDoc(d *store.Local) {
	if l.Form.Include {
		b := append(l.Buf, `,"doc":{"_id":`...)
		b = couchhttp.AppendString(b, string(d.ID))
		b = append(b, `,"_rev":"`...)
		b = append(appendLocalRev(b, d), '"')
		if len(d.Body) > len("{}") {
			b = append(b, ',')
			b = append(b, d.Body[1:len(d.Body)-1]...)
		}
		l.Buf = append(b, '}')
	}
	l.Buf = append(l.Buf, '}')
}

func appendLocalRev(b []byte, d *store.Local) []byte {
	return strconv.AppendUint(append(b, "0-"...), d.Rev, 10)
}
