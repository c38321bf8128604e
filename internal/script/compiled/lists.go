package compiled

import "github.com/sectional/sectional/internal/jsonscan"

// lists remembers where the elements of the JSON arrays read last begin and
// end, so that a loop over an array reads it once.
type lists struct {
	kept [4]list
	used int
	next int
}

type list struct {
	raw      []byte
	elements [][]byte
}

func (l *lists) clear() { l.used, l.next = 0, 0 }

// elements returns the elements of the JSON array raw; ok is false when the
// budget is spent.
func (m *Machine) elements(raw []byte) (elements [][]byte, ok bool) {
	l := &m.lists
	for i := range l.used {
		if &l.kept[i].raw[0] == &raw[0] {
			return l.kept[i].elements, true
		}
	}
	if !m.spend(16 + len(raw)) {
		return nil, false
	}
	at := &l.kept[l.next]
	l.next = (l.next + 1) % len(l.kept)
	l.used = min(l.used+1, len(l.kept))
	at.raw, at.elements = raw, at.elements[:0]
	for e := jsonscan.ElementsOf(raw); ; {
		element, ok := e.Next()
		if !ok {
			return at.elements, true
		}
		at.elements = append(at.elements, element)
	}
}
