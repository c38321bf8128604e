package jsonscan

import (
	"bytes"
	"strconv"
)

// sureDigits is a length up to which a number without an exponent is certainly
// within a double's range, which ends at 308 digits.
const sureDigits = 300

// number scans a number. A double may round it, but not make it infinite: every
// consumer that computes would stumble over it later.
func (s *scanner) number() {
	start, exponent := s.at, false
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else {
		s.digits()
	}
	if s.peek() == '.' {
		s.at++
		s.digits()
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		exponent = true
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		s.digits()
	}
	if s.err == nil && (exponent || s.at-start > sureDigits) && !Finite(s.src[start:s.at]) {
		s.fail(NotJSON)
	}
}

// digits scans one or more digits.
func (s *scanner) digits() {
	i := s.at
	for i < len(s.src) && '0' <= s.src[i] && s.src[i] <= '9' {
		i++
	}
	if i == s.at {
		s.fail(NotJSON)
		return
	}
	s.at = i
}

// Finite reports whether a well-formed number is within a double's range.
func Finite(text []byte) bool {
	if e := bytes.IndexAny(text, "eE"); 0 < e && e < 100 && len(text)-e <= len("e99") {
		return true // the ordinary case, without a conversion
	}
	_, err := strconv.ParseFloat(string(text), 64)
	return err == nil
}
