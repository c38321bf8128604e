package jsonscan

const usualSpecial = 4 // _id, _rev, and hardly ever more than two others

// split scans the object that Split was called for and takes out its special
// members. Their values move to the far end of the memory that out was given:
// out and they together are never longer than what has been read.
func (s *scanner) split() (special []Special) {
	seen := s.openNames()
	tail, kept := cap(s.out), 0
	for more := s.open('}'); more; more = s.more('}') {
		if kept == 0 && len(special) > 0 {
			s.flush()
			s.out = s.out[:1] // without the comma after a member taken out
		}
		if !s.maySpecial() {
			s.name(&seen)
			s.value()
			kept++
			continue
		}
		s.flush()
		start := len(s.out) - min(kept, 1) // with the comma before it
		name := s.name(&seen)
		s.flush()
		value := len(s.out)
		s.value()
		if len(name) == 0 || name[0] != '_' {
			kept++
			continue
		}
		s.flush()
		end := tail
		tail -= len(s.out) - value
		copy(s.out[tail:end], s.out[value:])
		special = appendSpecial(special, name, s.out[tail:end:end])
		s.out = s.out[:start]
	}
	s.closeNames(&seen)
	return special
}

func appendSpecial(special []Special, name, value []byte) []Special {
	if special == nil {
		special = make([]Special, 0, usualSpecial)
	}
	return append(special, Special{Name: specialName(name), Value: value})
}

// maySpecial reports whether the name that comes next may begin with an
// underscore, as it is or as an escape.
func (s *scanner) maySpecial() bool {
	return s.at+1 < len(s.src) && (s.src[s.at+1] == '_' || s.src[s.at+1] == '\\')
}

// specialName decodes the name of a special member; the usual ones cost no
// memory.
func specialName(text []byte) string {
	switch string(text) {
	case "_id":
		return "_id"
	case "_rev":
		return "_rev"
	case "_deleted":
		return "_deleted"
	case "_attachments":
		return "_attachments"
	case "_revisions":
		return "_revisions"
	}
	name, _ := appendUnescaped(nil, text)
	return string(name)
}
