//go:build !linux

package script

import "os/exec"

// ownGroup and lower make a process give way to others; where this is not Linux all are
// alike.
func ownGroup(*exec.Cmd) {}

func lower(int, int) {}

// Without nice values these make no difference.
const behindOthers, behindBuilds = 0, 0
