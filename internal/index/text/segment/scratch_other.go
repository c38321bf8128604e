//go:build !linux

package segment

// scratchFile makes a file on disk.
func scratchFile(scratch string) (file, error) { return diskFile(scratch) }
