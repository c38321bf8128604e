package server

import (
	"net"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"
)

// socketUser returns the user of the system whose process has the other end of a socket: his name, or his number; "" where
// nobody can tell.
func socketUser(conn net.Conn) string {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return ""
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return ""
	}
	id := ""
	err = raw.Control(func(fd uintptr) {
		if who, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			id = strconv.FormatUint(uint64(who.Uid), 10)
		}
	})
	if err != nil || id == "" {
		return ""
	}
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
