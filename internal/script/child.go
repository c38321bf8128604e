package script

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/packed"
)

// childArgument is what a child is started with.
const childArgument = "script-child"

// ServeIfChild is for the main function of a test binary: where that was started as a child of a Pool, it is one and does
// not return.
func ServeIfChild() {
	if len(os.Args) < 2 || os.Args[1] != childArgument {
		return
	}
	if err := Child(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Child is the whole life of a child: it takes jobs from in and answers on out until in ends, which it does when the server
// is gone. It changes its whole process (time zone, limits), so nothing else may run in it.
func Child(in io.Reader, out io.Writer) error {
	signal.Ignore(os.Interrupt) // meant for the server, which ends its children
	utc()
	c := &child{pipe: newPipe(in, out), realms: map[uint64]*realm{}, frames: make(chan frame)}
	if err := c.hello(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.read() }()
	for {
		select {
		case f := <-c.frames:
			if err := c.take(f); err != nil {
				return err
			}
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// utc puts the process into UTC. Dates in JavaScript follow the process's zone.
func utc() { time.Local = time.UTC }

// frame is one message from the pool.
type frame struct {
	kind byte
	body packed.Reader
}

// child is the state of a child.
type child struct {
	pipe   *pipe
	limits Limits
	realms map[uint64]*realm
	frames chan frame

	work struct {
		sync.Mutex
		running  bool // a job is under way, or about to be
		outcomes packed.Writer
		units    int // whose outcomes wait to be sent
		passed   int // that have ended, of the job
		clock    clock
	}
	logs []string
}

// hello takes the limits and lives by them.
func (c *child) hello() error {
	kind, body, err := c.pipe.read(largestFrame)
	if err != nil {
		return err
	}
	c.limits = Limits{Time: time.Duration(body.Uint()), Memory: int64(body.Uint()), Stack: int(body.Uint()), Output: int64(body.Uint())}
	overhead := int64(body.Uint())
	if kind != frameHello || body.Failed() {
		return errFrame
	}
	runtime.GOMAXPROCS(2) // one for the function, one for the watch and the collector
	debug.SetMemoryLimit(c.limits.Memory * 3 / 4)
	debug.SetGCPercent(400)
	debug.SetMaxStack(int(max(c.limits.Memory/2, 64<<20)))
	if err := confine(c.limits.Memory + overhead); err != nil {
		return err
	}
	return c.pipe.write(frameReady, nil)
}

// read hands frames to the main loop, also while a function runs. When the pool's end of the pipe closes, the process
// ends whatever it is doing.
func (c *child) read() error {
	for {
		kind, body, err := c.pipe.read(largestFrame)
		if err != nil {
			if c.busy() {
				os.Exit(0)
			}
			return err
		}
		if kind == frameJob {
			c.work.Lock()
			c.work.running = true // from now on nobody else looks whether the pipe is still open
			c.work.Unlock()
		}
		c.frames <- frame{kind, body}
	}
}

func (c *child) busy() bool {
	c.work.Lock()
	defer c.work.Unlock()
	return c.work.running
}

// take does what one frame asks for.
func (c *child) take(f frame) error {
	switch f.kind {
	case frameDrop:
		delete(c.realms, f.body.Uint())
		return nil
	case frameRealm:
		return c.addRealm(f.body)
	case frameJob:
		return c.run(f.body)
	}
	return errFrame
}

func (c *child) addRealm(b packed.Reader) error {
	number := b.Uint()
	r := &realm{child: c, flavour: flavourDesign}
	if b.Flag() {
		r.flavour = flavourMap
	}
	if b.Flag() {
		r.flavour = flavourReduce
	}
	r.document, r.functions, r.emits = b.Bytes(), b.Texts(), b.Text()
	if b.Failed() {
		return errFrame
	}
	c.realms[number] = r
	return nil
}

// task is a job as the child sees it.
type task struct {
	op        op
	careful   bool
	allowance time.Duration // of each unit
	function  []string
	index     int
	width     int
	first     int
	shared    [][]byte
	inputs    [][]byte
}

// run does the units of a job and reports.
func (c *child) run(b packed.Reader) error {
	r := c.realms[b.Uint()]
	t := task{op: op(b.Uint()), careful: b.Flag(), allowance: time.Duration(b.Uint()), function: b.Texts(), index: int(b.Uint()),
		width: int(b.Uint()), first: int(b.Uint()), shared: b.List(), inputs: b.List()}
	if b.Failed() || r == nil || t.width < 1 {
		return errFrame
	}
	c.begin(t.allowance)
	unwatch := c.watch(r)
	stopped, err := c.units(r, t)
	unwatch()
	r.settle(stopped)
	if err != nil {
		return err
	}
	if stopped == limitTime && c.stray() {
		stopped = limitBatch
	}
	return c.finish(stopped)
}

// begin resets the state for a job.
func (c *child) begin(allowance time.Duration) {
	c.work.Lock()
	defer c.work.Unlock()
	c.work.units, c.work.passed, c.work.outcomes = 0, 0, c.work.outcomes[:0]
	c.work.clock = newClock(allowance, c.limits.Time)
	c.logs = nil
}

// restart begins the clock of the unit at hand anew.
func (c *child) restart() {
	c.work.Lock()
	defer c.work.Unlock()
	c.work.clock.restart(c.work.passed)
}

// stray reports whether the interrupt was meant for a unit that ended at the same
// moment, and hit the next one, which did nothing wrong.
func (c *child) stray() bool {
	c.work.Lock()
	defer c.work.Unlock()
	return c.work.passed > 0 && c.work.clock.interrupted != c.work.passed
}

// finish reports the end of a job.
func (c *child) finish(stopped limit) error {
	c.work.Lock()
	defer c.work.Unlock()
	c.work.running = false
	err := c.pipe.write(frameDone, reportFields(c.work.units, c.work.outcomes, stopped, false, c.logs))
	if int64(cap(c.work.outcomes)) > c.limits.Output/4 {
		c.work.outcomes = nil
	}
	return err
}

// units runs the units of a task until one meets a limit of time or the answer is full.
func (c *child) units(r *realm, t task) (stopped limit, err error) {
	for u := t.first; u < len(t.inputs)*t.width; u++ {
		o, interrupted := r.unit(t, u)
		if interrupted {
			return limitTime, nil
		}
		if int64(len(o.data)) > c.limits.Output {
			o = outcome{failure: &failure{limit: limitOutput}}
		}
		full, err := c.done(o, t.careful)
		if err != nil {
			return limitNone, err
		}
		if full && u+1 < len(t.inputs)*t.width {
			return limitBatch, nil
		}
	}
	return limitNone, nil
}

// done keeps the outcome of a unit, or in careful tasks sends it at once. It reports whether that is enough for one answer.
func (c *child) done(o outcome, careful bool) (full bool, err error) {
	c.work.Lock()
	defer c.work.Unlock()
	o.append(&c.work.outcomes)
	c.work.units++
	c.work.passed++
	if careful {
		err = c.pipe.write(frameUnits, reportFields(1, c.work.outcomes, limitNone, false, nil))
		c.work.units, c.work.outcomes = 0, c.work.outcomes[:0]
	}
	return int64(len(c.work.outcomes)) > c.limits.Output || c.work.clock.old(), err
}

// watch interrupts the realm when a unit has used up its allowance. If it does not stop soon after, or holds too much memory, the
// watch reports what is done and ends the process. It returns the function that ends the watch.
func (c *child) watch(r *realm) (end func()) {
	const between = 3 * time.Millisecond
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		ticker := time.NewTicker(between)
		defer ticker.Stop()
		sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for {
			select {
			case <-done:
				return
			case now := <-ticker.C:
				metrics.Read(sample)
				if held := sample[0].Value.Uint64() - sample[1].Value.Uint64(); int64(held) > c.limits.Memory {
					c.stop(limitMemory)
				}
				if c.late(now, r) {
					c.stop(limitTime)
				}
			}
		}
	})
	return func() {
		close(done)
		wait.Wait()
	}
}

// late interrupts the realm if the unit at hand is late, and reports whether it is so
// late that interrupting did not help.
func (c *child) late(now time.Time, r *realm) bool {
	c.work.Lock()
	defer c.work.Unlock()
	late := c.work.clock.late(now, c.work.passed)
	if late > 0 {
		c.work.clock.interrupted = c.work.passed
		r.interrupt()
	}
	return late > grace(c.work.clock.allowance)
}

// stop reports what is done of the job and ends the process. The function goes on meanwhile, but its results are not taken.
func (c *child) stop(why limit) {
	c.work.Lock()
	_ = c.pipe.write(frameDone, reportFields(c.work.units, c.work.outcomes, why, true, nil)) // without it the pool knows no more than that the child died
	os.Exit(1)
}

// put sends what a list function has put out, and with wanting waits for rows. Meanwhile the clock stands still: how fast the
// output goes and the rows come is not the function's doing.
func (c *child) put(out packed.Writer, wanting bool) (rows [][]byte, err error) {
	kind := byte(frameOutput)
	if wanting {
		kind = frameWanting
	}
	began := time.Now()
	c.pause(began, true)
	defer func() { c.pause(began, false) }()
	if err := c.pipe.write(kind, out); err != nil || !wanting {
		return nil, err
	}
	f := <-c.frames
	rows = f.body.List()
	if f.kind != frameRows || f.body.Failed() {
		return nil, errFrame
	}
	return rows, nil
}

// pause stops the clock, or lets it go on.
func (c *child) pause(began time.Time, stop bool) {
	c.work.Lock()
	defer c.work.Unlock()
	c.work.clock.waiting = stop
	if !stop {
		c.work.clock.began = c.work.clock.began.Add(time.Since(began))
	}
}

// log keeps a line that a function logs, as long as there are not too many.
func (c *child) log(line string) {
	const most, longest = 100, 1000
	if len(c.logs) < most {
		c.logs = append(c.logs, line[:min(len(line), longest)])
	}
}
