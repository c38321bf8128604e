//go:build !linux

package script

// confine has nothing to take away on this system: a realm has no means of reaching files or network in any case.
func confine(int64) error { return nil }
