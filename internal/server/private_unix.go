//go:build unix

package server

import "syscall"

// maskOthers leaves new files to their owner.
func maskOthers() { syscall.Umask(0o077) }
