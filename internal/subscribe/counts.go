package subscribe

import "sync/atomic"

// Counts are figures of the deliveries that this server has made since its start and whose outcome is stored, so that those of
// several servers of a store can be added up.
type Counts struct {
	Delivered, Failed, PutOff uint64 // requests
	Changes                   uint64 // in those that were delivered
	Dead                      uint64 // requests that were given up, and became dead letters
	Ended                     uint64 // subscriptions whose receivers want nothing any more
}

// counts are Counts as they are counted.
type counts struct{ delivered, failed, putOff, changes, dead, ended atomic.Uint64 }

// add counts a request with so many changes.
func (c *counts) add(v verdict, changes, dead int) {
	switch v {
	case taken:
		c.delivered.Add(1)
		c.changes.Add(uint64(changes))
	case putOff:
		c.putOff.Add(1)
	case over:
		c.ended.Add(1)
	default:
		c.failed.Add(1)
		c.dead.Add(uint64(dead))
	}
}

// Counts returns the figures.
func (s *Service) Counts() Counts {
	c := &s.counts
	return Counts{c.delivered.Load(), c.failed.Load(), c.putOff.Load(), c.changes.Load(), c.dead.Load(), c.ended.Load()}
}
