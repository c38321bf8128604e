package script

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
)

// largestBatch bounds the inputs that go to a child at once.
const largestBatch = 4 << 20

// batch gives how many of the inputs go in the next message: at least one.
func batch(inputs [][]byte) int {
	size := 0
	for i, b := range inputs {
		if size += len(b); size > largestBatch && i > 0 {
			return i
		}
	}
	return len(inputs)
}

// enter counts a call, unless the pool is closed.
func (p *Pool) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.closed {
		return errClosed
	}
	p.calls.Add(1)
	return nil
}

// run does a job and gives an outcome for each unit, or, for a strict job, up to a failure. An error means that there are
// no outcomes: the context ended, the pool was closed, children can't be started, or the caller's end of a list function
// failed.
func (p *Pool) run(ctx context.Context, j *job) ([]outcome, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.calls.Done()
	leave, err := p.seat(ctx, j)
	if err != nil {
		return nil, err
	}
	defer leave()
	r := runner{pool: p, job: j, outcomes: make([]outcome, 0, j.units())}
	defer r.leave()
	for len(r.outcomes) < j.units() && !r.decided() {
		if err := r.step(ctx); err != nil {
			return nil, err
		}
		r.giveUp()
	}
	return r.outcomes, nil
}

// Hopeless is how many units in a row may meet a limit before the rest of a call
// is given the same failure without being tried: a function that hangs for every
// document would take its whole allowance for each.
const Hopeless = 5

// giveUp ends a job whose last units all met a limit.
func (r *runner) giveUp() {
	last := r.outcomes[max(0, len(r.outcomes)-Hopeless):]
	ended := func(o outcome) bool { return o.failure == nil || o.failure.limit == limitNone }
	if len(last) < Hopeless || slices.ContainsFunc(last, ended) {
		return
	}
	for len(r.outcomes) < r.job.units() {
		r.outcomes = append(r.outcomes, last[0])
	}
}

// runner is the way of one job through children: the one that works on it, and the outcomes so far.
//
// A child that meets a limit says at which unit. The unit may not be to blame: those before it had their share of the
// time. So the rest is tried again, and only what fails as the first of a try, with the whole allowance for itself, is
// given the failure. A child that dies without a word (a crash of the interpreter, a fatal lack of memory, or killed
// because it did not answer) does not say where; then the next one is asked to report after each unit.
type runner struct {
	pool     *Pool
	job      *job
	child    *process
	outcomes []outcome
	careful  bool
}

// decided tells whether what is left can't change the result.
func (r *runner) decided() bool {
	failed := func(o outcome) bool { return o.failure != nil }
	return r.job.strict && slices.ContainsFunc(r.outcomes, failed)
}

// leave gives the child back.
func (r *runner) leave() {
	if r.child != nil {
		r.pool.keep(r.child)
	}
}

// step has a child go on with the job once.
func (r *runner) step(ctx context.Context) (err error) {
	if r.child == nil {
		if r.child, err = r.pool.child(r.job.realm.name(r.job.flavour)); err != nil {
			return err
		}
	}
	done := len(r.outcomes)
	inputs := r.job.inputs[done/r.job.width:]
	inputs = inputs[:batch(inputs)]
	report, err := r.child.exchange(ctx, r.job, inputs, done%r.job.width, r.careful)
	r.outcomes = append(r.outcomes, report.outcomes...)
	r.log(report.logs)
	advanced := len(r.outcomes) > done
	if err == nil && advanced && (report.stopped == limitNone || report.stopped == limitBatch) {
		r.careful = false
		return nil
	}
	first := !advanced && (err == nil || r.careful)
	why := report.stopped
	if err != nil || why != limitTime { // it interrupts functions that take too long; after any other limit it has ended
		if why, err = r.bury(ctx, why, err); err != nil {
			return err
		}
		r.careful = report.stopped == limitNone
	}
	if first {
		r.outcomes = append(r.outcomes, outcome{failure: &failure{limit: why}})
		r.careful = false
	}
	return nil
}

// bury ends the child, and tells why it had to end or what error that is for the call.
func (r *runner) bury(ctx context.Context, why limit, err error) (limit, error) {
	c, text := r.child, ""
	r.child = nil
	if why == limitNone {
		why = c.died()
	}
	r.pool.drop(c)
	text = c.errors.String()
	switch {
	case ctx.Err() != nil:
		return why, ctx.Err()
	case r.pool.isClosed():
		return why, errClosed
	case err != nil && !errors.Is(err, errDied):
		return why, err // of the list's ends
	case r.job.list != nil && r.job.list.begun:
		return why, (&failure{limit: why}).err() // its output is out, so it can't begin again
	}
	r.pool.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a child for functions ended", slog.String("database", r.job.realm.Database),
		slog.String("design", r.job.realm.Design), slog.String("reason", (&failure{limit: why}).err().Reason), slog.String("output", text))
	return why, nil
}

// log passes on what functions logged.
func (r *runner) log(lines []string) {
	for _, line := range lines {
		r.pool.o.Logger.Info("log of a design function", "database", r.job.realm.Database, "design", r.job.realm.Design, "text", line)
	}
}

// one runs a job of one unit.
func (p *Pool) one(ctx context.Context, j *job) ([]byte, error) {
	j.width = 1
	outcomes, err := p.run(ctx, j)
	if err != nil {
		return nil, err
	}
	if f := outcomes[0].failure; f != nil {
		return nil, f.err()
	}
	return outcomes[0].data, nil
}

// Thrown is the cause of an error that a function raised with something else than a sentence as its reason, such as
// {forbidden: {…}}.
type Thrown struct {
	Reason []byte // JSON
}

// Error gives the JSON.
func (t *Thrown) Error() string { return string(t.Reason) }

// kinds are the codes that functions may raise and that have a kind of their own.
var kinds = map[string]dberr.Kind{
	"not_found":          dberr.NotFound,
	"forbidden":          dberr.Forbidden,
	"unauthorized":       dberr.Unauthorized,
	"not_acceptable":     dberr.NotAcceptable,
	"method_not_allowed": dberr.Method,
	"bad_request":        dberr.Invalid,
	"conflict":           dberr.Conflict,
}

// processError is CouchDB's word for a function that had to be stopped.
const processError = "os_process_error"

// limitErrors are the errors for limits that were met.
var limitErrors = map[limit]struct {
	kind   dberr.Kind
	reason string
}{
	limitTime:   {dberr.Timeout, "The function did not end in time."},
	limitMemory: {dberr.Internal, "The function used more memory than it may."},
	limitStack:  {dberr.Internal, "The function called itself too often."},
	limitOutput: {dberr.Internal, "The function gave back more than it may."},
	limitDeath:  {dberr.Internal, "The function ended its process."},
}

// err gives the failure as an error for the caller.
func (f *failure) err() *dberr.Error {
	if l, ok := limitErrors[f.limit]; ok {
		return dberr.New(l.kind, processError, l.reason)
	}
	e := &dberr.Error{Kind: kinds[f.code], Code: f.code, Reason: string(f.reason)}
	if text, ok := plain(f.reason); ok {
		e.Reason = text
	} else {
		e.Cause = &Thrown{f.reason}
	}
	return e
}

// Exceeded tells whether an error of a function is a limit that it met, rather than something that it threw.
func Exceeded(err error) bool {
	var e *dberr.Error
	return errors.As(err, &e) && e.Code == processError
}
