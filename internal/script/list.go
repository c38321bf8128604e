package script

import (
	"context"
	"errors"
)

// List is a run of a list function.
type List struct {
	Name  string
	Head  []byte                   // JSON: total_rows and offset, or {}
	Req   []byte                   // JSON
	Rows  func() ([][]byte, error) // the next rows, as JSON; none at the end
	Start func(Response) error     // takes code and headers, once, before any output
	Send  func(chunk []byte) error // takes output

	begun bool
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
	return l.take(content{b: out})
}

// take passes on what the function put out.
func (l *List) take(c content) error {
	if c.flag() {
		response, err := parseResponse(c.bytes())
		if err != nil {
			return err
		}
		l.begun = true
		if err := l.Start(response); err != nil {
			return err
		}
	}
	chunks := c.blobs()
	if c.bad {
		return errFrame
	}
	for _, chunk := range chunks {
		if len(chunk) == 0 {
			continue
		}
		if err := l.Send(chunk); err != nil {
			return err
		}
	}
	return nil
}

// feed passes on output and gives the child the next rows, if it wants some.
func (p *process) feed(l *List, c content, wanting bool) error {
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
	var f fields
	f.blobs(rows)
	if err := p.pipe.write(frameRows, f); err != nil {
		return errors.Join(errDied, err)
	}
	return nil
}
