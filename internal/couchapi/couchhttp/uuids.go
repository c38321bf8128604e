package couchhttp

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// uuidMaker makes ids by the algorithms of [uuids] algorithm.
type uuidMaker struct {
	sequential struct {
		sync.Mutex
		prefix [13]byte
		next   uint32 // of 24 bits; a new prefix when they are used up
		fresh  bool
	}
	clock struct {
		sync.Mutex
		last int64
	}
}

// uuidAlgorithms are the ways to make an id. An unknown name in the
// configuration means the first.
var uuidAlgorithms = map[string]func(*uuidMaker, *API) string{
	"sequential": func(m *uuidMaker, _ *API) string { return m.sequence() },
	"random":     func(*uuidMaker, *API) string { return hex.EncodeToString(RandomBytes(16)) },
	"utc_random": func(m *uuidMaker, a *API) string { return m.utc(a.Now()) + hex.EncodeToString(RandomBytes(9)) },
	"utc_id": func(m *uuidMaker, a *API) string {
		suffix, _ := a.Config.Get("uuids", "utc_id_suffix")
		return m.utc(a.Now()) + suffix
	},
	"uuid_v7": func(_ *uuidMaker, a *API) string { return version7(a) },
}

// NewUUID makes an id for a document that came without one.
func (a *API) NewUUID() string {
	name, _ := a.Config.Get("uuids", "algorithm")
	f := uuidAlgorithms[name]
	if f == nil {
		f = uuidAlgorithms["sequential"]
	}
	return f(&a.uuids, a)
}

// RandomBytes returns n bytes that nobody can guess.
func RandomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}

// sequence returns ids that rise by small random steps after a random prefix:
// documents written one after the other lie beside each other.
func (m *uuidMaker) sequence() string {
	m.sequential.Lock()
	defer m.sequential.Unlock()
	s := &m.sequential
	step := uint32(binary.LittleEndian.Uint16(RandomBytes(2)))%0xffe + 1
	if s.next += step; !s.fresh || s.next >= 1<<24 {
		copy(s.prefix[:], RandomBytes(13))
		s.next, s.fresh = step, true
	}
	return fmt.Sprintf("%x%06x", s.prefix, s.next)
}

// utc returns 14 hexadecimal digits of microseconds since 1970, rising always.
func (m *uuidMaker) utc(now time.Time) string {
	m.clock.Lock()
	defer m.clock.Unlock()
	m.clock.last = max(m.clock.last+1, now.UnixMicro())
	return fmt.Sprintf("%014x", m.clock.last)
}

// version7 returns a UUID of version 7 (RFC 9562), with dashes or without as
// [uuids] format says.
func version7(a *API) string {
	b := RandomBytes(16)
	binary.BigEndian.PutUint64(b, uint64(a.Now().UnixMilli())<<16|uint64(binary.BigEndian.Uint16(b[6:])))
	b[6] = 0x70 | b[6]&0x0f
	b[8] = 0x80 | b[8]&0x3f
	if format, _ := a.Config.Get("uuids", "format"); format == "rfc9562" {
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	}
	return hex.EncodeToString(b)
}
