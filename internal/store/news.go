package store

import (
	"context"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// Who waits in this process for changes of a database is woken by the commits of this
// process. Where others write to the engine too, their commits have to be noticed. An
// engine that carries messages between its processes (kv.Messenger) tells of them at once.
// Messages may be lost, and not every engine has them, so once a second the lane heads of
// the databases for which somebody waits here are read, all together; of the others nobody
// needs to know. There is no row for all databases that every writer would have to change.

// look wakes those whose database is another than when it was looked at last.
func (s *Store) look(ctx context.Context) error {
	if !s.shared {
		return nil
	}
	s.looked.Lock()
	defer s.looked.Unlock()
	var waited []*Database
	s.open.each(func(d *Database) {
		if d.watch.any() {
			waited = append(waited, d)
		}
	})
	known := s.looked.serials
	s.looked.serials = make(map[uint64]uint64, len(waited))
	var behind []*Database
	for len(waited) > 0 {
		n := min(len(waited), headsPage)
		some, err := s.lookAt(ctx, waited[:n], known)
		if err != nil {
			return err
		}
		waited, behind = waited[n:], append(behind, some...)
	}
	if len(behind) > 0 && s.wait(ctx, publishWithin) {
		s.wakeBehind(behind)
	}
	return s.lookAtUpdates(ctx)
}

// publishWithin is how long the message of a commit may take before it is taken for lost. It saves
// those who wait for something else in a database from being woken by each look.
const publishWithin = 100 * time.Millisecond

// wakeBehind wakes all who wait for databases of whose commits not all were told of.
func (s *Store) wakeBehind(ds []*Database) {
	for _, d := range ds {
		if serial := s.looked.serials[d.number]; !d.commits.all(serial) {
			d.watch.wakeAll()
			d.commits.found(serial)
		}
	}
}

// headsPage is how many lane heads one read takes.
const headsPage = 1000

// looked is what the last look found.
type looked struct {
	sync.Mutex
	serials map[uint64]uint64 // of the lane heads of databases for which somebody waited, by number
	updates uint64            // the last sequence of the feed of databases
}

// lookAt looks at some databases, and returns those with commits that nobody told of yet. One for
// which nobody waited before counts as changed: the change may have come between what those
// who wait know and now.
func (s *Store) lookAt(ctx context.Context, ds []*Database, known map[uint64]uint64) (behind []*Database, err error) {
	keys := make([][]byte, len(ds))
	for i, d := range ds {
		keys[i] = laneKey(d.number)
	}
	var heads [][]byte
	err = s.engine.View(ctx, func(v kv.Snapshot) (err error) {
		heads, err = v.GetMany(keys)
		return err
	})
	for i := 0; i < len(ds) && err == nil; i++ {
		d := ds[i]
		if heads[i] == nil {
			_, err = d.refresh(ctx)
			continue
		}
		var l lane
		if l, err = decodeLane(heads[i]); err != nil {
			break
		}
		s.looked.serials[d.number] = l.serial
		switch _, before := known[d.number]; {
		case !before:
			d.watch.wakeAll()
			d.commits.found(l.serial)
		case !d.commits.all(l.serial):
			behind = append(behind, d)
		}
	}
	return behind, err
}

// lookAtUpdates looks at the feed of databases.
func (s *Store) lookAtUpdates(ctx context.Context) error {
	if !s.updates.watch.any() {
		return nil
	}
	var last uint64
	err := s.engine.View(ctx, func(v kv.Snapshot) (err error) {
		last, err = counter(v.Get(metaKey("updates")))
		return err
	})
	if err == nil && last != s.looked.updates {
		s.looked.updates = last
		s.updates.wake()
	}
	return err
}

// publish tells other processes.
func (s *Store) publish(n news) {
	if m, ok := s.base.(kv.Messenger); ok && s.shared {
		m.Send(n.encode())
	}
}

// listen has the store hear of what others tell, until stop is called.
func (s *Store) listen() (stop func()) {
	m, ok := s.base.(kv.Messenger)
	if !ok || !s.shared {
		return func() {}
	}
	return m.Listen(s.hear)
}

// hear wakes those who wait for what a message is about.
func (s *Store) hear(message []byte) {
	n, err := decodeNews(message)
	if err != nil {
		return // of another version: the look will find it
	}
	if n.name == "" {
		s.updates.wake()
		return
	}
	d := s.open.peek(n.name)
	if d == nil || d.number != n.number {
		return
	}
	if n.all {
		d.watch.wakeAll()
	} else {
		d.watch.wakeOf(n.partitions)
	}
	if n.to > 0 {
		d.commits.note(n.from, n.to)
	}
}
