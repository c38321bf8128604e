package docfile

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// CSVOptions are how a file of CSV is read. The zero value reads texts, with commas between them.
type CSVOptions struct {
	Comma rune // 0: a comma
	// Detect makes numbers, true, false, null, arrays and objects of cells that are such in JSON.
	Detect bool
	// Numbers, Booleans and JSON are columns whose cells have to be such.
	Numbers, Booleans, JSON []string
}

// csvReader reads a file of CSV.
type csvReader struct {
	o    CSVOptions
	in   *csv.Reader
	from *bounded
	cols [][]byte // names as JSON
	kind []func(string) ([]byte, error)
}

// maxRecord bounds a record: a quote that is never closed would take the rest of the file.
const maxRecord = 64 << 20

// CSV reads a file whose first line names the columns, and makes a document of each record: a member for each cell that
// is not empty. Errors: Invalid for a header that is none.
func CSV(in io.Reader, o CSVOptions) (Reader, error) { return newCSV(in, o, maxRecord) }

// newCSV is CSV with records of so many bytes.
func newCSV(in io.Reader, o CSVOptions, most int) (Reader, error) {
	from := &bounded{from: in, max: most, left: most}
	c := &csvReader{o: o, in: csv.NewReader(from), from: from}
	if o.Comma != 0 {
		c.in.Comma = o.Comma
	}
	c.in.ReuseRecord = true
	names, err := c.in.Read()
	if errors.Is(err, io.EOF) {
		return nil, dberr.New(dberr.Invalid, "bad_request", "The file is empty: its first line names the columns.")
	}
	if err != nil {
		return nil, dberr.New(dberr.Invalid, "bad_request", "%s", "The first line names no columns: "+err.Error())
	}
	return c, c.columns(slices.Clone(names))
}

// columns takes the header.
func (c *csvReader) columns(names []string) error {
	names[0] = strings.TrimPrefix(names[0], "\ufeff")
	seen := make(map[string]bool, len(names))
	kinds := map[string]func(string) ([]byte, error){}
	for _, of := range []struct {
		names []string
		kind  func(string) ([]byte, error)
	}{{c.o.JSON, value}, {c.o.Booleans, boolean}, {c.o.Numbers, number}} {
		for _, name := range of.names {
			kinds[name] = of.kind
		}
	}
	for i, name := range names {
		if name == "" || seen[name] {
			return dberr.New(dberr.Invalid, "bad_request", "%s", fmt.Sprintf("The first line names the columns: number %d, %q, is empty or there twice.", i+1, name))
		}
		seen[name] = true
		kind := kinds[name]
		switch {
		case kind != nil:
		case c.o.Detect && name != "_id":
			kind = detect
		default:
			kind = text
		}
		c.cols, c.kind = append(c.cols, jsonscan.AppendQuoted(nil, name)), append(c.kind, kind)
	}
	for _, name := range slices.Concat(c.o.Numbers, c.o.Booleans, c.o.JSON) {
		if !seen[name] {
			return dberr.New(dberr.Invalid, "bad_request", "%s", "There is no column "+name+".")
		}
	}
	return nil
}

// Next implements Reader.
func (c *csvReader) Next() (Doc, error) {
	c.from.left = c.from.max
	cells, err := c.in.Read()
	if p := (*csv.ParseError)(nil); errors.As(err, &p) {
		if errors.Is(p.Err, csv.ErrFieldCount) {
			return Doc{Line: int64(p.StartLine), Err: fmt.Errorf("it has %d cells, and there are %d columns", len(cells), len(c.cols))}, nil
		}
		return Doc{Line: int64(p.StartLine), Err: p.Err}, nil
	}
	if err != nil {
		return Doc{}, err
	}
	line, _ := c.in.FieldPos(0)
	doc := []byte{'{'}
	for i, cell := range cells {
		if cell == "" {
			continue
		}
		v, err := c.kind[i](cell)
		if err != nil {
			return Doc{Line: int64(line), Err: fmt.Errorf("%s: %w", c.cols[i], err)}, nil
		}
		if len(doc) > 1 {
			doc = append(doc, ',')
		}
		doc = append(append(append(doc, c.cols[i]...), ':'), v...)
	}
	return Doc{Line: int64(line), Raw: append(doc, '}')}, nil
}

func text(cell string) ([]byte, error) {
	return jsonscan.AppendQuoted(nil, strings.ToValidUTF8(cell, "\ufffd")), nil
}

// numeral is a number as JSON writes it.
var numeral = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

func number(cell string) ([]byte, error) {
	if cell = strings.TrimSpace(cell); !numeral.MatchString(cell) || !jsonscan.Finite([]byte(cell)) {
		return nil, fmt.Errorf("%.100q is not a number", cell)
	}
	return []byte(cell), nil
}

func boolean(cell string) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(cell)) {
	case "true", "t", "yes", "y", "1":
		return []byte("true"), nil
	case "false", "f", "no", "n", "0":
		return []byte("false"), nil
	}
	return nil, fmt.Errorf("%.100q is neither true nor false", cell)
}

func value(cell string) ([]byte, error) {
	if !json.Valid([]byte(cell)) {
		return nil, fmt.Errorf("%.100q is no JSON", cell)
	}
	return []byte(cell), nil
}

// detect makes what a cell is in JSON, if that says the same: a number that a double would change stays a text.
func detect(cell string) ([]byte, error) {
	switch cell[0] {
	case '{', '[', 't', 'f', 'n':
		if json.Valid([]byte(cell)) {
			return []byte(cell), nil
		}
	default:
		if numeral.MatchString(cell) && exact(cell) {
			return []byte(cell), nil
		}
	}
	return text(cell)
}

// exact reports whether a number is one of up to fifteen digits, which every client reads as it is.
func exact(cell string) bool {
	if len(cell) > 24 || !jsonscan.Finite([]byte(cell)) {
		return false
	}
	digits := strings.Trim(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.SplitN(strings.ToLower(cell), "e", 2)[0]), "0")
	_, ok := new(big.Float).SetString(cell)
	return ok && len(digits) <= 15
}

// bounded is a reader that ends with an error when too much is read at once.
type bounded struct {
	from io.Reader
	max  int
	left int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a record of more than %d bytes: is a quote missing?", b.max)
	}
	n, err := b.from.Read(p)
	b.left -= n
	return n, err
}
