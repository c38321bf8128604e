package pebblekv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2/record"
)

// Pebble takes a record of its manifest that can't be read for the end of it, because
// that is how a power cut leaves the last one. A store whose manifest is damaged further
// up would so be opened as it was some time before, and what belongs to later versions be
// removed. So the engine reads the manifest by itself before Pebble does, and compares it
// with a copy (manifestcopy.go).

// version is what a manifest says, at the end of its last whole record.
type version struct {
	tables       map[tablePlace]table
	minLog       uint64 // logs below this number are in tables
	lastSequence uint64
	end          int64 // bytes of all whole records
}

// tablePlace is a table at a level.
type tablePlace struct{ level, number uint64 }

// table is a table of a version.
type table struct {
	file              uint64 // the number of its file, which a virtual table shares with others
	virtual           bool
	smallest, largest []byte // internal keys
	lowest, highest   uint64 // sequence numbers
}

// readManifest reads the whole records of a manifest. clean reports whether nothing follows them. The
// error is that of a record whose checksum is right and which this version of Pebble would not write.
func readManifest(data []byte) (v version, clean bool, err error) {
	v.tables = map[tablePlace]table{}
	r := record.NewReader(bytes.NewReader(data), 0)
	for {
		next, err := r.Next()
		var edit []byte
		if err == nil {
			edit, err = io.ReadAll(next)
		}
		if err != nil {
			return v, err == io.EOF && v.end == int64(len(data)), nil
		}
		if err := v.apply(edit); err != nil {
			return v, false, err
		}
		v.end = r.Offset()
	}
}

// The fields of an edit of a version, as Pebble's internal/manifest has them.
const (
	editComparer     = 1
	editMinLog       = 2
	editNextFile     = 3
	editLastSequence = 4
	editDeletedTable = 6
	editPreviousLog  = 9
	editNewTable2    = 100
	editNewTable4    = 103
	editNewBacking   = 105
	editGoneBacking  = 106

	tableEnd      = 1
	tableVirtual  = 66
	tableNotKnown = 64 // fields with this bit change what the others mean
)

var errEdit = errors.New("a record of the manifest has a field that is not known")

// apply applies an edit. What it deletes is from the version before.
func (v *version) apply(edit []byte) error {
	f := fields{rest: edit}
	added := map[tablePlace]table{}
	for len(f.rest) > 0 && !f.failed {
		switch f.number() {
		case editComparer:
			f.text()
		case editMinLog:
			v.minLog = f.number()
		case editLastSequence:
			v.lastSequence = f.number()
		case editNextFile, editPreviousLog, editGoneBacking:
			f.number()
		case editNewBacking:
			f.number()
			f.number()
		case editDeletedTable:
			delete(v.tables, tablePlace{level: f.number(), number: f.number()})
		case editNewTable2:
			place, t := f.table()
			added[place] = t
		case editNewTable4:
			place, t := f.table()
			f.more(&t)
			added[place] = t
		default:
			return errEdit
		}
	}
	for place, t := range added {
		v.tables[place] = t
	}
	if f.failed {
		return errEdit
	}
	return nil
}

// fields reads the fields of an edit one after the other.
type fields struct {
	rest   []byte
	failed bool
}

func (f *fields) number() uint64 {
	n, size := binary.Uvarint(f.rest)
	if size <= 0 {
		f.rest, f.failed = nil, true
		return 0
	}
	f.rest = f.rest[size:]
	return n
}

func (f *fields) text() []byte {
	n := f.number()
	if n > uint64(len(f.rest)) {
		f.rest, f.failed = nil, true
		return nil
	}
	text := f.rest[:n]
	f.rest = f.rest[n:]
	return text
}

func (f *fields) table() (tablePlace, table) {
	place := tablePlace{level: f.number(), number: f.number()}
	t := table{file: place.number}
	f.number() // its size
	t.smallest, t.largest = f.text(), f.text()
	t.lowest, t.highest = f.number(), f.number()
	return place, t
}

// more reads the fields of a table that are not in each.
func (f *fields) more(t *table) {
	for !f.failed {
		switch field := f.number(); {
		case field == tableEnd:
			return
		case field == tableVirtual:
			t.virtual, t.file = true, f.number()
		case field&tableNotKnown != 0:
			f.failed = true
		default:
			f.text()
		}
	}
}

// sequence is the sequence number of all entries of a table that was taken in, whose
// file does not have it; 0 for other tables.
func (t *table) sequence() uint64 {
	if t.lowest == t.highest {
		return t.lowest
	}
	return 0
}

// holds reports whether a key of a table's file is one of the table's.
func (t *table) holds(key []byte) bool {
	if !t.virtual {
		return true
	}
	largest, exclusive := userKey(t.largest)
	smallest, _ := userKey(t.smallest)
	c := bytes.Compare(key, largest)
	return bytes.Compare(key, smallest) >= 0 && (c < 0 || c == 0 && !exclusive)
}

// userKey is the key within an internal key, which ends with a sequence number and a kind.
// exclusive says that it is the end of a range, which does not belong to the table.
func userKey(internal []byte) (key []byte, exclusive bool) {
	if len(internal) < 8 {
		return internal, false
	}
	at := len(internal) - 8
	return internal[:at], binary.LittleEndian.Uint64(internal[at:])>>8 == 1<<56-1
}
