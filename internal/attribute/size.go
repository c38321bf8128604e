package attribute

// MaxItemSize is how large an item may be; one byte more is refused.
const MaxItemSize = 400 * 1024

// What lists and maps cost beyond their elements, and each of these.
const (
	nestedSize  = 3
	elementSize = 1
)

// CheckPut refuses an item that is too large, in the words for a new one.
func (i Item) CheckPut() error {
	if i.Size() > MaxItemSize {
		return errTooLarge
	}
	return nil
}

// CheckUpdate refuses an item that an update made too large or nested too deeply.
func (i Item) CheckUpdate() error {
	for _, a := range i.attributes {
		if a.Value.Depth() > MaxDepth {
			return errTooDeep
		}
	}
	if i.Size() > MaxItemSize {
		return Invalid("Item size to update has exceeded the maximum allowed size")
	}
	return nil
}

// Size returns the size of the item as DynamoDB counts it: the names and the values
// in bytes of UTF-8 (the Developer Guide's "DynamoDB item sizes and formats"; numbers
// as measured, see Number.Size).
func (i Item) Size() int {
	size := 0
	for _, a := range i.attributes {
		size += len(a.Name) + a.Value.Size()
	}
	return size
}

// Size returns the size of the value.
func (v Value) Size() int {
	switch v.kind {
	case S, B:
		return len(v.text)
	case N:
		return v.Number().Size()
	case BOOL, NULL:
		return 1
	case M:
		return nestedSize + v.Map().Size() + elementSize*v.Len()
	case L:
		size := nestedSize + elementSize*v.Len()
		for _, e := range v.List() {
			size += e.Size()
		}
		return size
	}
	size := 0
	for _, e := range v.Set() {
		size += Value{kind: v.kind.Element(), text: e}.Size()
	}
	return size
}

// Size returns the size of the number: a byte, one for each two significant digits
// before the point, one for each two after it, and one for a minus. AWS documents it
// without the point; this is what was measured (nubo-db/dynamodb-conformance).
func (n Number) Size() int {
	d := n.decimal()
	if d.digits == "" {
		return 1
	}
	size := 1
	if d.negative {
		size++
	}
	whole := min(max(d.exponent+1, 0), len(d.digits))
	return size + (whole+1)/2 + (len(d.digits)-whole+1)/2
}
