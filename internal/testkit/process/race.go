//go:build race

package process

// raceFlags makes the server watch for data races when its tests do.
func raceFlags() []string { return []string{"-race"} }

// Racing says that the tests and the server run under the race detector, where memory and time mean little.
const Racing = true
