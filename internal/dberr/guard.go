package dberr

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Panic is the cause of an error that Guard made of a panic.
type Panic struct {
	Value any    // what was given to panic
	Stack []byte // of the goroutine, as text
}

// Error returns the value; the stack is for whoever logs it.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Guard runs fn and returns its error. A panic in it becomes an Internal error with
// a *Panic as its cause, and is logged with its stack. It is for work on what others sent, of which a mistake
// of ours must not take everybody else's requests with it; fn leaves nothing half
// done that anybody would go on with.
func Guard(log *slog.Logger, op string, fn func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			stack := debug.Stack()
			log.Error("a panic was caught", "in", op, "panic", value, "stack", string(stack))
			err = Wrap(op, &Panic{Value: value, Stack: stack})
		}
	}()
	return fn()
}

// Panicked reports whether err is of a panic that Guard caught.
func Panicked(err error) bool {
	var p *Panic
	return errors.As(err, &p)
}
