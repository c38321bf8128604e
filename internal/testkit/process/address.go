package process

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The ports of servers are below those that the kernel gives to whoever asks for any, and that clients have: such a one
// may be given away between the moment at which it is found to be free and that at which the server listens.
const (
	firstPort = 12_000
	ports     = 20_000
)

// reserved are the ports that callers in this process have. Whoever starts servers for tests, in whatever language
// (test/node, test/python), holds the UDP port of that number before he takes one: nothing else uses those, the
// kernel gives each to one process, and takes it back when that ends.
var reserved = &holders{}

// holders are sockets that hold ports.
type holders struct {
	sync.Mutex
	sockets []net.PacketConn
}

func (h *holders) keep(socket net.PacketConn) {
	h.Lock()
	defer h.Unlock()
	h.sockets = append(h.sockets, socket)
}

// FreeAddress returns an address of the loopback interface on which nothing listens at the moment, and that no other
// caller is given as long as this process lives.
func FreeAddress() (string, error) {
	for range ports {
		if address := reserve(firstPort + rand.IntN(ports)); address != "" {
			return address, nil
		}
	}
	return "", errors.New("process: no port is free")
}

// reserve returns the address of a port if nobody has it, and "" otherwise.
func reserve(port int) string {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	socket, err := net.ListenPacket("udp4", address)
	if err != nil {
		return "" // somebody has it
	}
	reserved.keep(socket) // also where somebody else listens: it is not tried again
	l, err := net.Listen("tcp", address)
	if err != nil || l.Close() != nil {
		return ""
	}
	return address
}
