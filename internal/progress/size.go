package progress

import "fmt"

// Size writes bytes for people.
func Size(n int64) string {
	const step = 1000
	if n < step {
		return fmt.Sprintf("%d B", n)
	}
	value, units := float64(n), []string{"kB", "MB", "GB", "TB", "PB"}
	for i, unit := range units {
		value /= step
		if value < 999.95 || i == len(units)-1 {
			return fmt.Sprintf("%.1f %s", value, unit)
		}
	}
	return ""
}
