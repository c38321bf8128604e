package store

import (
	"runtime"
	"sync"
	"weak"
)

// openDatabases are the databases that are open in this process. There is one Database
// of each at a time: who waits in its feeds and who writes through its queue must be
// the same for all. It stays open as long as somebody holds it, a request, a feed or a
// commit under way, and a bounded number of those that were used last stay open beside
// these, so that the next request finds them. The others are closed: the garbage
// collector knows which nobody holds, and nothing has to count holders. Nothing is lost
// with one, for what a Database knows can be read again.
type openDatabases struct {
	sync.RWMutex
	by   map[string]weak.Pointer[Database]
	ring []*Database // those that are kept; which goes next is decided as by a clock's hand
	hand int
	max  int
}

// defaultOpen is how many databases stay open that nobody holds.
const defaultOpen = 1000

// get returns an open database by name, nil if it is not open, and notes that it was used.
func (o *openDatabases) get(name string) *Database {
	o.RLock()
	d := o.by[name].Value()
	o.RUnlock()
	if d != nil && !d.used.Load() {
		d.used.Store(true)
		if !d.cached.Load() {
			o.Lock()
			o.keep(d)
			o.Unlock()
		}
	}
	return d
}

// peek returns an open database by name, nil if it is not open. That is no use of it.
func (o *openDatabases) peek(name string) *Database {
	o.RLock()
	defer o.RUnlock()
	return o.by[name].Value()
}

// put makes d the open database of its name, unless there is one that is as new,
// which it returns then.
func (o *openDatabases) put(d *Database) (first *Database) {
	o.Lock()
	defer o.Unlock()
	if first = o.by[d.name].Value(); first != nil && first.number >= d.number {
		return first
	}
	o.by[d.name] = weak.Make(d)
	runtime.AddCleanup(d, closedDatabase, closing{weak.Make(o), d.name})
	d.used.Store(true)
	o.keep(d)
	return d
}

// keep keeps a database open, in the place of one that was not used since the hand
// came by. The lock is held.
func (o *openDatabases) keep(d *Database) {
	if d.dropped.Load() || !d.cached.CompareAndSwap(false, true) {
		return
	}
	if len(o.ring) < o.max {
		o.ring = append(o.ring, d)
		return
	}
	for ; ; o.hand++ {
		o.hand %= len(o.ring)
		if old := o.ring[o.hand]; old.dropped.Load() || !old.used.CompareAndSwap(true, false) {
			old.cached.Store(false)
			o.ring[o.hand] = d
			o.hand++
			return
		}
	}
}

// remove takes out the open database of a name if its number is at most the one given,
// and returns it.
func (o *openDatabases) remove(name string, number uint64) *Database {
	o.Lock()
	defer o.Unlock()
	d := o.by[name].Value()
	if d == nil || d.number > number {
		return nil
	}
	delete(o.by, name)
	return d
}

// closing names a database of which nothing is left but its name. A store is not held
// by it.
type closing struct {
	in   weak.Pointer[openDatabases]
	name string
}

// closedDatabase forgets the name of a database that the garbage collector has closed.
func closedDatabase(c closing) {
	o := c.in.Value()
	if o == nil {
		return
	}
	o.Lock()
	defer o.Unlock()
	if o.by[c.name].Value() == nil {
		delete(o.by, c.name)
	}
}

// each calls fn with all open databases.
func (o *openDatabases) each(fn func(*Database)) {
	var all []*Database
	o.RLock()
	for _, p := range o.by {
		if d := p.Value(); d != nil {
			all = append(all, d)
		}
	}
	o.RUnlock()
	for _, d := range all {
		fn(d)
	}
}
