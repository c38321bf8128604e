package view

import (
	"bytes"
	"strconv"

	"github.com/sectional/sectional/internal/jsonscan"
)

// statistician is _stats: sum, count, smallest, largest and sum of squares of
// numbers, or of each element of arrays of numbers. Values may be statistics
// themselves.
type statistician struct{}

// statistic is what _stats says of one series of numbers.
type statistic [len(statMembers)]number

var statMembers = [...]string{"sum", "count", "min", "max", "sumsqr"}

const (
	statSum = iota
	statCount
	statMin
	statMax
	statSquares
)

// stats are statistics on their way.
type stats struct {
	series []statistic
	array  bool // values are arrays
	bad    []byte
}

func (statistician) begin() fold { return &stats{} }

func (statistician) value(_ uint64, state []byte) []byte { return state[1:] }

func (s *stats) row(r *Row)     { s.add(r.Value) }
func (s *stats) state(b []byte) { s.add(b[1:]) }

func (s *stats) refuse(reason string) {
	if s.bad == nil {
		s.bad = failure(tagRefusal, "invalid_value", reason)
	}
}

func (s *stats) refuseValue(v []byte) {
	s.refuse("The _stats function requires that map values be numbers or arrays of numbers, not '" + string(appendTerm(nil, v)) + "'")
}

func (s *stats) add(v []byte) {
	if s.bad != nil {
		return
	}
	array := jsonscan.KindOf(v) == jsonscan.Array
	began := s.series != nil
	if began && array != s.array {
		s.refuseValue(v)
		return
	}
	var next []statistic
	if array {
		next = make([]statistic, 0, 4)
		for it := jsonscan.ElementsOf(v); ; {
			e, ok := it.Next()
			if !ok {
				break
			}
			one, ok := s.one(e, v)
			if !ok {
				return
			}
			next = append(next, one)
		}
	} else {
		one, ok := s.one(v, v)
		if !ok {
			return
		}
		next = []statistic{one}
	}
	switch {
	case !began:
		s.series, s.array = next, array
	case len(next) != len(s.series):
		s.refuseValue(v)
	default:
		for i := range next {
			s.series[i].merge(&next[i])
		}
	}
}

// one reads a number or a statistic; whole is the value that it is in.
func (s *stats) one(v, whole []byte) (t statistic, ok bool) {
	switch jsonscan.KindOf(v) {
	case jsonscan.Number:
		n := parseNumber(v)
		return statistic{n, number{small: 1}, n, n, n.times(n)}, true
	case jsonscan.Object:
	default:
		s.refuseValue(whole)
		return t, false
	}
	for i, name := range statMembers {
		m, ok := jsonscan.Member(v, name)
		if !ok {
			fields := bytes.TrimSuffix(bytes.TrimPrefix(appendTerm(nil, v), []byte("{")), []byte("}"))
			s.refuse("user _stats input missing required field " + name + " (" + string(fields) + ")")
			return t, false
		}
		if jsonscan.KindOf(m) != jsonscan.Number {
			s.refuse("non-numeric _stats input received for " + name + ": " + string(appendRawTerm(nil, m)))
			return t, false
		}
		t[i] = parseNumber(m)
	}
	return t, true
}

func (t *statistic) merge(u *statistic) {
	for _, i := range []int{statSum, statCount, statSquares} {
		t[i] = t[i].plus(u[i])
	}
	if u[statMin].compare(t[statMin]) < 0 {
		t[statMin] = u[statMin]
	}
	if u[statMax].compare(t[statMax]) > 0 {
		t[statMax] = u[statMax]
	}
}

func (s *stats) end() []byte {
	if s.bad != nil {
		return s.bad
	}
	b := []byte{tagValue}
	if s.array {
		b = append(b, '[')
	}
	for i := range s.series {
		if i > 0 {
			b = append(b, ',')
		}
		for j, n := range s.series[i] {
			if !n.finite() {
				return failure(tagRefusal, "invalid_value", "A sum is too large for a number.")
			}
			b = append(b, "{,,,,"[j])
			b = append(append(append(b, '"'), statMembers[j]...), `":`...)
			b = n.append(b)
		}
		b = append(b, '}')
	}
	if s.array {
		b = append(b, ']')
	}
	return b
}

// appendTerm writes a JSON value as CouchDB shows it in errors: the Erlang term.
func appendTerm(dst, v []byte) []byte {
	switch jsonscan.KindOf(v) {
	case jsonscan.String:
		return append(append(append(dst, `<<"`...), textOf(v)...), `">>`...)
	case jsonscan.Array:
		dst = append(dst, '[')
		for it, first := jsonscan.ElementsOf(v), true; ; first = false {
			e, ok := it.Next()
			if !ok {
				return append(dst, ']')
			}
			if !first {
				dst = append(dst, ',')
			}
			dst = appendTerm(dst, e)
		}
	case jsonscan.Object:
		dst = append(dst, "{["...)
		for it, first := jsonscan.MembersOf(v), true; ; first = false {
			name, e, ok := it.Next()
			if !ok {
				return append(dst, "]}"...)
			}
			if !first {
				dst = append(dst, ',')
			}
			dst = append(appendTerm(append(dst, '{'), name), ',')
			dst = append(appendTerm(dst, e), '}')
		}
	}
	return append(dst, v...)
}

// appendRawTerm is appendTerm with the bytes of a string as numbers.
func appendRawTerm(dst, v []byte) []byte {
	if jsonscan.KindOf(v) != jsonscan.String {
		return appendTerm(dst, v)
	}
	dst = append(dst, "<<"...)
	for i, c := range []byte(textOf(v)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(c), 10)
	}
	return append(dst, ">>"...)
}
