package web

import (
	"log/slog"
	"time"
)

// The log says who asked for what, and what came of it: it names operations, databases and
// indexes, and has nothing of what was sent and answered. So a path, which may name a
// document, is told by its pattern, and a query string not at all.

// log logs the request where requests are logged, and a slow query.
func (f *Frame) log(r *Request, took time.Duration, class *Class) {
	s := f.options.Settings()
	level := slog.LevelDebug
	if s.LogRequests {
		level = slog.LevelInfo
	}
	if f.Log.Enabled(r.context, level) {
		f.Log.LogAttrs(r.context, level, "request", append(r.about(), slog.Int("status", r.status), slog.Int64("bytes", r.sent), inMilliseconds(took))...)
	}
	if r.Read.Index == "" || class.untimed || s.SlowQuery <= 0 || took < s.SlowQuery {
		return
	}
	f.Metrics.slow.Add(1)
	f.Log.LogAttrs(r.context, slog.LevelWarn, "slow query", append(r.about(), append(r.Read.attrs(), slog.Int("status", r.status), inMilliseconds(took))...)...)
}

func inMilliseconds(d time.Duration) slog.Attr {
	return slog.Float64("ms", float64(d.Microseconds())/1000)
}

// about says which request a line is about.
func (r *Request) about() []slog.Attr {
	name := ""
	if r.Caller != nil {
		name = r.Caller.Name
	}
	attrs := make([]slog.Attr, 0, 16)
	if r.span.Recorded() {
		attrs = append(attrs, slog.String("trace", r.span.TraceID()))
	}
	return append(attrs, slog.String("request", r.id), slog.String("method", r.HTTP.Method), slog.String("route", r.Action.Name),
		slog.String("database", r.Database), slog.String("user", name), slog.String("peer", r.Peer()))
}

// attrs are those of a line about a slow query.
func (d *Reading) attrs() []slog.Attr {
	index := d.Index
	if d.Design != "" {
		index = d.Design + "/" + d.Index
	}
	attrs := []slog.Attr{slog.String("index", index)}
	if d.Plan != "" {
		attrs = append(attrs, slog.String("plan", d.Plan))
	}
	if d.Partition != "" {
		attrs = append(attrs, slog.String("partition", d.Partition))
	}
	return append(attrs, slog.Int("keys", d.Keys), slog.Int("documents", d.Documents), slog.Int("rows", d.Rows))
}
