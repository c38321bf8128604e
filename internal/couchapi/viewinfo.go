package couchapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/store"
)

// designState is what _info tells of a design document's views, taken together.
type designState struct {
	signature  string
	updating   bool
	seq        store.Seq // that all of them have reached
	pending    uint64    // changes that are left
	file       uint64    // bytes on disk
	rows       [][]byte  // what the keys of the rows begin with
	skipped    uint64    // times that a function threw for a document, or went over a limit
	failed     string    // why a view is not kept any more; "" if all are
	collations string
}

// designInfo answers GET …/_design/{ddoc}/_info.
func designInfo(r *request) error {
	if err := r.maySeeDesigns(); err != nil {
		return err
	}
	design, err := r.designNamed(r.arg("ddoc"))
	if err != nil {
		return err
	}
	language := "javascript"
	if v, ok := jsonscan.Member(design.Body, "language"); ok {
		language = string(jsonscan.Text(nil, v))
	}
	s, err := r.designState(design)
	if err != nil {
		return err
	}
	return r.build(http.StatusOK, func(b []byte) []byte {
		b = appendString(append(b, `{"name":`...), r.arg("ddoc"))
		b = append(b, `,"view_index":{"updates_pending":{"minimum":`...)
		b = strconv.AppendUint(b, s.pending, 10)
		b = appendCount(b, `,"preferred":`, s.pending)
		b = appendCount(b, `,"total":`, s.pending)
		b = append(b, `},"waiting_commit":false,"waiting_clients":0,"updater_running":`...)
		b = strconv.AppendBool(b, s.updating)
		b = appendCount(b, `,"update_seq":`, uint64(s.seq))
		b = appendCount(b, `,"sizes":{"file":`, s.file+leastIndex)
		b = appendCount(b, `,"external":`, s.file)
		b = appendCount(b, `,"active":`, s.file)
		b = append(b, '}')
		if s.skipped > 0 {
			b = appendCount(b, `,"skipped":`, s.skipped)
		}
		if s.failed != "" {
			b = appendString(append(b, `,"failed":`...), s.failed)
		}
		b = appendString(append(b, `,"signature":`...), s.signature)
		b = appendString(append(b, `,"purge_seq":0,"language":`...), language)
		b = strconv.AppendBool(append(b, `,"compact_running":`...), r.api.Tasks.Runs(viewCompactionOf(r.db, design)))
		b = appendString(append(b, `,"collator_versions":[`...), s.collations)
		return append(b, "]}}"...)
	})
}

// leastIndex is what an index has on disk besides its rows: its definition, and how
// far it is.
const leastIndex = 1 << 10

// designState reads how far the views of a design document are.
func (r *request) designState(design designFunctions) (s designState, err error) {
	s.collations = strconv.Itoa(keyspace.CollationVersion)
	signatures := sha256.New()
	err = r.scope.Namespace().View(r.Ctx(), func(rd *store.Reader) error {
		m, err := rd.Mark()
		if err != nil {
			return err
		}
		set, err := index.Of(rd)
		if err != nil {
			return err
		}
		s.seq = m.Seq
		for _, n := range set.Named {
			if n.Design != design.ID || n.Kind != view.KindName {
				continue
			}
			signatures.Write([]byte(n.Index.Signature))
			if n.Index.State == index.Failed {
				s.failed = n.Index.Reason
			}
			p, err := index.ReadProgress(rd.Snapshot(), r.db.Number(), n.Index.Number)
			if err != nil {
				return err
			}
			s.seq = min(s.seq, p.Mark.Seq)
			s.skipped += p.Skipped
			pending, err := changesLeft(rd, p.Mark.Seq)
			if err != nil {
				return err
			}
			s.pending = max(s.pending, pending)
			s.updating = s.updating || n.Index.State == index.Building && !n.Index.Manual || r.api.Tasks.Runs(indexerOf(r.db, &n))
			s.rows = append(s.rows, n.Index.Kind.Prefixes(r.db.Number(), n.Index.Number)...)
		}
		return nil
	})
	for _, p := range s.rows {
		size, measureErr := r.db.Measure(r.Ctx(), p)
		if measureErr != nil {
			return s, measureErr
		}
		s.file += size
	}
	s.signature = hex.EncodeToString(signatures.Sum(nil)[:16])
	return s, err
}

// manyChanges is how many changes that are left are counted at most.
const manyChanges = 10_000

// changesLeft counts the changes of documents since a sequence.
func changesLeft(rd *store.Reader, since store.Seq) (n uint64, err error) {
	for c, err := range rd.Changes(since, false) {
		if err != nil {
			return n, err
		}
		if !c.ID.IsDesign() {
			n++
		}
		if n == manyChanges {
			break
		}
	}
	return n, nil
}
