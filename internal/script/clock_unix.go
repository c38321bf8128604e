//go:build unix

package script

import (
	"syscall"
	"time"
)

// processorTime returns the time of the processor that this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return time.Since(processBegan) // can't be: the arguments are sound
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var processBegan = time.Now()
