package auth

import (
	"context"

	"github.com/sectional/sectional/internal/script"
)

type callerKey struct{}

// WithCaller returns a context in which the caller of a request is known to
// whoever admits its edits, and to whoever runs functions for it: these share what
// they have by callers, but for server administrators, who work for many.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	if c != nil && !c.Anonymous() && !c.IsAdmin() {
		ctx = script.WithCaller(ctx, c.Name)
	}
	return context.WithValue(ctx, callerKey{}, c)
}

type withinKey struct{}

// WithinProcess returns the context of a request that the process makes to itself. No proxy is
// between, so what its headers say of a caller is not believed.
func WithinProcess(ctx context.Context) context.Context {
	return context.WithValue(ctx, withinKey{}, true)
}

// isWithin reports whether the context is that of such a request.
func isWithin(ctx context.Context) bool { return ctx.Value(withinKey{}) != nil }

// CallerOf returns the caller that WithCaller put into ctx. nil: the server itself
// writes, and no right is asked for.
func CallerOf(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}
