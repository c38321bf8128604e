package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvcopy"
	"github.com/sectional/sectional/internal/store"
)

// CopiesOptions say what to do about what copies have left at a place, as CopyOptions' are.
type CopiesOptions struct {
	Place     string
	Databases []string  // none: everything
	Abandon   bool      // remove the parts that interrupted copies have left
	TakeBack  bool      // have what has moved away here again
	Yes       bool      // do not ask
	In        io.Reader // the answer
	Out, Err  io.Writer // what there is, or was done; the question
}

var errUnconfirmed = errors.New("nothing was done")

// ManageCopies tells what copies have left at a place, removes parts, or takes back what has moved away. No server may
// run on a data directory.
func ManageCopies(ctx context.Context, o CopiesOptions) (err error) {
	maskOthers()
	place, err := openPlace(ctx, o.Place, true, !o.Abandon && !o.TakeBack)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	command, work := "sectional copies --abandon", o.abandon
	switch {
	case o.TakeBack:
		command, work = "sectional copies --take-back", o.takeBack
	case !o.Abandon:
		return o.list(ctx, place)
	}
	d := commandLine(command, o.Databases, "", o.Err)
	d.begin(ctx, place)
	defer func() { d.end(ctx, place, err) }()
	return work(ctx, place)
}

// list tells what there is.
func (o *CopiesOptions) list(ctx context.Context, p *place) error {
	c, err := store.CopiesIn(ctx, p)
	if err != nil {
		return err
	}
	var lines []string
	if c.Half {
		lines = append(lines, "A part of a copy of everything is here. Start that copy again, or remove the part with --abandon.")
	}
	if c.Moved != "" {
		lines = append(lines, "Everything has moved to "+c.Moved+".")
	}
	for _, name := range c.Here {
		lines = append(lines, fmt.Sprintf("A part of the database %s is here, of a copy that was interrupted or is being made. Start it again, or remove the part with --abandon --database %s.", name, name))
	}
	for _, a := range c.Away {
		text := fmt.Sprintf("The database %s has moved to %s.", a.Name, a.Where)
		if !a.Arrived {
			text += " It has not arrived: start its copy again."
		}
		lines = append(lines, text)
	}
	if len(lines) == 0 {
		lines = append(lines, "No copy has left anything here.")
	}
	_, err = fmt.Fprintln(o.Out, strings.Join(lines, "\n"))
	return err
}

func (o *CopiesOptions) abandon(ctx context.Context, p *place) error {
	if len(o.Databases) == 0 {
		if err := store.AbandonAll(ctx, p, kvcopy.Settled); err != nil {
			return err
		}
		return o.done("The part of everything that a copy has left is removed; the place is empty.")
	}
	for _, name := range o.Databases {
		if err := store.Abandon(ctx, p, kvcopy.Settled, name); err != nil {
			return err
		}
		if err := o.done("The part of the database " + name + " that a copy has left is removed."); err != nil {
			return err
		}
	}
	return nil
}

func (o *CopiesOptions) done(text string) error {
	_, err := fmt.Fprintln(o.Out, text)
	return err
}

func (o *CopiesOptions) takeBack(ctx context.Context, p *place) error {
	if len(o.Databases) == 0 {
		return o.takeBackAll(ctx, p)
	}
	for _, name := range o.Databases {
		if err := o.confirm("the database "+name, name); err != nil {
			return err
		}
		if err := store.TakeBack(ctx, p, kvcopy.Settled, name); err != nil {
			return err
		}
		if err := o.done("The database " + name + " is here again, as it was when it moved."); err != nil {
			return err
		}
	}
	return nil
}

// admitter is an engine that refuses writes to what has moved.
type admitter interface{ Admit(context.Context) error }

func (o *CopiesOptions) takeBackAll(ctx context.Context, p *place) error {
	c, err := store.CopiesIn(ctx, p)
	if err == nil && c.Moved == "" {
		err = errors.New("what is here has not moved away")
	}
	if err == nil {
		err = o.confirm("everything", "everything")
	}
	if a, ok := p.Engine.(admitter); ok && err == nil {
		err = a.Admit(ctx)
	}
	if err == nil {
		err = store.TakeBackAll(ctx, kv.Engine(p), kvcopy.Settled)
	}
	if err != nil {
		return err
	}
	return o.done("Everything is here again, as it was when it moved.")
}

// confirm asks whether what has moved is to be taken back.
func (o *CopiesOptions) confirm(what, word string) error {
	if o.Yes {
		return nil
	}
	_, err := fmt.Fprintf(o.Err, `WARNING: %s has moved away, and what was written where it is now is NOT here.
If it is still served there, there will be two that go different ways.
Take it back only if the other is lost for good. To go on, type %s: `, what, word)
	if err != nil {
		return err
	}
	line, err := bufio.NewReader(o.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(line) != word {
		return errUnconfirmed
	}
	return nil
}
