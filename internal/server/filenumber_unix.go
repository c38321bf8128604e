//go:build unix

package server

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// fileNumber returns a file's number in its file system.
func fileNumber(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.ErrUnsupported
	}
	return strconv.FormatUint(uint64(stat.Ino), 10), nil
}
