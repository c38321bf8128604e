package admin

import (
	"math"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/subscribe"
)

// subscriptionRoutes are those who are told of changes by requests to a URL.
func subscriptionRoutes() []couchhttp.Route {
	const all, one = "/{db}/_subscriptions", "/{db}/_subscriptions/{subscription}"
	return []couchhttp.Route{
		{Methods: "GET", Pattern: all, At: couchhttp.WithPrefixes, Rights: couchhttp.DbAdmin, Class: couchhttp.ClassAdmin, Run: subscribed(listSubscriptions)},
		{Methods: "POST", Pattern: all, At: couchhttp.WithPrefixes, Rights: couchhttp.DbAdmin, Class: couchhttp.ClassAdmin, Run: subscribed(makeSubscription)},
		{Methods: "GET", Pattern: one, At: couchhttp.WithPrefixes, Rights: couchhttp.DbAdmin, Class: couchhttp.ClassAdmin, Run: subscribed(getSubscription), Allow: "GET,PUT,DELETE"},
		{Methods: "PUT", Pattern: one, At: couchhttp.WithPrefixes, Rights: couchhttp.DbAdmin, Class: couchhttp.ClassAdmin, Run: subscribed(putSubscription)},
		{Methods: "DELETE", Pattern: one, At: couchhttp.WithPrefixes, Rights: couchhttp.DbAdmin, Class: couchhttp.ClassAdmin, Run: subscribed(deleteSubscription)},
		{Methods: "POST", Pattern: one + "/_retry", At: couchhttp.WithPrefixes, Rights: couchhttp.DbAdmin, Class: couchhttp.ClassAdmin, Run: subscribed(retryDeadLetters)},
		{Methods: "GET", Pattern: one + "/_dead", At: couchhttp.WithPrefixes, Rights: couchhttp.DbAdmin, Class: couchhttp.ClassAdmin, Run: subscribed(listDeadLetters), Allow: "GET,DELETE"},
		{Methods: "DELETE", Pattern: one + "/_dead", At: couchhttp.WithPrefixes, Rights: couchhttp.DbAdmin, Class: couchhttp.ClassAdmin, Run: subscribed(dropDeadLetters)},
		{Methods: "DELETE", Pattern: one + "/_dead/{entry}", At: couchhttp.WithPrefixes, Rights: couchhttp.DbAdmin, Class: couchhttp.ClassAdmin, Run: subscribed(dropDeadLetter)},
	}
}

// subscribed makes a handler of one that works on subscriptions. Databases of
// the system have none: their documents hold credentials, which must not leave
// the server.
func subscribed(run func(r *couchhttp.Request, s *subscribe.Service) error) couchhttp.Handler {
	return func(r *couchhttp.Request) error {
		if r.API.IsSystemName(r.DB.Name()) {
			return dberr.New(dberr.Forbidden, "forbidden", "A database of the system can't have subscriptions.")
		}
		return run(r, r.API.Subscriptions)
	}
}

func listSubscriptions(r *couchhttp.Request, s *subscribe.Service) error {
	b, err := s.List(r.Ctx(), r.Scope)
	if err != nil {
		return err
	}
	return r.JSON(http.StatusOK, b)
}

func getSubscription(r *couchhttp.Request, s *subscribe.Service) error {
	b, err := s.Get(r.Ctx(), r.Scope, r.Arg("subscription"))
	if err != nil {
		return err
	}
	return r.JSON(http.StatusOK, b)
}

func makeSubscription(r *couchhttp.Request, s *subscribe.Service) error {
	raw, err := r.JSONBody()
	if err != nil {
		return err
	}
	id, err := s.Create(r.Ctx(), r.Scope, raw)
	if err != nil {
		return err
	}
	r.Location("_subscriptions", id)
	return r.Build(http.StatusCreated, func(b []byte) []byte {
		return append(couchhttp.AppendString(append(b, `{"ok":true,"id":`...), id), '}')
	})
}

