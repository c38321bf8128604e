package script

import (
	"bytes"
	"os"
	"strconv"
)

// resident returns the bytes of memory that a process holds; 0 if that can't be known.
func resident(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	words := bytes.Fields(text)
	if len(words) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(words[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
