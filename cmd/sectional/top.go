package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/sectional/sectional/internal/operate"
	"github.com/sectional/sectional/internal/progress"
)

type top struct {
	Every time.Duration `help:"Refresh interval." default:"2s" placeholder:"TIME"`
	Once  bool          `help:"Print the counts since the server's start once, and exit."`
	Rows  int           `help:"Maximum number of databases and partitions shown." default:"10" placeholder:"N"`
	asked
	machine
}

// Validate looks at what the values say.
func (k *top) Validate() error {
	if k.Every < 100*time.Millisecond || k.Rows < 1 || k.Rows > 100 {
		return errors.New("--every must be at least 100ms, --rows between 1 and 100")
	}
	return nil
}

// Run looks at a server until the process is told to end.
func (k *top) Run(c *console) error {
	return k.do(func(ctx context.Context, s *operate.Server) error {
		before := look{}
		for {
			now, err := k.look(ctx, s)
			if err == nil {
				err = k.show(c, now.since(before, k.Rows))
			}
			if err != nil && ctx.Err() == nil || k.Once {
				return err
			}
			before = now
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(k.Every):
			}
		}
	})
}

// look is what a server says at one moment.
type look struct {
	numbers    operate.Numbers
	databases  []operate.Database
	partitions []operate.Partition
	tasks      []operate.Task
}

// activeDatabases is how many databases are asked for their partitions.
const activeDatabases = 3

func (k *top) look(ctx context.Context, s *operate.Server) (l look, err error) {
	if l.numbers, err = s.Numbers(ctx); err != nil {
		return l, err
	}
	if l.databases, err = s.Databases(ctx); err != nil {
		return l, err
	}
	if l.tasks, err = s.Tasks(ctx); err != nil {
		return l, err
	}
	asked := slices.DeleteFunc(slices.Clone(l.databases), func(d operate.Database) bool { return !d.Partition })
	slices.SortStableFunc(asked, func(a, b operate.Database) int { return cmp.Compare(b.Updates, a.Updates) })
	for _, d := range asked[:min(len(asked), activeDatabases)] {
		hottest, err := s.Partitions(ctx, d.Name, operate.ByWrites, k.Rows)
		if err != nil {
			return l, err
		}
		l.partitions = append(l.partitions, hottest...)
	}
	return l, nil
}

// activity is what happened between two looks; of the first one, since the server's start.
type activity struct {
	Version    string                 `json:"version"`
	Uptime     float64                `json:"uptime_seconds"`
	Seconds    float64                `json:"seconds"` // that it is about
	Memory     float64                `json:"resident_bytes"`
	Feeds      float64                `json:"feeds_open"`
	Requests   map[string]activeClass `json:"requests"`
	Databases  []activeDatabase       `json:"databases"`
	Partitions []operate.Partition    `json:"partitions"`
	Tasks      []operate.Task         `json:"tasks"`
}

type activeClass struct {
	PerSecond float64 `json:"per_second"`
	operate.Class
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

type activeDatabase struct {
	operate.Database
	PerSecond float64 `json:"updates_per_second"`
}

// since makes of two looks what happened between them: the databases and partitions with most writes come first.
func (l look) since(before look, most int) activity {
	n := l.numbers.Since(before.numbers)
	a := activity{Version: n.Version, Uptime: l.numbers.Uptime.Seconds(), Seconds: n.Uptime.Seconds(), Memory: n.Memory, Feeds: n.Feeds, Requests: map[string]activeClass{}, Tasks: l.tasks}
	perSecond := func(count float64) float64 {
		if n.Uptime <= 0 {
			return 0
		}
		return count / n.Uptime.Seconds()
	}
	for name, c := range n.Classes {
		a.Requests[name] = activeClass{perSecond(c.Answered), c, 1000 * c.Quantile(0.5), 1000 * c.Quantile(0.99)}
	}
	updates := map[string]int64{}
	for _, d := range before.databases {
		updates[d.Name] = d.Updates
	}
	for _, d := range l.databases {
		a.Databases = append(a.Databases, activeDatabase{d, perSecond(float64(max(0, d.Updates-updates[d.Name])))})
	}
	slices.SortStableFunc(a.Databases, func(x, y activeDatabase) int {
		return cmp.Or(cmp.Compare(y.PerSecond, x.PerSecond), cmp.Compare(y.External, x.External))
	})
	a.Databases = a.Databases[:min(most, len(a.Databases))]
	a.Partitions = slices.Clone(l.partitions)
	slices.SortStableFunc(a.Partitions, func(x, y operate.Partition) int { return cmp.Compare(y.WritesPerHour, x.WritesPerHour) })
	a.Partitions = a.Partitions[:min(most, len(a.Partitions))]
	return a
}

// clear empties a terminal and goes to its beginning.
const clear = "\x1b[H\x1b[2J"

// show writes what happened: on a terminal over what was there, elsewhere below it.
func (k *top) show(c *console, a activity) error {
	if k.JSON {
		return k.print(c, a, nil)
	}
	var b bytes.Buffer
	if !k.Once && isTerminal(c.out) {
		b.WriteString(clear)
	}
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	active(w, a)
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := c.out.Write(b.Bytes()) // at once, so that nothing flickers
	return err
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// active writes it for people.
func active(w io.Writer, a activity) {
	progress.Fprintf(w, "Sectional %s, up for %s, %s of memory, %.0f feeds open\n", a.Version, time.Duration(a.Uptime)*time.Second, progress.Size(int64(a.Memory)), a.Feeds)
	fmt.Fprint(w, "\nREQUESTS\tPER SECOND\tANSWERED\tREFUSED\tFAILED\tP50\tP99\n")
	classes := map[string]operate.Class{}
	for name, c := range a.Requests {
		classes[name] = c.Class
	}
	for _, name := range sorted(classes) {
		c := a.Requests[name]
		progress.Fprintf(w, "%s\t%.1f\t%.0f\t%.0f\t%.0f\t%.1f ms\t%.1f ms\n", name, c.PerSecond, c.Answered, c.Refused, c.Failed, c.P50, c.P99)
	}
	fmt.Fprint(w, "\nDATABASE\tUPDATES/S\tDOCUMENTS\tBYTES\tSTORED\n")
	for _, d := range a.Databases {
		progress.Fprintf(w, "%s\t%.1f\t%d\t%s\t%s\n", d.Name, d.PerSecond, d.Documents, progress.Size(d.External), progress.Size(d.File))
	}
	if len(a.Partitions) > 0 {
		fmt.Fprint(w, "\nPARTITION\tDOCUMENTS\tDELETED\tBYTES\tWRITES/H\n")
		for _, p := range a.Partitions {
			p.Name = p.Database + "/" + p.Name
			partitionRows(w, []operate.Partition{p})
		}
	}
	if len(a.Tasks) > 0 {
		fmt.Fprint(w, "\nTASK\tOF\tPROGRESS\n")
	}
	for _, t := range a.Tasks {
		done := ""
		if t.Progress != nil {
			done = fmt.Sprintf("%.0f %%", *t.Progress)
		}
		progress.Fprintf(w, "%s\t%s\t%s\n", t.Type, cmp.Or(t.Database, t.Target), done)
	}
}