func putSubscription(r *couchhttp.Request, s *subscribe.Service) error {
	raw, err := r.JSONBody()
	if err != nil {
		return err
	}
	id := r.Arg("subscription")
	created, err := s.Put(r.Ctx(), r.Scope, id, raw)
	if err != nil {
		return err
	}
	if !created {
		return r.OK(http.StatusOK)
	}
	r.Location("_subscriptions", id)
	return r.OK(http.StatusCreated)
}

func deleteSubscription(r *couchhttp.Request, s *subscribe.Service) error {
	if err := s.Delete(r.Ctx(), r.Scope, r.Arg("subscription")); err != nil {
		return err
	}
	return r.OK(http.StatusOK)
}

// maxLetters is how many dead letters one answer lists at most.
const maxLetters = 1000

// lettersQuery is what _dead takes of a query string.
type lettersQuery struct{ after, limit int }

var lettersParams = couchhttp.Params[lettersQuery]{
	"after": couchhttp.CountParam(func(q *lettersQuery) *int { return &q.after }),
	"limit": couchhttp.CountParam(func(q *lettersQuery) *int { return &q.limit }),
}

func listDeadLetters(r *couchhttp.Request, s *subscribe.Service) error {
	q := lettersQuery{limit: 100}
	if err := lettersParams.Read(r.Query, &q); err != nil {
		return err
	}
	b, err := s.Dead(r.Ctx(), r.Scope, r.Arg("subscription"), uint64(q.after), min(q.limit, maxLetters))
	if err != nil {
		return err
	}
	return r.JSON(http.StatusOK, b)
}

func retryDeadLetters(r *couchhttp.Request, s *subscribe.Service) error {
	entries, err := entries(r)
	if err != nil {
		return err
	}
	n, err := s.Retry(r.Ctx(), r.Scope, r.Arg("subscription"), entries)
	if err != nil {
		return err
	}
	return r.Build(http.StatusAccepted, func(b []byte) []byte {
		return append(couchhttp.AppendCount(append(b, `{"ok":true`...), `,"entries":`, uint64(n)), '}')
	})
}

// entries reads the numbers of dead letters from a body; nil where it names
// none.
func entries(r *couchhttp.Request) (list []uint64, err error) {
	_, body, err := r.RawMembers()
	if err != nil {
		return nil, err
	}
	raw := couchhttp.MemberOf(body, "entries")
	if raw == nil {
		return nil, nil
	}
	errEntries := couchhttp.BadRequest("`entries` must be a list of the numbers of dead letters.")
	if jsonscan.KindOf(raw) != jsonscan.Array {
		return nil, errEntries
	}
	list = []uint64{}
	for es := jsonscan.ElementsOf(raw); ; {
		e, more := es.Next()
		if !more {
			return list, nil
		}
		n, err := strconv.ParseUint(string(e), 10, 64)
		if err != nil || n == 0 || n == math.MaxUint64 {
			return nil, errEntries
		}
		list = append(list, n)
	}
}

func dropDeadLetters(r *couchhttp.Request, s *subscribe.Service) error {
	return discardDeadLetters(r, s, nil)
}

func dropDeadLetter(r *couchhttp.Request, s *subscribe.Service) error {
	n, err := strconv.ParseUint(r.Arg("entry"), 10, 64)
	if err != nil {
		return couchhttp.ErrMissing
	}
	return discardDeadLetters(r, s, []uint64{n})
}

// discardDeadLetters removes dead letters and reports how many; one that is named must be
// there.
func discardDeadLetters(r *couchhttp.Request, s *subscribe.Service, numbers []uint64) error {
	n, err := s.DiscardDeadLetters(r.Ctx(), r.Scope, r.Arg("subscription"), numbers)
	if err == nil && numbers != nil && n == 0 {
		err = couchhttp.ErrMissing
	}
	if err != nil {
		return err
	}
	return r.Build(http.StatusOK, func(b []byte) []byte {
		return append(couchhttp.AppendCount(append(b, `{"ok":true`...), `,"entries":`, uint64(n)), '}')
	})
}
