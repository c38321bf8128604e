//go:build !linux

package pgkv

import "net"

// dialer makes connections that end when the server's machine has not answered for a while.
func dialer() *net.Dialer { return &net.Dialer{KeepAliveConfig: keepAlive} }
