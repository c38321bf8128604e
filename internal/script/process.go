package script

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/packed"
)

// startTime is how long a child may take to come up.
const startTime = 20 * time.Second

// maxRealms is how many realms a child keeps before it forgets the one unused for longest.
const maxRealms = 16

// process is a child as the pool sees it. One call at a time uses it.
type process struct {
	limits Limits
	max    int64 // resident bytes at which it is killed
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	pipe   *pipe
	errors *head
	realms []pooledRealm // by time of use, the latest last
	last   uint64        // number of the newest realm
	ran    Named         // whose functions it ran last
	idle   time.Time
	killed atomic.Int32 // the limit for which it was killed
	duty   duty         // what it is kept for
	behind atomic.Bool  // others get the processor first
}

// pooledRealm is a realm that the child holds.
type pooledRealm struct {
	name   string
	number uint64
}

// errDied says that a child is gone.
var errDied = errors.New("script: the child died")

// duty is what a child is kept for. Children of different duties are not mixed:
// they differ in how much of the processor they get.
type duty byte

const (
	calling         duty = iota // whatever somebody waits for
	building                    // indexes
	buildingTenants             // indexes of tenants
)

// dutyOf returns the duty of the child that does a job.
func dutyOf(j *job) duty {
	switch {
	case j.op != opMap:
		return calling
	case j.realm.Tenant:
		return buildingTenants
	}
	return building
}

// behind returns how much higher the nice value is of a child that gives way.
func (d duty) behind() int {
	if d == buildingTenants {
		return behindBuilds
	}
	return behindOthers
}

// start starts a child. One that builds indexes gives way to others from the beginning.
func start(o Options, d duty) (*process, error) {
	cmd := exec.Command(o.Command[0], o.Command[1:]...)
	cmd.Env = []string{"TZ=UTC"}
	p := &process{limits: o.Limits, max: o.Limits.Memory + o.Overhead, cmd: cmd, errors: &head{}, duty: d}
	ownGroup(cmd)
	cmd.Stderr = p.errors
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.stdin, p.pipe = stdin, newPipe(stdout, stdin)
	timer := time.AfterFunc(startTime, func() { p.kill(limitTime) })
	defer timer.Stop()
	var f packed.Writer
	f.Uint(uint64(o.Limits.Time))
	f.Uint(uint64(o.Limits.Memory))
	f.Uint(uint64(o.Limits.Stack))
	f.Uint(uint64(o.Limits.Output))
	f.Uint(uint64(o.Overhead))
	if err := p.pipe.write(frameHello, f); err != nil {
		p.end()
		return nil, err
	}
	if kind, _, err := p.pipe.read(largestFrame); err != nil || kind != frameReady {
		p.end()
		return nil, errors.Join(errDied, err, errors.New(p.errors.String()))
	}
	if d != calling {
		p.giveWay()
	}
	return p, nil
}

// longCall is how long a call may take, before others get the processor first.
const longCall = 250 * time.Millisecond

// giveWay lets everything else have the processor first: a function that hangs
// takes what is left. There is no way back for a process without rights.
func (p *process) giveWay() {
	if !p.behind.Swap(true) {
		lower(p.cmd.Process.Pid, p.duty.behind())
	}
}

// spent reports whether the child gives way to others, and so of no use for calls that
// somebody waits for.
func (p *process) spent() bool { return p.behind.Load() && p.duty == calling }

// kill ends the child at once. The first reason counts.
func (p *process) kill(why limit) {
	p.killed.CompareAndSwap(int32(limitNone), int32(why))
	_ = p.cmd.Process.Kill() // it may have ended already
}

// end kills the child and waits until it is gone.
func (p *process) end() {
	p.kill(limitDeath)
	_ = p.stdin.Close() // a dead child's pipe
	_ = p.cmd.Wait()    // its status says nothing: it was killed
}

// panicked reports whether a fault of its program ended the child, which has to be gone.
func (p *process) panicked() bool { return saysPanic(p.errors.String()) }

// saysPanic reports whether the last words of a child are those of a panic, or of an error that is fatal to Go's runtime. That
// its stack or its memory are exhausted does not count: a function does that to its child whenever it wants, and is refused for it.
func saysPanic(text string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "panic: ") {
			return true
		}
		if why, fatal := strings.CutPrefix(line, "fatal error: "); fatal {
			return !strings.Contains(why, "stack overflow") && !strings.Contains(why, "out of memory") && !strings.Contains(why, "cannot allocate memory")
		}
	}
	return false
}

// died reports why the child is gone, as far as it is known.
func (p *process) died() limit {
	if why := limit(p.killed.Load()); why != limitNone {
		return why
	}
	return limitDeath
}

