package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// maxLogged is the most bytes of a value in the log: names, paths and causes come from
// anybody.
const maxLogged = 2 << 10

// newLog makes the server's log. json reports whether its lines are JSON at that moment; nil: they are not.
func newLog(out io.Writer, level slog.Leveler, json func() bool) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: cutAttr}
	var h slog.Handler = slog.NewTextHandler(out, o)
	if json != nil {
		out = &inLine{Writer: out}
		h = either{slog.NewTextHandler(out, o), slog.NewJSONHandler(out, o), json}
	}
	return slog.New(sparing{h, &logOnce{}})
}

// inLine has two handlers write one after the other.
type inLine struct {
	mu sync.Mutex
	io.Writer
}

// Write implements io.Writer.
func (w *inLine) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Writer.Write(p)
}

// either is one handler or another, as the configuration says at the moment.
type either struct {
	slog.Handler
	other slog.Handler
	use   func() bool // the other
}

// Handle implements slog.Handler.
func (h either) Handle(ctx context.Context, r slog.Record) error {
	if h.use() {
		return h.other.Handle(ctx, r)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h either) WithAttrs(attrs []slog.Attr) slog.Handler {
	return either{h.Handler.WithAttrs(attrs), h.other.WithAttrs(attrs), h.use}
}

// WithGroup implements slog.Handler.
func (h either) WithGroup(name string) slog.Handler {
	return either{h.Handler.WithGroup(name), h.other.WithGroup(name), h.use}
}

// cutAttr cuts the value of an attribute that is too long, and reports how long it was.
func cutAttr(_ []string, a slog.Attr) slog.Attr {
	text := ""
	switch a.Value.Kind() {
	case slog.KindString:
		text = a.Value.String()
	case slog.KindAny:
		text = fmt.Sprintf("%+v", a.Value.Any())
	}
	if len(text) > maxLogged {
		a.Value = slog.StringValue(strings.ToValidUTF8(text[:maxLogged], "") + "… (" + strconv.Itoa(len(text)) + " bytes)")
	}
	return a
}

// saidEvery is how often a line is written that says that something can't be reached.
const saidEvery = time.Minute

// sparing is a handler that writes a line about what can't be reached, such as the PostgreSQL server,
// once and then once a minute, with how many of the same message were left out: whatever works
// in the background tries again all the time, and would fill the log with that. All other lines are written.
type sparing struct {
	slog.Handler
	seen *logOnce // shared with the handlers that are made of this one
}

// logOnce is when each message was written last, and how many were left out since.
type logOnce struct {
	mu sync.Mutex
	of map[string]*lines
}

type lines struct {
	last    time.Time
	leftOut int
}

// Handle implements slog.Handler.
func (h sparing) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && unreachable(r) {
		leftOut, write := h.seen.count(r.Message, r.Time)
		if !write {
			return nil
		}
		if leftOut > 0 {
			r = r.Clone()
			r.AddAttrs(slog.Int("left_out", leftOut))
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h sparing) WithAttrs(attrs []slog.Attr) slog.Handler {
	return sparing{h.Handler.WithAttrs(attrs), h.seen}
}

// WithGroup implements slog.Handler.
func (h sparing) WithGroup(name string) slog.Handler {
	return sparing{h.Handler.WithGroup(name), h.seen}
}

// unreachable reports whether a line has the error of something that can't be reached at present.
func unreachable(r slog.Record) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		found = ok && dberr.Is(err, dberr.Unavailable)
		return !found
	})
	return found
}

// count counts a line, and reports whether it is to be written, and how many were left out before it.
func (t *logOnce) count(message string, now time.Time) (leftOut int, write bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.of[message]
	if l == nil {
		if t.of == nil {
			t.of = map[string]*lines{}
		}
		l = &lines{}
		t.of[message] = l
	}
	if !l.last.IsZero() && now.Sub(l.last) < saidEvery && !now.Before(l.last) {
		l.leftOut++
		return 0, false
	}
	leftOut, l.last, l.leftOut = l.leftOut, now, 0
	return leftOut, true
}
