//go:build !unix

package script

import "time"

// processorTime returns the time since the process began, where the processor's
// can't be known.
func processorTime() time.Duration { return time.Since(processBegan) }

var processBegan = time.Now()
