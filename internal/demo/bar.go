package demo

import (
	"fmt"
	"io"
	"strings"
)

// barWidth is the number of cells between the brackets.
const barWidth = 30

// bar draws the progress of one database on one line, rewriting it in place. What it could not write is remembered
// and given back by end, so that a closed terminal does not stop the load half way through a batch.
type bar struct {
	out  io.Writer
	name string
	err  error
}

// show draws the line for done of total documents.
func (b *bar) show(done, total int) {
	if b.out == nil || b.err != nil || total == 0 {
		return
	}
	cells := done * barWidth / total
	_, b.err = fmt.Fprintf(b.out, "\r%-9s [%s%s] %d/%d", b.name,
		strings.Repeat("#", cells), strings.Repeat(".", barWidth-cells), done, total)
}

// end finishes the line.
func (b *bar) end() error {
	if b.out == nil || b.err != nil {
		return b.err
	}
	_, err := fmt.Fprintln(b.out)
	return err
}
