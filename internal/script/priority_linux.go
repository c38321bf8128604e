package script

import (
	"os/exec"
	"syscall"
)

// behindOthers is how much higher the nice value is of processes that give way to
// the server: they get a tenth of what it gets of a busy processor.
const behindOthers = 10

// behindBuilds is the same for those that give way to the builds of databases too.
const behindBuilds = 19

// niceValue returns the nice value of this process.
func niceValue() int {
	n, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return 20 - n // the kernel's way to avoid negative results
}

// ownGroup puts a process that is about to start into a group of its own. Linux
// counts nice values by thread, and only those of a group can be changed at once.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// lower makes a process that began in a group of its own give way to others.
func lower(pid, by int) {
	_ = syscall.Setpriority(syscall.PRIO_PGRP, pid, min(niceValue()+by, 19)) // it may have ended
}
