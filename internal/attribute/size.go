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
	if size, normal := normalSize(n); normal {
		return size
	}
	return n.decimal().size()
}

func (d decimal) size() int {
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

// normalSize is Number.Size for a text that is surely a normal form: of an ordinary number,
// with no more digits than are allowed even if all of them count. normal is false for all
// others.
func normalSize[T ~string | ~[]byte](text T) (size int, normal bool) {
	size = 1
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
		size++
	}
	whole, zeros := digitsOf(text)
	switch {
	case whole == 0 || len(text) > maxDigits || whole > 1 && text[0] == '0':
		return 0, false
	case whole == len(text): // zeros at the end count for nothing, and so does 0
		return size + (whole-zeros+1)/2, text[0] != '0' || size == 1
	case text[whole] != '.':
		return 0, false
	}
	point := text[whole+1:]
	fraction, zeros := digitsOf(point)
	if fraction == 0 || fraction < len(point) || zeros > 0 {
		return 0, false
	}
	if text[0] != '0' {
		return size + (whole+1)/2 + (fraction+1)/2, true
	}
	for point[0] == '0' { // the last digit is another one
		point = point[1:]
	}
	return size + (len(point)+1)/2, true
}

// digitsOf returns how many digits a text begins with, and how many of them are zeros at
// the end.
func digitsOf[T ~string | ~[]byte](text T) (digits, zeros int) {
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		zeros++
		if text[digits] != '0' {
			zeros = 0
		}
		digits++
	}
	return digits, zeros
}
