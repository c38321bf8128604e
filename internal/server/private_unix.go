//go:build unix

package server

import "syscall"

// maskOthers has the process make files for its own user alone, whatever it was started
// with.
func maskOthers() { syscall.Umask(0o077) }
