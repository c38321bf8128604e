package keyspace

import (
	"bytes"
	"cmp"

	"github.com/sectional/sectional/internal/jsonscan"
)

// CompareJSON compares two JSON values in the order of AppendCollated, without
// encoding them.
func CompareJSON(a, b []byte) int { return compareTokens(a, b, rankCollated, CompareText) }

// CompareRawJSON compares two JSON values in the order of AppendRaw.
func CompareRawJSON(a, b []byte) int { return compareTokens(a, b, rankRaw, bytes.Compare) }

// CompareKinds compares two values of different kinds in the order of
// AppendCollated.
func CompareKinds(a, b jsonscan.Kind) int { return cmp.Compare(rankCollated(a), rankCollated(b)) }

// CompareRawKinds compares two values of different kinds in the order of
// AppendRaw.
func CompareRawKinds(a, b jsonscan.Kind) int { return cmp.Compare(rankRaw(a), rankRaw(b)) }

// rankCollated and rankRaw give the place of each kind in the two orders.
func rankCollated(k jsonscan.Kind) int { return int(k) }

func rankRaw(k jsonscan.Kind) int {
	return [...]int{0, 3, 2, 4, 1, 7, 6, 5}[k] // null false true number string array object
}

// compareTokens walks both texts side by side to the first tokens that differ.
// Up to there both have the same form, so that two tokens always are at the
// same place of the same array or object; a closing bracket (Invalid) ranks
// below all, since the shorter comes first.
func compareTokens(a, b []byte, rank func(jsonscan.Kind) int, text func(a, b []byte) int) int {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		ka, sa, ea := jsonscan.Token(a, i)
		kb, sb, eb := jsonscan.Token(b, j)
		c := 0
		switch {
		case ka != kb:
			c = cmp.Compare(rank(ka), rank(kb))
		case ka == jsonscan.Number:
			c = CompareNumbers(a[sa:ea], b[sb:eb])
		case ka == jsonscan.String && !bytes.Equal(a[sa:ea], b[sb:eb]):
			c = text(jsonscan.Text(nil, a[sa:ea]), jsonscan.Text(nil, b[sb:eb]))
		}
		if c != 0 {
			return c
		}
		i, j = ea, eb
	}
	return 0
}

// compareBools puts false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
