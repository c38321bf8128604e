package server

import (
	"os"
	"strconv"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/machine"
)

// sizes are what parts of the server may take of the memory that the process may use. They are the defaults of settings,
// so that what an operator says goes before them. Together they leave room for what is bounded elsewhere: answers, connections, pages of
// builds, and what the collector has not collected yet.
type sizes struct {
	memory   int64 // of the process; 0 where nobody can tell
	bodies   int64 // [sectional] max_bodies_memory
	writes   int64 // [sectional] max_queued_writes
	texts    int64 // [sectional] text_cache
	builds   int64 // segments of full-text indexes that are being made
	function int64 // [quickjs] memory_limit_bytes, of each process
	cache    int64 // blocks of the embedded engine; 0: as it has them
	memTable int   // each of its tables in memory, of which there may be four; 0: as it has them
}

// supposed is the memory that the process is supposed to have where nobody can tell.
const supposed = 4 << 30

const mb = 1 << 20

// sizesFor returns the sizes for so many bytes of memory.
func sizesFor(memory int64) sizes {
	of := memory
	if of == 0 {
		of = supposed
	}
	part := func(share, least, most int64) int64 { return min(max(of/share, least), most) }
	s := sizes{memory: memory, bodies: part(8, 32*mb, 2048*mb), writes: part(16, 16*mb, 128*mb), texts: part(8, 32*mb, 2048*mb), builds: part(4, 64*mb, 384*mb), function: part(8, 64*mb, 256*mb)}
	if of < 1024*mb {
		s.cache, s.memTable = part(8, 8*mb, pebblekv.DefaultCache), int(part(64, 2*mb, 16*mb))
	}
	return s
}

// machineSizes are those for this machine, or this container.
func machineSizes() sizes { return sizesFor(machine.Memory(os.Getenv, os.DirFS("/"))) }

// settings are the sizes as defaults.
func (s sizes) settings() []config.Setting {
	of := func(section, key string, n int64) config.Setting {
		return config.Setting{Section: section, Key: key, Value: strconv.FormatInt(n, 10)}
	}
	return []config.Setting{
		of("sectional", "max_bodies_memory", s.bodies), of("sectional", "max_queued_writes", s.writes),
		of("sectional", "text_cache", s.texts), of("quickjs", "memory_limit_bytes", s.function),
	}
}

// ceiling is the most that the limit of Go's memory is raised to: what is left beside the
// engine's memory, where that is not Go's, and a quarter for processes with functions and for what the system keeps for the process. No limit
// where nobody can tell.
func (s sizes) ceiling() int64 {
	if s.memory == 0 {
		return noCeiling
	}
	engine := int64(0)
	if !pebblekv.CacheOnHeap {
		engine = pebblekv.DefaultCache + 4*pebblekv.DefaultMemTable
		if s.cache > 0 {
			engine = s.cache + 4*int64(s.memTable)
		}
	}
	return max(s.memory/4*3-engine, s.memory/4)
}
