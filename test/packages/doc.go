// Package packages tests what a release is made of: the configuration of goreleaser, loaded by goreleaser's own code; the
// packages for Debian and Red Hat that it describes, built as goreleaser builds them and installed into a directory; the
// service of systemd; the bill of materials. It is a module of its own, so that the server does not depend on these tools.
package packages
