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
	elements []extent
}

// extent is where a part of a text begins and ends.
type extent struct{ start, end uint32 }

func (l *lists) clear() { l.used, l.next = 0, 0 }

// elements returns where the elements of the JSON array raw are; ok is false when the
// budget is spent.
func (m *Machine) elements(raw []byte) (elements []extent, ok bool) {
	l := &m.lists
	for i := range l.used {
		if &l.kept[i].raw[0] == &raw[0] {
			return l.kept[i].elements, true
		}
	}
	if !m.spend(16 + 2*len(raw)) {
		return nil, false
	}
	elements = l.kept[l.next].elements[:0]
	for i := behindOpening(raw); ; {
		i = skipSeparators(raw, i)
		end := jsonscan.End(raw, i)
		if end == i {
			break
		}
		if len(elements) == cap(elements) {
			if elements, ok = grown(m, elements, 1); !ok {
				return nil, false
			}
		}
		elements = append(elements, extent{uint32(i), uint32(end)})
		i = end
	}
	l.kept[l.next] = list{raw, elements}
	l.next = (l.next + 1) % len(l.kept)
	l.used = min(l.used+1, len(l.kept))
	return elements, true
}
