// Package lint owns the rules of this code base that a machine can check, as tests: which package may import which,
// how long functions and files get, that every package says what it is for, and that nothing hides in init functions
// or mutable package variables. It has no code of its own. Begin reading at TestLayers; a new package takes its place
// in layers.
package lint
