//go:build race

package script

// The race detector makes code about ten times slower, and a program much larger.
const (
	slower         = 5
	fewer          = 10
	overhead int64 = 4 << 30
)
