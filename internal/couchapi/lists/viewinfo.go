package lists

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// compactViews answers POST /{db}/_compact/{ddoc}: the engine gives back the space of
// what the rows of its views were, in the background.
func compactViews(r *couchhttp.Request) error {
	if err := r.EmptyOrJSON(); err != nil {
		return err
	}
	design, err := r.DesignNamed(r.Arg("ddoc"))
	if err != nil {
		return err
	}
	s, err := stateOf(r, design)
	if err != nil {
		return err
	}
	db := r.DB
	r.API.Tasks.Start(viewCompactionOf(db, design), string(design.ID), func(ctx context.Context) error {
		for _, rows := range s.rows {
			if err := db.CompactRows(ctx, rows); err != nil {
				return err
			}
		}
		return nil
	})
	return r.OK(http.StatusAccepted)
}

// viewCompactionOf is the compaction of a design document's views.
func viewCompactionOf(db *store.Database, design couchhttp.DesignFunctions) web.Job {
	return web.Job{Kind: couchhttp.ViewCompaction, Database: db.Name(), About: string(design.ID)}
}

// designState is what _info says of a design document's views, taken together.
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
func designInfo(r *couchhttp.Request) error {
	if err := r.MaySeeDesigns(); err != nil {
		return err
	}
	design, err := r.DesignNamed(r.Arg("ddoc"))
	if err != nil {
		return err
	}
	language := "javascript"
	if v, ok := jsonscan.Member(design.Body, "language"); ok {
		language = string(jsonscan.Text(nil, v))
	}
	s, err := stateOf(r, design)
	if err != nil {
		return err
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = couchhttp.AppendString(append(b, `{"name":`...), r.Arg("ddoc"))
		b = append(b, `,"view_index":{"updates_pending":{"minimum":`...)
		b = strconv.AppendUint(b, s.pending, 10)
		b = couchhttp.AppendCount(b, `,"preferred":`, s.pending)
		b = couchhttp.AppendCount(b, `,"total":`, s.pending)
		b = append(b, `},"waiting_commit":false,"waiting_clients":0,"updater_running":`...)
		b = strconv.AppendBool(b, s.updating)
		b = couchhttp.AppendCount(b, `,"update_seq":`, uint64(s.seq))
		b = couchhttp.AppendCount(b, `,"sizes":{"file":`, s.file+leastIndex)
		b = couchhttp.AppendCount(b, `,"external":`, s.file)
		b = couchhttp.AppendCount(b, `,"active":`, s.file)
		b = append(b, '}')
		if s.skipped > 0 {
			b = couchhttp.AppendCount(b, `,"skipped":`, s.skipped)
		}
		if s.failed != "" {
			b = couchhttp.AppendString(append(b, `,"failed":`...), s.failed)
		}
		b = couchhttp.AppendString(append(b, `,"signature":`...), s.signature)
		b = couchhttp.AppendString(append(b, `,"purge_seq":0,"language":`...), language)
		b = strconv.AppendBool(append(b, `,"compact_running":`...), r.API.Tasks.Runs(viewCompactionOf(r.DB, design)))
		b = couchhttp.AppendString(append(b, `,"collator_versions":[`...), s.collations)
		return append(b, "]}}"...)
	})
}

// leastIndex is what an index has on disk besides its rows: its definition, and how
// far it is.
const leastIndex = 1 << 10

// stateOf reads how far the views of a design document are.
func stateOf(r *couchhttp.Request, design couchhttp.DesignFunctions) (s designState, err error) {
	s.collations = strconv.Itoa(keyspace.CollationVersion)
	signatures := sha256.New()
	err = r.Scope.Namespace().View(r.Ctx(), func(rd *store.Reader) error {
		m, err := rd.Sequences()
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
			p, err := index.ReadProgress(rd.Snapshot(), r.DB.Number(), n.Index.Number)
			if err != nil {
				return err
			}
			s.seq = min(s.seq, p.UpTo.Seq)
			s.skipped += p.Skipped
			pending, err := changesLeft(rd, p.UpTo.Seq)
			if err != nil {
				return err
			}
			s.pending = max(s.pending, pending)
			s.updating = s.updating || n.Index.State == index.Building && !n.Index.Manual || r.API.Tasks.Runs(indexerOf(r.DB, &n))
			s.rows = append(s.rows, n.Index.Kind.Prefixes(r.DB.Number(), n.Index.Number)...)
		}
		return nil
	})
	for _, p := range s.rows {
		size, measureErr := r.DB.Measure(r.Ctx(), p)
		if measureErr != nil {
			return s, measureErr
		}
		s.file += size
	}
	s.signature = hex.EncodeToString(signatures.Sum(nil)[:16])
	return s, err
}

// maxChanges is how many changes that are left are counted at most.
const maxChanges = 10_000

// changesLeft counts the changes of documents since a sequence.
func changesLeft(rd *store.Reader, since store.Seq) (n uint64, err error) {
	for c, err := range rd.Changes(since, false) {
		if err != nil {
			return n, err
		}
		if !c.ID.IsDesign() {
			n++
		}
		if n == maxChanges {
			break
		}
	}
	return n, nil
}
