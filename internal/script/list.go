package script

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/packed"
)

// List is a run of a list function.
type List struct {
	Name  string
	Head  []byte                   // JSON: total_rows and offset, or {}
	Req   []byte                   // JSON
	Rows  func() ([][]byte, error) // the next rows, as JSON; none at the end
	Start func(Response) error     // takes code and headers, once, before any output
	Send  func(chunk []byte) error // takes output

	sideEffects bool     // the function has put out or asked for something, so it can't begin again
	head        Response // of the last start, until begun
	begun       bool     // Start was called
}

// List runs a list function. Output comes while it runs; an error after Start leaves it cut off.
func (p *Pool) List(ctx context.Context, realm Realm, l *List) error {
	if err := realm.has("lists", l.Name); err != nil {
		return err
	}
	out, err := p.one(ctx, &job{op: opList, flavour: flavourDesign, realm: realm, function: []string{"lists", l.Name},
		inputs: [][]byte{arguments(l.Head, l.Req)}, list: l})
	if err != nil {
		return err
	}
	if err := l.take(packed.Read(out)); err != nil {
		return err
	}
	return l.begin()
}

// begin passes on code and headers, once.
func (l *List) begin() error {
	if l.begun {
		return nil
	}
	l.begun = true
	return l.Start(l.head)
}

// take passes on what the function put out. A head counts until something of the body has gone out: functions may look at
// rows before they decide.
func (l *List) take(c packed.Reader) (err error) {
	l.sideEffects = true
	if c.Flag() {
		response := c.Bytes()
		if !l.begun {
			if l.head, err = parseResponse(response); err != nil {
				return err
			}
		}
	}
	chunks := c.List()
	if c.Failed() {
		return errFrame
	}
	for _, chunk := range chunks {
		if len(chunk) == 0 {
			continue
		}
		if err := l.begin(); err != nil {
			return err
		}
		if err := l.Send(chunk); err != nil {
			return err
		}
	}
	return nil
}

// feed passes on output and gives the child the next rows, if it wants some.
func (p *process) feed(l *List, c packed.Reader, wanting bool) error {
	if l == nil {
		return errDied
	}
	if err := l.take(c); err != nil || !wanting {
		return err
	}
	rows, err := l.Rows()
	if err != nil {
		return err
	}
	var f packed.Writer
	f.List(rows)
	if err := p.pipe.write(frameRows, f); err != nil {
		return errors.Join(errDied, err)
	}
	return nil
}
