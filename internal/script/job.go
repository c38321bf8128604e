package script

import (
	"cmp"

	"github.com/sectional/sectional/internal/packed"
)

// Realm names one JavaScript world and carries the code in it.
type Realm struct {
	Database  string   // whose documents it sees: a name that is never used again
	Tenant    bool     // Database is a partition that its tenant takes for one
	Design    string   // the design document's id
	Version   string   // a revision or signature: the same for the same Document and Functions, and for no others
	Document  []byte   // the design document as JSON: what require reads, and `this` of functions other than map and reduce
	Named     Named    // for the log
	Functions []string // the sources of the map functions for Map and ViewFilter, of the reduce functions for Reduce and Rereduce
	Emits     string   // the function by which map functions give rows; "": emit
}

// Named is what people call a realm's database and design document.
type Named struct{ Database, Design string }

// named returns the names by which the log calls the realm.
func (r Realm) named() Named {
	return Named{cmp.Or(r.Named.Database, r.Database), cmp.Or(r.Named.Design, r.Design)}
}

// flavour says what a realm holds: a design document's map functions live in another one than its filters.
type flavour byte

const (
	flavourMap    flavour = iota // Functions are maps; require sees views.lib; clock and randomness are fixed
	flavourReduce                // Functions are reduces; no require; clock and randomness are fixed
	flavourDesign                // functions are looked up in Document; require sees all of it
)

// name tells a realm from every other one.
func (r Realm) name(f flavour) string {
	return string('0'+f) + r.Emits + "\x00" + r.Database + "\x00" + r.Design + "\x00" + r.Version
}

// op is what to do with each unit of a job.
type op byte

const (
	opMap op = iota
	opViewFilter
	opReduce
	opRereduce
	opFilter
	opValidate
	opUpdate
	opShow
	opList
	opRewrite
	opCheck
)

// job is work for one realm. Its units are its inputs, or, for maps, each input once for each function.
type job struct {
	op       op
	flavour  flavour
	realm    Realm
	function []string // the way to the function in the design document, or the sources for opCheck
	index    int      // which of Functions reduces
	width    int      // units of one input
	inputs   [][]byte
	shared   [][]byte // arguments that are the same for every unit
	list     *List    // where rows come from and output goes, for opList
	strict   bool     // the first failure is that of the whole job: nothing is asked after it
}

func (j *job) units() int { return len(j.inputs) * j.width }

// stoppedCount is how many of the job's units may have to be stopped before the rest is
// given the same failure without being tried. Whoever writes documents that a
// validator hangs for waits for one of them only: nothing was stored, and the
// others can be written without it.
func (j *job) stoppedCount() int {
	if j.op == opValidate {
		return 1
	}
	return MaxStopped
}

// limit is a limit that was met.
type limit byte

const (
	limitNone limit = iota
	limitTime
	limitMemory
	limitStack
	limitOutput
	limitDeath // the child ended, and nobody knows why
	limitBatch // no failure: the answer is large enough to be sent before more is done
)

// stops reports whether a limit ends the child's work. The others are met by the
// function alone, at once, and count like something that it threw.
func (l limit) stops() bool { return l == limitTime || l == limitMemory || l == limitDeath }

// failure is how a unit failed: it met a limit, or threw.
type failure struct {
	limit  limit
	code   string
	reason []byte // a JSON value: a string, or whatever else was thrown
}

// outcome is what a unit gave.
type outcome struct {
	data    []byte
	failure *failure
}

func (o outcome) append(f *packed.Writer) {
	f.Flag(o.failure != nil)
	if o.failure == nil {
		f.Bytes(o.data)
		return
	}
	f.Uint(uint64(o.failure.limit))
	f.Text(o.failure.code)
	f.Bytes(o.failure.reason)
}

func decodeOutcome(c *packed.Reader) outcome {
	if !c.Flag() {
		return outcome{data: c.Bytes()}
	}
	return outcome{failure: &failure{limit(c.Uint()), c.Text(), c.Bytes()}}
}

// report is what a child says of a job, or of a part of it.
type report struct {
	outcomes []outcome
	stopped  limit // why it did not do the rest
	ended    bool  // the child has ended itself
	logs     []string
}

// reportFields writes a report whose outcomes are written already.
func reportFields(units int, outcomes packed.Writer, stopped limit, ended bool, logs []string) packed.Writer {
	f := make(packed.Writer, 0, len(outcomes)+64)
	f.Uint(uint64(stopped))
	f.Flag(ended)
	f.Texts(logs)
	f.Uint(uint64(units))
	return append(f, outcomes...)
}

func decodeReport(c packed.Reader) (report, error) {
	r := report{stopped: limit(c.Uint()), ended: c.Flag(), logs: c.Texts()}
	n := c.Uint()
	if n > uint64(len(c.Rest())) {
		return r, errFrame
	}
	r.outcomes = make([]outcome, 0, n)
	for ; n > 0; n-- {
		r.outcomes = append(r.outcomes, decodeOutcome(&c))
	}
	if c.Failed() {
		return r, errFrame
	}
	return r, nil
}
