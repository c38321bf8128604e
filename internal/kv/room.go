package kv

import "context"

// freeingKey marks contexts whose writes make room.
type freeingKey struct{}

// Freeing marks what is written under a context as making room: removing rows,
// or leaving the job that will. An engine whose disk is nearly full refuses
// other writes with Full and goes on taking these.
func Freeing(ctx context.Context) context.Context {
	return context.WithValue(ctx, freeingKey{}, true)
}

// IsFreeing reports whether ctx comes from Freeing.
func IsFreeing(ctx context.Context) bool { return ctx.Value(freeingKey{}) != nil }

// SpaceReporter is implemented by engines that watch the room on their disk.
type SpaceReporter interface {
	// Room returns nil, or the error of kind Full with which ordinary writes are
	// refused at the moment. It costs next to nothing.
	Room() error
}
