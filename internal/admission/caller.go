package admission

import (
	"context"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/script"
)

type callerKey struct{}

// WithCaller returns a context in which the caller of a request is known to
// whoever admits its edits, and to whoever runs functions for it: these share what
// they have by callers, but for server administrators, who work for many.
func WithCaller(ctx context.Context, c *auth.Caller) context.Context {
	if c != nil && !c.Anonymous() && !c.IsAdmin() {
		ctx = script.WithCaller(ctx, c.Name)
	}
	return context.WithValue(ctx, callerKey{}, c)
}

// Caller returns the caller that WithCaller put into ctx. nil: the server itself
// writes, and no right is asked for.
func Caller(ctx context.Context) *auth.Caller {
	c, _ := ctx.Value(callerKey{}).(*auth.Caller)
	return c
}
