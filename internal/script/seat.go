package script

import (
	"context"
	"time"
)

// crowd is the calls of one database that take extra seats or wait for one. Together they may have half of these seats:
// then functions of one database that hang, however many are called, leave seats for the others.
type crowd struct {
	seats chan struct{}
	calls int // guarded by the pool's mutex; without any, the crowd is forgotten
}

// join gives the crowd of a database.
func (p *Pool) join(database string) *crowd {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.mu.crowds[database]
	if c == nil {
		c = &crowd{seats: make(chan struct{}, max(1, cap(p.extra)/2))}
		p.mu.crowds[database] = c
	}
	c.calls++
	return c
}

func (p *Pool) part(database string, c *crowd) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.calls--; c.calls == 0 {
		delete(p.mu.crowds, database)
	}
}

// seat takes a seat, waiting for one, and gives the function that returns it.
func (p *Pool) seat(ctx context.Context, j *job) (leave func(), err error) {
	seats := p.slots
	if j.op == opMap {
		seats = p.maps
	}
	select {
	case seats <- struct{}{}:
		return func() { <-seats }, nil
	default:
	}
	c := p.join(j.realm.Database)
	inCrowd := false
	done := func() {
		if inCrowd {
			<-c.seats
		}
		p.part(j.realm.Database, c)
	}
	timer := time.NewTimer(p.o.Overflow)
	defer timer.Stop()
	var ours, extra chan struct{} // nil: not yet
	for {
		select {
		case seats <- struct{}{}:
			done()
			return func() { <-seats }, nil
		case <-timer.C:
			ours = c.seats
		case ours <- struct{}{}:
			inCrowd, ours, extra = true, nil, p.extra
		case extra <- struct{}{}:
			return func() { <-p.extra; done() }, nil
		case <-p.closed:
			done()
			return nil, errClosed
		case <-ctx.Done():
			done()
			return nil, ctx.Err()
		}
	}
}
