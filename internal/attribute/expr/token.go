package expr

import (
	"strings"
	"unicode/utf8"
)

// Kinds of tokens. Symbols and keywords are their own kinds, keywords in upper case.
const (
	tokenEnd   = "<EOF>"
	tokenWord  = "word" // a name as it is
	tokenName  = "#"    // the placeholder of a name
	tokenValue = ":"    // the placeholder of a value
	tokenIndex = "index"
	tokenBad   = "bad" // a character that nothing begins with
)

type token struct {
	kind       string
	text       string
	start, end int
}

// keyword returns the keyword that a word is, in whatever case, "" if it is none.
func keyword(word string) string {
	switch upper := strings.ToUpper(word); upper {
	case "AND", "OR", "NOT", "IN", "BETWEEN", "SET", "REMOVE", "ADD", "DELETE":
		return upper
	}
	return ""
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isPart(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' }

// tokenize cuts a text into tokens; the last is the end.
func tokenize(text string) []token {
	var tokens []token
	for at := 0; ; {
		for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
			at++
		}
		if at == len(text) {
			return append(tokens, token{tokenEnd, tokenEnd, at, at})
		}
		kind, end := scan(text, at)
		tokens = append(tokens, token{kind, text[at:end], at, end})
		at = end
	}
}

// scan returns the kind and the end of the token that begins at an index.
func scan(text string, at int) (kind string, end int) {
	c := text[at]
	end = at + 1
	switch {
	case isLetter(c):
		end = run(text, end, isPart)
		if k := keyword(text[at:end]); k != "" {
			return k, end
		}
		return tokenWord, end
	case c == '#' || c == ':':
		if end = run(text, end, isPart); end > at+1 {
			return string(c), end
		}
		return tokenBad, end
	case c == '0':
		return tokenIndex, end
	case isDigit(c):
		return tokenIndex, run(text, end, isDigit)
	}
	for _, symbol := range []string{"<>", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", ",", ".", "+", "-"} {
		if strings.HasPrefix(text[at:], symbol) {
			return symbol, at + len(symbol)
		}
	}
	_, size := utf8.DecodeRuneInString(text[at:])
	return tokenBad, at + size
}

// run returns the index of the first byte from at on that is not of a sort.
func run(text string, at int, of func(byte) bool) int {
	for at < len(text) && of(text[at]) {
		at++
	}
	return at
}
