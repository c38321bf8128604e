package jobs

import (
	"errors"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// ID names a job: there is one of a kind for a subject of a database. A kind may be of
// a pool: "pool/kind". The jobs of a pool have an order and workers of their own, so
// that however many there are, and however long they take, those of others do not wait.
type ID struct {
	Kind    string
	Number  uint64 // of the database, 0 for the whole store
	Subject string // a part of the database; "" for the whole
}

// Job is a row of the queue. Times are kept to the millisecond.
type Job struct {
	ID
	Database string    // its name; "" for the whole store, and where it does not matter
	Due      time.Time // when it is to be worked on
	Earliest time.Time // Ensure never makes it due before
	Began    time.Time // when it was put into the queue
	Done     uint64    // what was handled so far, for people
	// Checkpoint says where to go on, in words of the job's kind.
	Checkpoint string

	holder uint64 // who works on it
	until  time.Time
	serial uint64    // of its states: each batch adds one
	due    time.Time // as it is in the row
}

const (
	rowVersion = 1
	dueVersion = 1
)

// Errors of Lock: the job is done, or somebody has gone on with it.
var (
	ErrGone  = dberr.New(dberr.NotFound, "", "jobs: the job is done")
	ErrMoved = dberr.New(dberr.Conflict, "", "jobs: somebody else has gone on with the job")
)

// ErrElsewhere says that another process is at a job.
var ErrElsewhere = dberr.New(dberr.Conflict, "", "jobs: another process is at it")

// Key is the key of the job's row.
func (id ID) Key() []byte {
	return keyspace.Job.Key(0, keyspace.T(id.Kind), keyspace.U(id.Number), keyspace.T(id.Subject))
}

// Pool is the pool of the job's kind, "" for those without.
func (id ID) Pool() string { return poolOf(id.Kind) }

func poolOf(kind string) string {
	pool, _, ok := strings.Cut(kind, "/")
	if !ok {
		return ""
	}
	return pool
}

func (id ID) dueKey(due time.Time) []byte {
	return keyspace.JobDue.Key(0, keyspace.T(id.Pool()), keyspace.U(millis(due)), keyspace.T(id.Kind), keyspace.U(id.Number), keyspace.T(id.Subject))
}

// millis is a time in a row; times before 1970 are 1970, and the zero time is 0.
func millis(t time.Time) uint64 { return uint64(max(0, t.UnixMilli())) }

func decodeID(parts []keyspace.Part) ID {
	return ID{Kind: parts[0].String(), Number: parts[1].Num(), Subject: parts[2].String()}
}

func (j *Job) encode() []byte {
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Text(j.Database)
	for _, t := range []time.Time{j.Due, j.Earliest, j.Began, j.until} {
		p.Uint(millis(t))
	}
	for _, n := range []uint64{j.holder, j.serial, j.Done} {
		p.Uint(n)
	}
	p.Text(j.Checkpoint)
	return p
}

// Decode reads a row of the queue.
func Decode(key, value []byte) (j Job, err error) {
	_, parts, err := keyspace.Job.Decode(key)
	if err != nil {
		return j, err
	}
	j.ID = decodeID(parts)
	u := packed.ReadVersion(value, rowVersion)
	j.Database = u.Text()
	for _, t := range []*time.Time{&j.Due, &j.Earliest, &j.Began, &j.until} {
		*t = time.UnixMilli(int64(u.Uint()))
	}
	for _, n := range []*uint64{&j.holder, &j.serial, &j.Done} {
		*n = u.Uint()
	}
	j.Checkpoint = u.Text()
	j.due = j.Due
	return j, u.Done()
}

// Get reads a job; ErrGone when there is none.
func Get(v kv.Snapshot, id ID) (Job, error) { return decode(id, v.Get) }

func decode(id ID, get func(key []byte) ([]byte, error)) (Job, error) {
	value, err := get(id.Key())
	if errors.Is(err, kv.ErrNotFound) {
		return Job{}, ErrGone
	}
	if err != nil {
		return Job{}, err
	}
	return Decode(id.Key(), value)
}

// Each calls fn with the jobs of a kind: all of them, or those of the databases
// with the numbers.
func Each(v kv.Snapshot, kind string, fn func(Job) error, numbers ...uint64) error {
	parts := []keyspace.Part{keyspace.T(kind)}
	for _, n := range numbers {
		parts = append(parts, keyspace.U(n))
	}
	return kv.Each(v, kv.Prefix(keyspace.Job.Key(0, parts...)), func(key, value []byte) error {
		j, err := Decode(key, value)
		if err != nil {
			return err
		}
		return fn(j)
	})
}
