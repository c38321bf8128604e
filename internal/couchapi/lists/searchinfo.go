package lists

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/sectional/sectional/internal/analyze"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// searchInfo answers GET …/_design/{ddoc}/_search_info/{index}.
func searchInfo(r *couchhttp.Request) error {
	i, p, s, err := searchState(r, findSearch, "indexes")
	if err != nil {
		return err
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = couchhttp.AppendString(append(b, `{"name":`...), "_design/"+r.Arg("ddoc")+"/"+r.Arg("index"))
		b = couchhttp.AppendString(append(b, `,"search_index":{"signature":`...), s.Index.Signature)
		b = couchhttp.AppendCount(b, `,"pending_seq":`, uint64(p.UpTo.Seq))
		b = couchhttp.AppendCount(b, `,"committed_seq":`, uint64(p.UpTo.Seq))
		b = append(b, `,"purge_seq":0`...)
		b = couchhttp.AppendCount(b, `,"doc_count":`, i.Docs)
		b = couchhttp.AppendCount(b, `,"doc_del_count":`, i.Deleted)
		b = couchhttp.AppendCount(b, `,"disk_size":`, i.Bytes+leastIndex)
		if p.Skipped > 0 {
			b = couchhttp.AppendCount(b, `,"skipped":`, p.Skipped)
		}
		return append(b, "}}"...)
	})
}

// searchDiskSize answers GET …/_design/{ddoc}/_search_disk_size/{index}.
func searchDiskSize(r *couchhttp.Request) error {
	i, _, _, err := searchState(r, findSearch, "indexes")
	if err != nil {
		return err
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		b = couchhttp.AppendString(append(b, `{"name":`...), "_design/"+r.Arg("ddoc")+"/"+r.Arg("index"))
		return append(couchhttp.AppendCount(b, `,"search_index":{"disk_size":`, i.Bytes+leastIndex), "}}"...)
	})
}

// searchState reads how far a full-text index is and what it has. Of an index that a
// tenant shares it says nothing: it is of others' documents too.
func searchState(r *couchhttp.Request, find finding, member string) (i text.Info, p index.Progress, s *index.Session, err error) {
	if err := r.MaySeeDesigns(); err != nil {
		return i, p, nil, err
	}
	if s, err = find(r, r.Arg("ddoc"), r.Arg("index")); err != nil {
		return i, p, nil, err
	}
	if s == nil || s.Shared() {
		design, err := r.DesignNamed(r.Arg("ddoc"))
		if err == nil {
			err = noSearch(design, member, r.Arg("index"))
		}
		return i, p, nil, err
	}
	if err := s.TakeIn(r.Ctx()); err != nil {
		return i, p, nil, err
	}
	err = s.View(r.Ctx(), func(rd *store.Reader, _ bool) (err error) {
		if i, err = r.API.Texts.InfoOf(rd, s.Answers); err != nil {
			return err
		}
		p, err = s.Answers.Progress(rd.Snapshot(), r.DB.Number())
		return err
	})
	return i, p, s, err
}

// searchAnalyze answers GET and POST /_search_analyze: the terms that an analyzer makes
// of a text.
func searchAnalyze(r *couchhttp.Request) error {
	definition, content, err := analysisAsked(r)
	if err != nil {
		return err
	}
	a, err := analyze.New(definition)
	switch {
	case errors.Is(err, analyze.ErrUnknown):
		return dberr.New(dberr.Invalid, "bad_request", "no_such_analyzer")
	case err != nil:
		return dberr.New(dberr.Invalid, "bad_request", "%s", err.Error())
	}
	terms := a.Terms(content)
	return r.Build(http.StatusOK, func(b []byte) []byte {
		return append(couchhttp.AppendStrings(append(b, `{"tokens":`...), terms), '}')
	})
}

// longestAnalyzed is how much text is analyzed for somebody to see: its terms take fifty
// times as much memory.
const longestAnalyzed = 1 << 20

// analysisAsked reads the definition of an analyzer and a text. In a query string the
// analyzer is a name.
func analysisAsked(r *couchhttp.Request) (definition []byte, content string, err error) {
	var given []byte
	if r.Method == http.MethodPost {
		members, err := viewBody(r)
		if err != nil {
			return nil, "", err
		}
		definition, given = couchhttp.MemberOf(members, "analyzer"), couchhttp.MemberOf(members, "text")
	} else {
		if name, ok := r.Query.Get("analyzer"); ok {
			definition, err = json.Marshal(name)
		}
		if t, ok := r.Query.Get("text"); ok && err == nil {
			given, err = json.Marshal(t)
		}
		if err != nil {
			return nil, "", err
		}
	}
	switch kind := jsonscan.KindOf(definition); {
	case definition == nil:
		return nil, "", dberr.New(dberr.Invalid, "bad_request", "analyzer parameter is mandatory")
	case kind != jsonscan.String && (kind != jsonscan.Object || string(definition) == "{}"):
		return nil, "", dberr.New(dberr.Invalid, "bad_request", "analyzer parameter must be a string or an object")
	case given == nil:
		return nil, "", dberr.New(dberr.Invalid, "bad_request", "text parameter is mandatory")
	case jsonscan.KindOf(given) != jsonscan.String:
		return nil, "", dberr.New(dberr.Invalid, "bad_request", "text parameter must be a string")
	}
	if content = string(jsonscan.Text(nil, given)); len(content) > longestAnalyzed {
		return nil, "", dberr.New(dberr.TooLarge, "", "text parameter must not have more than %d bytes", longestAnalyzed)
	}
	return definition, content, nil
}
