package couchapi

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
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
	"random":     func(*uuidMaker, *API) string { return hex.EncodeToString(randomBytes(16)) },
	"utc_random": func(m *uuidMaker, a *API) string { return m.utc(a.Now()) + hex.EncodeToString(randomBytes(9)) },
	"utc_id": func(m *uuidMaker, a *API) string {
		suffix, _ := a.config.Get("uuids", "utc_id_suffix")
		return m.utc(a.Now()) + suffix
	},
	"uuid_v7": func(_ *uuidMaker, a *API) string { return version7(a) },
}

// newUUID makes an id for a document that came without one.
func (a *API) newUUID() string {
	name, _ := a.config.Get("uuids", "algorithm")
	f := uuidAlgorithms[name]
	if f == nil {
		f = uuidAlgorithms["sequential"]
	}
	return f(&a.uuids, a)
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}

// sequence returns ids that rise by small random steps behind a random prefix:
// documents written one after the other lie beside each other.
func (m *uuidMaker) sequence() string {
	m.sequential.Lock()
	defer m.sequential.Unlock()
	s := &m.sequential
	step := uint32(binary.LittleEndian.Uint16(randomBytes(2)))%0xffe + 1
	if s.next += step; !s.fresh || s.next >= 1<<24 {
		copy(s.prefix[:], randomBytes(13))
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
	b := randomBytes(16)
	binary.BigEndian.PutUint64(b, uint64(a.Now().UnixMilli())<<16|uint64(binary.BigEndian.Uint16(b[6:])))
	b[6] = 0x70 | b[6]&0x0f
	b[8] = 0x80 | b[8]&0x3f
	if format, _ := a.config.Get("uuids", "format"); format == "rfc9562" {
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	}
	return hex.EncodeToString(b)
}

// uuids answers GET /_uuids.
func uuids(r *request) error {
	n := 1
	if v, ok := r.Query.Get("count"); ok {
		var err error
		if n, err = strconv.Atoi(v); err != nil || n < 0 {
			return dberr.New(dberr.Invalid, "bad_request", "count must be a positive integer")
		}
	}
	if int64(n) > r.api.config.Snapshot().Int("uuids", "max_count", 1000) {
		return dberr.New(dberr.Invalid, "bad_request", "count parameter too large")
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = r.api.newUUID()
	}
	r.Set("Cache-Control", "no-cache")
	r.Set("Pragma", "no-cache")
	r.Set("Expires", "Fri, 01 Jan 1990 00:00:00 GMT")
	r.Etag(hex.EncodeToString(randomBytes(8)))
	return r.build(http.StatusOK, func(b []byte) []byte {
		return append(appendStrings(append(b, `{"uuids":`...), ids), '}')
	})
}