// holds reports whether the child has the realm.
func (p *process) holds(name string) bool {
	for _, k := range p.realms {
		if k.name == name {
			return true
		}
	}
	return false
}

// load makes sure that the child has the job's realm, and returns its number.
func (p *process) load(j *job) (uint64, error) {
	name := j.realm.name(j.flavour)
	for i, k := range p.realms {
		if k.name == name {
			p.realms = append(append(p.realms[:i], p.realms[i+1:]...), k)
			return k.number, nil
		}
	}
	if len(p.realms) == maxRealms {
		var f packed.Writer
		f.Uint(p.realms[0].number)
		if err := p.pipe.write(frameDrop, f); err != nil {
			return 0, errors.Join(errDied, err)
		}
		p.realms = append(p.realms[:0], p.realms[1:]...)
	}
	p.last++
	p.realms = append(p.realms, pooledRealm{name, p.last})
	var f packed.Writer
	f.Uint(p.last)
	f.Flag(j.flavour == flavourMap)
	f.Flag(j.flavour == flavourReduce)
	f.Bytes(j.realm.Document)
	f.Texts(j.realm.Functions)
	f.Text(j.realm.Emits)
	if err := p.pipe.write(frameRealm, f); err != nil {
		return 0, errors.Join(errDied, err)
	}
	return p.last, nil
}

// part is what a child is asked to do of a job: the units from first on, in inputs, with an allowance for each. With
// careful, it reports after every unit, so that what a dying child had done is known.
type part struct {
	inputs    [][]byte
	first     int
	careful   bool
	allowance time.Duration
}

// exchange has the child do a part of a job and returns what it reports. An error is errDied, the context's, or one of
// the list's ends.
func (p *process) exchange(ctx context.Context, j *job, do part) (report, error) {
	stop := context.AfterFunc(ctx, func() { p.kill(limitDeath) })
	defer stop()
	timer := time.AfterFunc(p.limits.timeout(), func() { p.kill(limitTime) })
	defer timer.Stop()
	long := time.AfterFunc(longCall, p.giveWay)
	defer long.Stop()
	defer p.watch()()
	p.ran = j.realm.named()

	number, err := p.load(j)
	if err != nil {
		return report{}, err
	}
	size := 256
	for _, b := range do.inputs {
		size += len(b) + 5
	}
	f := make(packed.Writer, 0, size)
	f.Uint(number)
	f.Uint(uint64(j.op))
	f.Flag(do.careful)
	f.Uint(uint64(do.allowance))
	f.Texts(j.function)
	f.Uint(uint64(j.index))
	f.Uint(uint64(j.width))
	f.Uint(uint64(do.first))
	f.List(j.shared)
	f.List(do.inputs)
	if err := p.pipe.write(frameJob, f); err != nil {
		return report{}, errors.Join(errDied, err)
	}
	var done report
	for {
		kind, body, err := p.pipe.read(2*p.limits.Output + 1<<20)
		if err != nil {
			return done, errors.Join(errDied, err)
		}
		if kind == frameWanting || kind == frameOutput {
			// Reading rows and sending output is the caller's time, not the function's.
			timer.Stop()
			if err := p.feed(j.list, body, kind == frameWanting); err != nil {
				return done, err
			}
			timer.Reset(p.limits.timeout())
			continue
		}
		part, err := decodeReport(body)
		if err != nil || kind != frameUnits && kind != frameDone {
			return done, errors.Join(errDied, err)
		}
		done.outcomes = append(done.outcomes, part.outcomes...)
		done.logs = append(done.logs, part.logs...)
		done.stopped, done.ended = part.stopped, part.ended
		if kind == frameDone {
			return done, nil
		}
	}
}

// watch looks at the child's resident size while it works, and kills it when it is too large. The child looks at itself
// too, more precisely; this is for the case that it can't. It returns the function that ends the watch and waits for that.
func (p *process) watch() (end func()) {
	const between = 10 * time.Millisecond
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		ticker := time.NewTicker(between)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if resident(p.cmd.Process.Pid) > p.max {
					p.kill(limitMemory)
				}
			}
		}
	})
	return func() {
		close(done)
		wait.Wait()
	}
}

// head keeps the beginning of what a child writes to its error stream: the reason of a crash, for the log.
type head struct {
	mu sync.Mutex
	b  []byte
}

// Write keeps the first bytes.
func (h *head) Write(b []byte) (int, error) {
	const most = 1024
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.b) < most {
		h.b = append(h.b, b[:min(len(b), most-len(h.b))]...)
	}
	return len(b), nil
}

// String returns what was kept.
func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.b)
}
