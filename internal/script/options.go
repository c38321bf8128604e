package script

import (
	"log/slog"
	"os"
	"runtime"
	"time"
)

// Limits bounds one call into JavaScript. The zero value of a member means its default.
type Limits struct {
	Time   time.Duration // of the processor, for each unit; 5 s
	Memory int64         // what a child may hold while it works; 256 MiB
	Stack  int           // calls within calls; 10,000
	Output int64         // what one unit may give back; 16 MiB
}

func (l Limits) withDefaults() Limits {
	if l.Time <= 0 {
		l.Time = 5 * time.Second
	}
	if l.Memory <= 0 {
		l.Memory = 256 << 20
	}
	if l.Stack <= 0 {
		l.Stack = 10_000
	}
	if l.Output <= 0 {
		l.Output = 16 << 20
	}
	return l
}

// grace is how long after its allowance a child has to stop by itself: to leave native code it can't, so it ends then.
func grace(allowance time.Duration) time.Duration { return 50*time.Millisecond + allowance/20 }

// timeout is how long the pool waits for a word of the child before it kills it: the child reports what is done after half the
// limit, and a unit may begin just before that.
func (l Limits) timeout() time.Duration {
	return maxStarved*l.Time + l.Time/2 + 2*grace(maxStarved*l.Time) + 200*time.Millisecond
}

// first is what a unit is allowed where others can be asked before it gets the rest: with what the others then take, and what it
// takes to stop them all, a function that hangs for each is given up within the whole.
func (l Limits) first() time.Duration { return l.Time * 3 / 5 }

// short is what a unit is allowed after another one of its job had to be stopped: enough to compile it again.
func (l Limits) short() time.Duration { return min(max(l.Time/20, 50*time.Millisecond), l.Time) }

// Options says how a Pool works. The zero value works for a binary that runs Child when its first argument is "script-child".
type Options struct {
	Limits   Limits
	Overhead int64         // what a child's program takes besides what its functions hold; 64 MiB
	Children int           // how many build indexes at once, and how many do anything else; GOMAXPROCS. A call that has waited for Overflow gets one more, up to eight times as many, see package slots
	Overflow time.Duration // 200 ms
	Idle     time.Duration // an unused child ends after this; 1 min
	Command  []string      // how to start a child; the running binary with "script-child"
	Logger   *slog.Logger  // what functions log, and how children died; nothing is logged without
}

func (o Options) withDefaults() (Options, error) {
	o.Limits = o.Limits.withDefaults()
	if o.Overhead <= 0 {
		o.Overhead = 64 << 20
	}
	if o.Children <= 0 {
		o.Children = runtime.GOMAXPROCS(0)
	}
	if o.Overflow <= 0 {
		o.Overflow = 200 * time.Millisecond
	}
	if o.Idle <= 0 {
		o.Idle = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if len(o.Command) == 0 {
		path, err := os.Executable()
		if err != nil {
			return o, err
		}
		o.Command = []string{path, childArgument}
	}
	return o, nil
}
