package pgkv

import (
	"net"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// dialer makes connections that end when the server's machine has not answered for as long as silence: a machine that
// is cut off sends nothing that would end them.
func dialer() *net.Dialer {
	return &net.Dialer{KeepAliveConfig: keepAlive, Control: func(network, _ string, c syscall.RawConn) (err error) {
		if !strings.HasPrefix(network, "tcp") {
			return nil
		}
		// What was sent and not received keeps the kernel from asking whether the other end is there.
		failed := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
		})
		if failed != nil {
			return failed
		}
		return err
	}}
}
