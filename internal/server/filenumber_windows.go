package server

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// fileNumber returns a file's number in its file system.
func fileNumber(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	var about syscall.ByHandleFileInformation
	err = syscall.GetFileInformationByHandle(syscall.Handle(file.Fd()), &about)
	return strconv.FormatUint(uint64(about.FileIndexHigh)<<32|uint64(about.FileIndexLow), 10), errors.Join(err, file.Close())
}
