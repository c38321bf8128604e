package couchapi

import (
	"math"
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/subscribe"
)

// subscriptionRoutes are those who are told of changes by requests to a URL.
func subscriptionRoutes() []route {
	const all, one = "/{db}/_subscriptions", "/{db}/_subscriptions/{subscription}"
	return []route{
		{methods: "GET", pattern: all, at: withPrefixes, rights: dbAdmin, class: classAdmin, run: subscribed(listSubscriptions)},
		{methods: "POST", pattern: all, at: withPrefixes, rights: dbAdmin, class: classAdmin, run: subscribed(makeSubscription)},
		{methods: "GET", pattern: one, at: withPrefixes, rights: dbAdmin, class: classAdmin, run: subscribed(getSubscription), allow: "GET,PUT,DELETE"},
		{methods: "PUT", pattern: one, at: withPrefixes, rights: dbAdmin, class: classAdmin, run: subscribed(putSubscription)},
		{methods: "DELETE", pattern: one, at: withPrefixes, rights: dbAdmin, class: classAdmin, run: subscribed(deleteSubscription)},
		{methods: "POST", pattern: one + "/_retry", at: withPrefixes, rights: dbAdmin, class: classAdmin, run: subscribed(retryDeadLetters)},
		{methods: "GET", pattern: one + "/_dead", at: withPrefixes, rights: dbAdmin, class: classAdmin, run: subscribed(listDeadLetters), allow: "GET,DELETE"},
		{methods: "DELETE", pattern: one + "/_dead", at: withPrefixes, rights: dbAdmin, class: classAdmin, run: subscribed(dropDeadLetters)},
		{methods: "DELETE", pattern: one + "/_dead/{entry}", at: withPrefixes, rights: dbAdmin, class: classAdmin, run: subscribed(dropDeadLetter)},
	}
}

// subscribed makes a handler of one that works on subscriptions. Databases of
// the system have none: their documents hold credentials, which must not leave
// the server.
func subscribed(run func(r *request, s *subscribe.Service) error) handler {
	return func(r *request) error {
		if r.api.isSystemName(r.db.Name()) {
			return dberr.New(dberr.Forbidden, "forbidden", "A database of the system can't have subscriptions.")
		}
		return run(r, r.api.subscriptions)
	}
}

func listSubscriptions(r *request, s *subscribe.Service) error {
	b, err := s.List(r.Ctx(), r.scope)
	if err != nil {
		return err
	}
	return r.json(http.StatusOK, b)
}

func getSubscription(r *request, s *subscribe.Service) error {
	b, err := s.Get(r.Ctx(), r.scope, r.arg("subscription"))
	if err != nil {
		return err
	}
	return r.json(http.StatusOK, b)
}

func makeSubscription(r *request, s *subscribe.Service) error {
	raw, err := r.jsonBody()
	if err != nil {
		return err
	}
	id, err := s.Create(r.Ctx(), r.scope, raw)
	if err != nil {
		return err
	}
	r.location("_subscriptions", id)
	return r.build(http.StatusCreated, func(b []byte) []byte {
		return append(appendString(append(b, `{"ok":true,"id":`...), id), '}')
	})
}

func putSubscription(r *request, s *subscribe.Service) error {
	raw, err := r.jsonBody()
	if err != nil {
		return err
	}
	id := r.arg("subscription")
	created, err := s.Put(r.Ctx(), r.scope, id, raw)
	if err != nil {
		return err
	}
	if !created {
		return r.ok(http.StatusOK)
	}
	r.location("_subscriptions", id)
	return r.ok(http.StatusCreated)
}

func deleteSubscription(r *request, s *subscribe.Service) error {
	if err := s.Delete(r.Ctx(), r.scope, r.arg("subscription")); err != nil {
		return err
	}
	return r.ok(http.StatusOK)
}

// mostLetters is how many dead letters one answer lists at most.
const mostLetters = 1000

// lettersQuery is what _dead takes of a query string.
type lettersQuery struct{ after, limit int }

var lettersParams = params[lettersQuery]{
	"after": countParam(func(q *lettersQuery) *int { return &q.after }),
	"limit": countParam(func(q *lettersQuery) *int { return &q.limit }),
}

func listDeadLetters(r *request, s *subscribe.Service) error {
	q := lettersQuery{limit: 100}
	if err := lettersParams.read(r.Query, &q); err != nil {
		return err
	}
	b, err := s.Dead(r.Ctx(), r.scope, r.arg("subscription"), uint64(q.after), min(q.limit, mostLetters))
	if err != nil {
		return err
	}
	return r.json(http.StatusOK, b)
}

func retryDeadLetters(r *request, s *subscribe.Service) error {
	entries, err := r.entries()
	if err != nil {
		return err
	}
	n, err := s.Retry(r.Ctx(), r.scope, r.arg("subscription"), entries)
	if err != nil {
		return err
	}
	return r.build(http.StatusAccepted, func(b []byte) []byte {
		return append(appendCount(append(b, `{"ok":true`...), `,"entries":`, uint64(n)), '}')
	})
}

// entries reads the numbers of dead letters from a body; nil where it names
// none.
func (r *request) entries() (list []uint64, err error) {
	_, body, err := r.rawMembers()
	if err != nil {
		return nil, err
	}
	raw := memberOf(body, "entries")
	if raw == nil {
		return nil, nil
	}
	errEntries := badRequest("`entries` must be a list of the numbers of dead letters.")
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

func dropDeadLetters(r *request, s *subscribe.Service) error { return r.forget(s, nil) }

func dropDeadLetter(r *request, s *subscribe.Service) error {
	n, err := strconv.ParseUint(r.arg("entry"), 10, 64)
	if err != nil {
		return errMissing
	}
	return r.forget(s, []uint64{n})
}

// forget removes dead letters and tells how many; one that is named must be
// there.
func (r *request) forget(s *subscribe.Service, numbers []uint64) error {
	n, err := s.Forget(r.Ctx(), r.scope, r.arg("subscription"), numbers)
	if err == nil && numbers != nil && n == 0 {
		err = errMissing
	}
	if err != nil {
		return err
	}
	return r.build(http.StatusOK, func(b []byte) []byte {
		return append(appendCount(append(b, `{"ok":true`...), `,"entries":`, uint64(n)), '}')
	})
}
