//go:build !linux

package server

import "net"

// socketUser is "" where the system does not tell in the way of Linux: the socket is for the server's user alone.
func socketUser(net.Conn) string { return "" }
