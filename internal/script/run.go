package script

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// largestBatch bounds the inputs that go to a child at once.
const largestBatch = 4 << 20

// batch returns how many of the inputs go in the next message: at least one.
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

// run does a job and returns an outcome for each unit, or, for a strict job, up to a failure. hopeless says that so many
// units had to be stopped that the rest was given the same failure. An error means that there are
// no outcomes: the context ended, the pool was closed, children can't be started, or the caller's end of a list function
// failed.
func (p *Pool) run(ctx context.Context, j *job) (outcomes []outcome, hopeless bool, err error) {
	if err := p.enter(); err != nil {
		return nil, false, err
	}
	defer p.calls.Done()
	leave, err := p.slot(ctx, j)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	r := runner{pool: p, job: j, outcomes: make([]outcome, 0, j.units())}
	defer r.leave()
	for len(r.outcomes) < j.units() && !r.decided() {
		if err := r.step(ctx); err != nil {
			return nil, false, err
		}
		if r.stopped >= j.stoppedCount() {
			r.giveUp()
			return r.outcomes, true, nil
		}
	}
	return r.outcomes, false, r.judge(ctx)
}

// MaxStopped is how many units of a call may have to be stopped (for their time, memory, or because the process died) before
// the function is given up: one that hangs for every document would take its allowance for each.
const MaxStopped = 5

// giveUp ends a job whose function is given up.
func (r *runner) giveUp() {
	last := r.outcomes[len(r.outcomes)-1]
	for len(r.outcomes) < r.job.units() {
		r.outcomes = append(r.outcomes, last)
	}
}

// runner is the way of one job through children: the one that works on it, and the outcomes so far.
//
// Each unit has the whole allowance of time to itself, so a child that stops for time says which one is guilty. Memory is
// shared: what is held at the limit may be of units before. So the rest is tried again, and only what fails as the first of a
// try is given the failure. A child that dies without a word (a crash of the interpreter, a fatal lack of memory, or killed
// because it did not answer) does not say where; then the next one is asked to report after each unit.
//
// In a job of which so many units may fail that it is given up, the units get the greater part of the allowance, and a short one
// after the first that had to be stopped: a function that hangs for every document is given up within one whole allowance. What
// less than that stopped is only suspected, and is judged by the whole allowance when the others are done, so that no document's
// outcome depends on which ones it came with.
type runner struct {
	pool     *Pool
	job      *job
	child    *process
	outcomes []outcome
	stopped  int   // units that had to be stopped, suspects included
	suspects []int // units that less than the whole allowance stopped
	careful  bool
	only     bool // the next unit is the only one
}

// allowance is what the units that come next may take.
func (r *runner) allowance() time.Duration {
	switch {
	case r.only:
		return r.pool.o.Limits.Time
	case r.stopped > 0:
		return r.pool.o.Limits.short()
	case r.job.units() >= r.job.stoppedCount() && r.job.stoppedCount() > 1:
		return r.pool.o.Limits.first()
	}
	return r.pool.o.Limits.Time
}

// stop returns the next unit the failure that it had to be stopped.
func (r *runner) stop(why limit) {
	if r.allowance() < r.pool.o.Limits.Time && why == limitTime {
		r.suspects = append(r.suspects, len(r.outcomes))
	}
	r.stopped++
	r.outcomes = append(r.outcomes, outcome{failure: &failure{limit: why}})
	r.careful = false
}

// judge tries the suspects again, each by itself with the whole allowance.
func (r *runner) judge(ctx context.Context) error {
	for _, u := range r.suspects {
		again := runner{pool: r.pool, job: r.job, child: r.child, only: true, outcomes: r.outcomes[:u:u]}
		for len(again.outcomes) == u {
			if err := again.step(ctx); err != nil {
				return err
			}
		}
		r.outcomes[u], r.child = again.outcomes[u], again.child
	}
	return nil
}

// decided reports whether what is left can't change the result.
func (r *runner) decided() bool {
	failed := func(o outcome) bool { return o.failure != nil }
	return r.job.strict && slices.ContainsFunc(r.outcomes, failed)
}

// leave returns the child back.
func (r *runner) leave() {
	if r.child != nil {
		r.pool.keep(r.child)
	}
}

