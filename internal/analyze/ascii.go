package analyze

import (
	"github.com/blevesearch/bleve/v2/analysis"
)

// ascii reports whether a text has ASCII characters alone.
func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// The classes of ASCII characters by which words are cut.
const (
	between      = iota
	ofLetter     // joins letters, digits and underscores
	ofDigit      // the same
	ofUnderscore // the same
	midLetter    // joins two letters
	midNumber    // joins two digits
	midAnything  // joins two letters, and two digits
)

func classOf(c byte) int {
	switch {
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		return ofLetter
	case '0' <= c && c <= '9':
		return ofDigit
	}
	switch c {
	case '_':
		return ofUnderscore
	case ':':
		return midLetter
	case ',', ';':
		return midNumber
	case '.', '\'':
		return midAnything
	}
	return between
}

// asciiWords is what words.Tokenize returns for a text of ASCII characters, in a third of
// the time: most texts are.
func asciiWords(input []byte) analysis.TokenStream {
	tokens := make([]analysis.Token, 0, len(input)/5+1) // of one piece of memory
	for at := 0; at < len(input); {
		if class := classOf(input[at]); class == between || class > ofUnderscore {
			at++
			continue
		}
		end, letters, digits := wordAt(input, at)
		t := analysis.Token{Term: input[at:end:end], Start: at, End: end, Position: len(tokens) + 1, Type: analysis.AlphaNumeric}
		if digits && !letters {
			t.Type = analysis.Numeric
		}
		tokens, at = append(tokens, t), end
	}
	if len(tokens) == 0 {
		return nil
	}
	s := make(analysis.TokenStream, len(tokens))
	for i := range tokens {
		s[i] = &tokens[i]
	}
	return s
}

// wordAt returns the end of the word that begins at a place, and what it has.
func wordAt(input []byte, at int) (end int, letters, digits bool) {
	for end = at; end < len(input); end++ {
		switch class := classOf(input[end]); class {
		case ofLetter:
			letters = true
		case ofDigit:
			digits = true
		case ofUnderscore:
		case between:
			return end, letters, digits
		default:
			if end+1 == len(input) || !joined(class, classOf(input[end-1]), classOf(input[end+1])) {
				return end, letters, digits
			}
		}
	}
	return end, letters, digits
}

// joined reports whether a character in the middle joins those beside it.
func joined(middle, before, after int) bool {
	return before == after && (before == ofLetter && middle != midNumber || before == ofDigit && middle != midLetter)
}
