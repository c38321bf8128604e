package server

import (
	"os"
	"path/filepath"
)

// scratchName is the directory within the data directory for files that are of no use
// once the server has ended: those into which segments of full-text indexes are merged,
// which may be too large for the system's directory, and are nobody else's to read.
const scratchName = "scratch"

// emptyScratch returns the directory, with nothing in it: a server that was killed left
// its files there. The caller holds the lock on the data.
func emptyScratch(data string) (string, error) {
	dir := filepath.Join(data, scratchName)
	err := os.RemoveAll(dir)
	if err == nil {
		err = os.Mkdir(dir, privateDir)
	}
	return dir, err
}
