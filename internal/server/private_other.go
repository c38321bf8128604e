//go:build !unix

package server

// maskOthers does nothing where files have no modes.
func maskOthers() {}
