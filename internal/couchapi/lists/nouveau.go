package lists

import (
	"errors"
	"net/http"

	"github.com/sectional/sectional/internal/analyze"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text"
	textfind "github.com/sectional/sectional/internal/index/text/find"
	"github.com/sectional/sectional/internal/jsonscan"
)

// errNouveau is what Nouveau's paths answer where it is switched off, as CouchDB's do.
var errNouveau = dberr.New(dberr.NotFound, "not_found", "missing")

func nouveauEnabled(r *couchhttp.Request) error {
	if !r.API.Settings.Value().Nouveau {
		return errNouveau
	}
	return nil
}

// nouveau answers GET and POST …/_nouveau/{index}: a search, as _search is one, with the
// parameters and the answer of Nouveau.
func nouveau(r *couchhttp.Request) error {
	if err := nouveauEnabled(r); err != nil {
		return err
	}
	a, err := askedFor(r, findNouveau, "index")
	if err != nil {
		return err
	}
	q, err := parseNouveau(a.members, r.Query, r.Method == http.MethodPost)
	if err != nil {
		return err
	}
	if a.session == nil {
		return noSearch(a.design, "nouveau", r.Arg("index"))
	}
	answer, err := onIndex(r, a.session, findNouveau, func(s *index.Session) (*searchAnswer, error) { return nouveauOf(r, s, q) })
	if err != nil {
		return err
	}
	return answer.write()
}

// findNouveau finds an index of Nouveau's by its names, for a request that may query; nil
// if there is none.
func findNouveau(r *couchhttp.Request, design, name string) (*index.Session, error) {
	s, err := findText(r, design, text.NouveauName, name)
	if s == nil || err != nil {
		return nil, err
	}
	if err := s.Index.Failure(); err != nil {
		analyzers, _ := jsonscan.Member(s.Index.Source, "analyzer")
		if _, wrong := analyze.Nouveau(analyzers); wrong != nil {
			return nil, dberr.New(dberr.Invalid, "bad_request", "%s", wrong.Error())
		}
		return nil, err
	}
	return s, nil
}

// nouveauOf brings the index up to date and runs a query.
func nouveauOf(r *couchhttp.Request, s *index.Session, q *nouveauQuery) (*searchAnswer, error) {
	p, err := q.partitionOf(r, s)
	if err != nil {
		return nil, err
	}
	began := r.API.Now()
	a := &searchAnswer{RowStream: couchhttp.RowStream{R: r, Form: couchhttp.DocForm{Include: q.include}}, nouveau: q, s: s}
	a.result, err = searched(r, s, p, !q.update, func(d *text.Def) (*textfind.Request, error) {
		q.latency = r.API.Now().Sub(began)
		req := q.Request
		req.Nouveau, req.Analyzers = true, d.Analyzers
		req.Query, err = textfind.ParseNouveau(q.query, req.Analyzers)
		return &req, err
	})
	return a, err
}

// partitionOf returns the partition that a query is about, "" for all. An index of a
// database may be asked for one or for all, whatever its design document says.
func (q *nouveauQuery) partitionOf(r *couchhttp.Request, s *index.Session) (document.Partition, error) {
	if s.Shared() {
		if q.partition != nil {
			return "", errNoPartition
		}
		return r.Scope.Tenant(), nil
	}
	p := r.Scope.Partition()
	switch {
	case q.partition == nil:
		return p, nil
	case p != "" && string(p) != *q.partition:
		return "", dberr.New(dberr.Invalid, "bad_request", "Conflicting value for `partition` in query string")
	case !r.Scope.Partitioned() && p == "":
		return "", errNoPartition
	}
	return document.ParsePartition(*q.partition)
}

// nouveauInfo answers GET …/_design/{ddoc}/_nouveau_info/{index}.
func nouveauInfo(r *couchhttp.Request) error {
	if err := nouveauEnabled(r); err != nil {
		return err
	}
	i, p, s, err := searchState(r, findNouveau, "nouveau")
	if err != nil {
		return err
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = couchhttp.AppendString(append(b, `{"name":`...), "_design/"+r.Arg("ddoc")+"/"+r.Arg("index"))
		b = couchhttp.AppendString(append(b, `,"search_index":{"signature":`...), s.Index.Signature)
		b = couchhttp.AppendCount(b, `,"update_seq":`, uint64(p.UpTo.Seq))
		b = append(b, `,"purge_seq":0`...)
		b = couchhttp.AppendCount(b, `,"num_docs":`, i.Docs)
		b = couchhttp.AppendCount(b, `,"disk_size":`, i.Bytes+leastIndex)
		if p.Skipped > 0 {
			b = couchhttp.AppendCount(b, `,"skipped":`, p.Skipped)
		}
		return append(b, `,"upgrade_required":false}}`...)
	})
}

var errNouveauAnalyze = dberr.New(dberr.Invalid, "bad_request", "'text' and 'analyzer' fields must be non-empty strings")

// nouveauAnalyze answers POST /_nouveau_analyze: the terms that an analyzer makes of a
// text.
func nouveauAnalyze(r *couchhttp.Request) error {
	if err := nouveauEnabled(r); err != nil {
		return err
	}
	members, err := viewBody(r)
	if err != nil {
		return err
	}
	name, given := couchhttp.MemberOf(members, "analyzer"), couchhttp.MemberOf(members, "text")
	if jsonscan.KindOf(name) != jsonscan.String || jsonscan.KindOf(given) != jsonscan.String {
		return errNouveauAnalyze
	}
	content := string(jsonscan.Text(nil, given))
	if len(content) > longestAnalyzed {
		return dberr.New(dberr.TooLarge, "", "text parameter must not have more than %d bytes", longestAnalyzed)
	}
	if content == "" {
		return dberr.New(dberr.Invalid, "bad_request", "text must not be empty")
	}
	a, err := analyze.NouveauNamed(string(jsonscan.Text(nil, name)))
	if unknown := (*analyze.UnknownError)(nil); errors.As(err, &unknown) {
		return dberr.New(dberr.Invalid, "bad_request", "%s", unknown.Error())
	}
	if err != nil {
		return err
	}
	terms := a.Terms(content)
	return r.Build(http.StatusOK, func(b []byte) []byte {
		return append(couchhttp.AppendStrings(append(b, `{"tokens":`...), terms), '}')
	})
}