// step has a child go on with the job once.
func (r *runner) step(ctx context.Context) (err error) {
	if r.child == nil {
		if r.child, err = r.pool.child(r.job.realm.name(r.job.flavour), dutyOf(r.job)); err != nil {
			return err
		}
	}
	done := len(r.outcomes)
	do := part{inputs: r.job.inputs[done/r.job.width:], first: done % r.job.width, careful: r.careful, allowance: r.allowance()}
	do.inputs = do.inputs[:batch(do.inputs)]
	if r.only {
		do.inputs = do.inputs[:1]
	}
	r.pool.attempted(do.allowance)
	report, err := r.child.exchange(ctx, r.job, do)
	r.outcomes = append(r.outcomes, report.outcomes...)
	r.log(report.logs)
	advanced := len(r.outcomes) > done
	if err == nil && advanced && (report.stopped == limitNone || report.stopped == limitBatch) {
		r.careful = false
		return nil
	}
	guilty := err == nil && (report.stopped == limitTime || !advanced) || r.careful && !advanced
	why := report.stopped
	if err != nil || report.ended {
		if why, err = r.end(ctx, why, err); err != nil {
			return err
		}
		r.careful = report.stopped == limitNone
	}
	if guilty {
		r.stop(why)
	}
	return nil
}

// end ends the child, and returns why it had to end or what error that is for the call.
func (r *runner) end(ctx context.Context, why limit, err error) (limit, error) {
	c := r.child
	r.child = nil
	if why == limitNone {
		why = c.died()
	}
	panicked := r.pool.drop(c)
	switch {
	case ctx.Err() != nil:
		return why, ctx.Err()
	case r.pool.isClosed():
		return why, errClosed
	case err != nil && !errors.Is(err, errDied):
		return why, err // of the list's ends
	case r.job.list != nil && r.job.list.sideEffects:
		return why, (&failure{limit: why}).err() // its output is out, so it can't begin again
	case panicked:
		return why, nil // it is logged
	}
	r.pool.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a child for functions ended", slog.String("database", r.job.realm.named().Database),
		slog.String("design", r.job.realm.named().Design), slog.String("reason", (&failure{limit: why}).err().Reason), slog.String("output", c.errors.String()))
	return why, nil
}

// log passes on what functions logged.
func (r *runner) log(lines []string) {
	names := r.job.realm.named()
	for _, line := range lines {
		r.pool.o.Logger.Info("log of a design function", "database", names.Database, "design", names.Design, "text", line)
	}
}

// one runs a job of one unit.
func (p *Pool) one(ctx context.Context, j *job) ([]byte, error) {
	j.width = 1
	outcomes, _, err := p.run(ctx, j)
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

// Error returns the JSON.
func (t *Thrown) Error() string { return string(t.Reason) }

// kinds are the codes that functions may raise and that have a kind of their own.
var kinds = map[string]dberr.Kind{
	"not_found":          dberr.NotFound,
	"forbidden":          dberr.Forbidden,
	"unauthorized":       dberr.Unauthorized,
	"not_acceptable":     dberr.Invalid,
	"method_not_allowed": dberr.Invalid,
	"bad_request":        dberr.Invalid,
	"conflict":           dberr.Conflict,
}

// processError is CouchDB's word for a function that had to be stopped.
const processError = "os_process_error"

// limitErrors are the errors for limits that were met.
var limitErrors = map[limit]*dberr.Error{
	limitTime:   dberr.New(dberr.Timeout, processError, "The function did not end in time."),
	limitMemory: dberr.New(dberr.Internal, processError, "The function used more memory than it may."),
	limitStack:  dberr.New(dberr.Internal, processError, "The function called itself too often."),
	limitOutput: dberr.New(dberr.Internal, processError, "The function gave back more than it may."),
	limitDeath:  dberr.New(dberr.Internal, processError, "The function ended its process."),
}

// err returns the failure as an error for the caller.
func (f *failure) err() *dberr.Error {
	if e, ok := limitErrors[f.limit]; ok {
		return e
	}
	e := &dberr.Error{Kind: kinds[f.code], Code: f.code, Reason: string(f.reason)}
	if text, ok := plain(f.reason); ok {
		e.Reason = text
	} else {
		e.Cause = &Thrown{f.reason}
	}
	return e
}

// Stopped reports whether an error of a function says that it had to be stopped: for its time, its memory, or because its
// process died. What it threw, or a limit that it met at once, is none of these.
func Stopped(err error) bool {
	for l, e := range limitErrors {
		if l.stops() && errors.Is(err, e) {
			return true
		}
	}
	return false
}
