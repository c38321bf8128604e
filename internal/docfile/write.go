package docfile

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"slices"

	"github.com/sectional/sectional/internal/jsonscan"
)

// Writer writes documents into a file.
type Writer interface {
	// Write takes a document, a valid JSON object.
	Write(doc []byte) error
	// Close writes what is held. It does not close what is written to.
	Close() error
}

// lineWriter writes JSON lines.
type lineWriter struct{ to *bufio.Writer }

// WriteLines writes a document in each line.
func WriteLines(to io.Writer) Writer { return lineWriter{bufio.NewWriterSize(to, 256<<10)} }

// Write implements Writer.
func (w lineWriter) Write(doc []byte) error {
	if _, err := w.to.Write(oneLine(doc)); err != nil {
		return err
	}
	return w.to.WriteByte('\n')
}

// Close implements Writer.
func (w lineWriter) Close() error { return w.to.Flush() }

// oneLine returns a document without line ends, which are none of its texts.
func oneLine(doc []byte) []byte {
	if !slices.Contains(doc, '\n') && !slices.Contains(doc, '\r') {
		return doc
	}
	out := slices.Clone(doc)
	for i, c := range out {
		if c == '\n' || c == '\r' {
			out[i] = ' '
		}
	}
	return out
}

// backup writes a file of couchbackup.
type backup struct {
	to       *bufio.Writer
	buffered int
	size     int
}

// How much couchbackup's files have in a line.
const (
	backupDocs  = 500
	backupBytes = 8 << 20
)

// WriteBackup writes a file as couchbackup does, for couchrestore.
func WriteBackup(to io.Writer, attachments bool) (Writer, error) {
	b := &backup{to: bufio.NewWriterSize(to, 256<<10)}
	_, err := fmt.Fprintf(b.to, `{"name":"@cloudant/couchbackup","version":"2.11.0","mode":"full","attachments":%t}`+"\n", attachments)
	return b, err
}

// Write implements Writer.
func (b *backup) Write(doc []byte) error {
	between := byte(',')
	if b.buffered == 0 {
		between = '['
	}
	if err := b.to.WriteByte(between); err != nil {
		return err
	}
	b.buffered, b.size = b.buffered+1, b.size+len(doc)
	if _, err := b.to.Write(oneLine(doc)); err != nil {
		return err
	}
	if b.buffered < backupDocs && b.size < backupBytes {
		return nil
	}
	return b.end()
}

func (b *backup) end() error {
	b.buffered, b.size = 0, 0
	_, err := b.to.WriteString("]\n")
	return err
}

// Close implements Writer.
func (b *backup) Close() error {
	if b.buffered > 0 {
		if err := b.end(); err != nil {
			return err
		}
	}
	return b.to.Flush()
}

// CSVWriter writes documents as records of CSV.
type CSVWriter struct {
	to       *csv.Writer
	columns  []string
	places   map[string]int // of the columns
	buffered [][]byte       // documents, until the columns are known
	size     int
	// Beyond counts values that had no column, Missed is up to ten members that have none.
	Beyond int64
	Missed []string
}

// What tells which columns there are, if nobody does.
const (
	firstDocs  = 1000
	firstBytes = 16 << 20
	maxMissed  = 10
)

// WriteCSV writes records with the given columns; nil: those that the first thousand documents have.
func WriteCSV(to io.Writer, columns []string) (*CSVWriter, error) {
	c := &CSVWriter{to: csv.NewWriter(to), columns: columns}
	if columns == nil {
		return c, nil
	}
	return c, c.to.Write(columns)
}

// Write implements Writer.
func (c *CSVWriter) Write(doc []byte) error {
	if c.columns != nil {
		return c.record(doc)
	}
	c.buffered, c.size = append(c.buffered, slices.Clone(doc)), c.size+len(doc)
	if len(c.buffered) < firstDocs && c.size < firstBytes {
		return nil
	}
	return c.begin()
}

// begin writes the header, and what was held for it.
func (c *CSVWriter) begin() error {
	names := []string{"_id"}
	seen := map[string]bool{"_id": true}
	for _, doc := range c.buffered {
		for m := jsonscan.MembersOf(doc); ; {
			name, _, ok := m.Next()
			if !ok {
				break
			}
			if n := string(jsonscan.Text(nil, name)); !seen[n] {
				seen[n], names = true, append(names, n)
			}
		}
	}
	c.columns = names
	if err := c.to.Write(names); err != nil {
		return err
	}
	held := c.buffered
	c.buffered = nil
	for _, doc := range held {
		if err := c.record(doc); err != nil {
			return err
		}
	}
	return nil
}

func (c *CSVWriter) record(doc []byte) error {
	if c.places == nil {
		c.places = make(map[string]int, len(c.columns))
		for i, name := range slices.Backward(c.columns) { // of those that are there twice the first is filled
			c.places[name] = i
		}
	}
	cells := make([]string, len(c.columns))
	for m := jsonscan.MembersOf(doc); ; {
		name, value, ok := m.Next()
		if !ok {
			return c.to.Write(cells)
		}
		n := string(jsonscan.Text(nil, name))
		i, there := c.places[n]
		if !there {
			if c.Beyond++; len(c.Missed) < maxMissed && !slices.Contains(c.Missed, n) {
				c.Missed = append(c.Missed, n)
			}
			continue
		}
		switch jsonscan.KindOf(value) {
		case jsonscan.String:
			cells[i] = string(jsonscan.Text(nil, value))
		case jsonscan.Null:
		default:
			cells[i] = string(jsonscan.Trim(value))
		}
	}
}

// Close implements Writer.
func (c *CSVWriter) Close() error {
	if c.columns == nil {
		if err := c.begin(); err != nil {
			return err
		}
	}
	c.to.Flush()
	return c.to.Error()
}
