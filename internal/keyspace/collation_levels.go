package keyspace

// The two later levels of a sort key are mostly common weights: an unaccented
// lower-case character has nothing else. So a level is written as the number of
// common weights before each other weight, and ends with the last of those.
//
// A weight above the common one is the lower, the more common weights come
// before it: where one text has its accent, the other, with a common weight,
// is lower already. So the number is written descending. What remains of
// the level after its last weight says nothing: texts with equal primaries and
// equal weights so far have as many common weights left.

// secondaries collects the secondary level. Numbers of weights (as the table
// counts them) are 1 for the common one and ascend; 0 is no weight.
//
//	05 … 40   60 … 1 common weights
//	41 … FE   weights 2 … 191
//	FF n      weight 192 + n - 2
type secondaries struct {
	out    []byte
	common int
}

const (
	secondaryCommon   = 1
	secondaryRun      = 60
	secondaryRunFirst = 0x05
	secondaryFirst    = secondaryRunFirst + secondaryRun
	secondaryLong     = 0xff
	secondaryShort    = secondaryLong - secondaryFirst // weights of one byte
)

func (l *secondaries) reset() { l.out, l.common = l.out[:0], 0 }

func (l *secondaries) add(weight uint16) {
	switch weight {
	case 0:
		return
	case secondaryCommon:
		l.common++
		return
	}
	for l.common > 0 {
		n := min(l.common, secondaryRun)
		l.out = append(l.out, byte(secondaryRunFirst+secondaryRun-n))
		l.common -= n
	}
	if n := weight - secondaryCommon - 1; n < secondaryShort {
		l.out = append(l.out, byte(secondaryFirst+n))
	} else {
		l.out = append(l.out, secondaryLong, byte(firstTrail+n-secondaryShort))
	}
}

// appendTo appends the separator and the level, or nothing if all is common.
func (l *secondaries) appendTo(dst []byte) []byte {
	if len(l.out) == 0 {
		return dst
	}
	return append(append(dst, beginSecondary), l.out...)
}

// tertiaries collects the tertiary level. One weight, that of small kana, is
// below the common one: for it fewer common weights before it are lower, and the
// end of the level, where common weights go on for ever, is above it. Of those
// above the common weight upper case is by far the most frequent, so that it
// and the number before it share a byte.
//
//	00 2+n        the low weight after n common ones; n ≥ 253 has an FF for each 253
//	01            the end
//	06            83 common weights
//	255-3n-2 w    weight w below upper case, after n common ones
//	255-3n-1      upper case after n common ones
//	255-3n w      weight w above upper case, after n common ones
type tertiaries struct {
	out    []byte
	common int
}

const (
	tertiaryLow    = 1
	tertiaryCommon = 2
	tertiaryUpper  = 7

	lowRun       = 253
	lowRunMore   = 0xff
	tertiaryRun  = 83
	tertiaryMore = 0xff - 3*tertiaryRun
)

func (l *tertiaries) reset() { l.out, l.common = l.out[:0], 0 }

func (l *tertiaries) add(weight uint16) {
	switch weight {
	case 0:
		return
	case tertiaryCommon:
		l.common++
		return
	case tertiaryLow:
		l.addLow()
		return
	}
	for ; l.common >= tertiaryRun; l.common -= tertiaryRun {
		l.out = append(l.out, tertiaryMore)
	}
	first := byte(0xff - 3*l.common)
	switch {
	case weight < tertiaryUpper:
		l.out = append(l.out, first-2, byte(firstTrail+weight))
	case weight == tertiaryUpper:
		l.out = append(l.out, first-1)
	default:
		l.out = append(l.out, first, byte(firstTrail+weight))
	}
	l.common = 0
}

func (l *tertiaries) addLow() {
	l.out = append(l.out, lowWeight)
	for ; l.common >= lowRun; l.common -= lowRun {
		l.out = append(l.out, lowRunMore)
	}
	l.out = append(l.out, byte(firstTrail+l.common))
	l.common = 0
}

// appendTo appends the level and the end of the key.
func (l *tertiaries) appendTo(dst []byte) []byte {
	if len(l.out) > 0 && l.out[0] != lowWeight {
		dst = append(dst, beginTertiary)
	}
	return append(append(dst, l.out...), endLevels)
}
