//go:build !race

package script

const (
	slower         = 1
	fewer          = 1
	overhead int64 = 0
)
