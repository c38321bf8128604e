// Package systems is one that only some systems have.
package systems

import "syscall"

// Number is a file's.
func Number(s *syscall.Stat_t) uint64 { return s.Ino }
