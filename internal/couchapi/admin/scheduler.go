package admin

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/peers"
	"github.com/sectional/sectional/internal/replicate/schedule"
	"github.com/sectional/sectional/internal/replicate/spec"
)

// jobsShown is how many jobs a page of _scheduler/jobs has where nothing is said.
const jobsShown = 100

// SchedulerJobs answers GET /_scheduler/jobs.
func SchedulerJobs(r *couchhttp.Request) error {
	s, err := r.Replicator()
	if err != nil {
		return err
	}
	limit, err := rangeParam(r, "limit", jobsShown)
	if err != nil {
		return err
	}
	skip, err := rangeParam(r, "skip", 0)
	if err != nil {
		return err
	}
	rows, err := s.Jobs(r.Ctx())
	if err != nil {
		return err
	}
	page := struct {
		Total  int               `json:"total_rows"`
		Offset int               `json:"offset"`
		Jobs   []schedule.JobRow `json:"jobs"`
	}{len(rows), min(skip, len(rows)), []schedule.JobRow{}}
	page.Jobs = rows[page.Offset:]
	page.Jobs = page.Jobs[:min(limit, len(page.Jobs))]
	return r.Marshal(http.StatusOK, page)
}

// rangeParam reads a whole number from 0 up, with the words of CouchDB's
// scheduler.
func rangeParam(r *couchhttp.Request, name string, or int) (int, error) {
	v, ok := r.Query.Get(name)
	if !ok {
		return or, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0, couchhttp.QueryError("%s must be an integer", name)
	}
	if n < 0 {
		return 0, couchhttp.QueryError("%s not in range of [0,infinity]", name)
	}
	return n, nil
}

// SchedulerJob answers GET /_scheduler/jobs/{job}.
func SchedulerJob(r *couchhttp.Request) error {
	s, err := r.Replicator()
	if err != nil {
		return err
	}
	row, err := s.Job(r.Ctx(), r.Arg("job"))
	if err != nil {
		return err
	}
	return r.Marshal(http.StatusOK, row)
}

// SchedulerFailures answers GET /_scheduler/jobs/{job}/failures.
func SchedulerFailures(r *couchhttp.Request) error {
	s, err := r.Replicator()
	if err != nil {
		return err
	}
	rows, err := s.Failures(r.Arg("job"))
	return failures(r, rows, err, func() (string, error) { return s.Server(r.Ctx(), r.Arg("job")) })
}

// failures answers with what failed in a job. Where this server knows of nothing, the one that
// runs the job, or did last, is asked.
func failures(r *couchhttp.Request, rows schedule.FailureRows, err error, runs func() (string, error)) error {
	if (err == nil && rows.Total == 0 || dberr.Is(err, dberr.NotFound)) && !peers.Entered(r.Ctx()) {
		switch name, err := runs(); {
		case err != nil:
			return err
		case name != "" && name != NodeName(r.API.Store):
			return r.AskServer(name)
		}
	}
	if err != nil {
		return err
	}
	return r.Marshal(http.StatusOK, rows)
}

// SchedulerDocs answers GET /_scheduler/docs and what lies below: the rows of a
// database's documents, or one of them, or what failed of one. The slash in a
// database's name may be escaped or not.
func SchedulerDocs(r *couchhttp.Request) error {
	s, err := r.Replicator()
	if err != nil {
		return err
	}
	database, rest := spec.DatabaseName, []string(nil)
	if segments := r.Path.Parts()[2:]; len(segments) > 0 {
		i := slices.IndexFunc(segments, spec.IsReplicator)
		if i < 0 {
			return couchhttp.BadRequest("bad_request")
		}
		database, rest = strings.Join(segments[:i+1], "/"), segments[i+1:]
	}
	db, err := r.API.Store.Database(r.Ctx(), database)
	if err != nil {
		return err
	}
	switch {
	case len(rest) == 0:
		q, err := docsQuery(r)
		if err != nil {
			return err
		}
		rows, err := s.Docs(r.Ctx(), db, q)
		if err != nil {
			return err
		}
		return r.Marshal(http.StatusOK, rows)
	case len(rest) == 2 && rest[1] == "failures":
		id := document.ID(rest[0])
		rows, err := s.DocFailures(database, id)
		return failures(r, rows, err, func() (string, error) { return s.ServerOf(r.Ctx(), database, id) })
	}
	row, err := s.Doc(r.Ctx(), db, document.ID(strings.Join(rest, "/")))
	if err != nil {
		return err
	}
	return r.Marshal(http.StatusOK, row)
}

// docStates are the states that a document's row may have.
var docStates = []string{"initializing", "error", "running", "pending", "crashing", "completed", "failed"}

// docsQuery reads which rows are wanted.
func docsQuery(r *couchhttp.Request) (q schedule.DocsQuery, err error) {
	q = schedule.DocsQuery{Limit: -1, Descending: r.Query.Is("descending")}
	if v, ok := r.Query.Get("limit"); ok {
		if q.Limit, err = couchhttp.ParseCount(v); err != nil {
			return q, err
		}
	}
	if v, ok := r.Query.Get("skip"); ok {
		if q.Skip, err = couchhttp.ParseCount(v); err != nil {
			return q, err
		}
	}
	v, _ := r.Query.Get("states")
	for state := range strings.SplitSeq(strings.ToLower(v), ",") {
		if state == "" {
			continue
		}
		if !slices.Contains(docStates, state) {
			return q, dberr.New(dberr.Invalid, "query_parse_error", "%s", fmt.Sprintf("Unknown states [%s]. Choose from: [%s]", state, strings.Join(docStates, ",")))
		}
		q.States = append(q.States, state)
	}
	return q, nil
}
