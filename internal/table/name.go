package table

import "strings"

// Tables have names of letters, digits and "_-."; databases have small letters, digits and
// "_$()+/-" after a small letter. A dollar changes the character before it: a letter into
// the capital one, "_" into ".". What does not begin with a letter has unlettered before it.
//
//	projects         projects
//	ProductCatalog   p$roductc$atalog
//	prod.Orders      prod_$o$rders
//	2024-orders      x$$2024-orders
const unlettered = "x$$"

// DatabaseOf returns the name of the database that a table is. ok is false for what no
// table may be called.
func DatabaseOf(table string) (name string, ok bool) {
	if len(table) < minName || len(table) > MaxName {
		return "", false
	}
	var b strings.Builder
	if c := table[0] | 0x20; c < 'a' || c > 'z' {
		b.WriteString(unlettered)
	}
	for i := range len(table) {
		switch c := table[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '-':
			b.WriteByte(c)
		case 'A' <= c && c <= 'Z':
			b.WriteByte(c | 0x20)
			b.WriteByte('$')
		case c == '.':
			b.WriteString("_$")
		default:
			return "", false
		}
	}
	return b.String(), true
}

// NameOf returns the name of the table that a database is. ok is false for a database
// whose name no table has.
func NameOf(database string) (table string, ok bool) {
	rest := strings.TrimPrefix(database, unlettered)
	b := make([]byte, 0, len(rest))
	for i := range len(rest) {
		c := rest[i]
		if c != '$' {
			b = append(b, c)
			continue
		}
		last := len(b) - 1
		switch {
		case last < 0 || rest[i-1] == '$':
			return "", false
		case 'a' <= b[last] && b[last] <= 'z':
			b[last] &^= 0x20
		case b[last] == '_':
			b[last] = '.'
		default:
			return "", false
		}
	}
	again, ok := DatabaseOf(string(b))
	return string(b), ok && again == database
}
