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

// CallerOf returns the caller that WithCaller put into ctx. nil: the server itself
// writes, and no right is asked for.
func CallerOf(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}
