// Package system tests the built server as its operator meets it: it is started, stopped, killed under load,
// restarted, checked, and asked for large things. Everything goes through HTTP, signals and the command line; nothing
// here may import what lies below them. Begin reading at TestKillUnderLoad.
package system
