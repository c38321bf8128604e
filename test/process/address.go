package process

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// The ports of servers are below those that the kernel gives to whoever asks for any, and that clients have: such a one
// may be given away between the moment at which it is found to be free and that at which the server listens.
const (
	firstPort = 12_000
	ports     = 20_000
)

// addresses is which ports callers in this process have; other processes see locks on bytes of a file that all share.
type addresses struct {
	sync.Mutex
	taken map[int]bool
	file  *os.File // kept open: closing it would end the locks
}

// shared is the addresses of this process.
var shared = sync.OnceValues(func() (*addresses, error) {
	file, err := os.OpenFile(filepath.Join(os.TempDir(), "sectional-ports-"+strconv.Itoa(os.Getuid())), os.O_CREATE|os.O_RDWR, 0o600)
	return &addresses{taken: map[int]bool{}, file: file}, err
})

// FreeAddress returns an address of the loopback interface on which nothing listens at the moment, and that no other
// caller is given as long as this process lives.
func FreeAddress() (string, error) {
	a, err := shared()
	if err != nil {
		return "", err
	}
	a.Lock()
	defer a.Unlock()
	for range ports {
		if address := a.take(firstPort + rand.IntN(ports)); address != "" {
			return address, nil
		}
	}
	return "", errors.New("process: no port is free")
}

// take returns the address of a port if nobody has it.
func (a *addresses) take(port int) string {
	if a.taken[port] {
		return ""
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: int64(port), Len: 1}
	if err := syscall.FcntlFlock(a.file.Fd(), syscall.F_SETLK, &lock); err != nil {
		return "" // another process has it
	}
	a.taken[port] = true // also where somebody else listens: it is not tried again
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return ""
	}
	address := l.Addr().String()
	if l.Close() != nil {
		return ""
	}
	return address
}
