package partiql

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Kinds of tokens. Symbols and keywords, in upper case, are their own kinds.
const (
	tokenEnd    = "end"
	tokenName   = "name"   // an identifier that is no keyword
	tokenQuoted = "quoted" // an identifier in double quotes
	tokenString = "string"
	tokenNumber = "number" // without a sign
)

type token struct {
	kind       string
	text       string // without quotes
	start, end int
}

// keywords are the words that are no names. Those of a place, like VALUE, RETURNING or
// NUMERIC, may be names elsewhere.
var keywords = []string{
	"SELECT", "FROM", "WHERE", "INSERT", "INTO", "UPDATE", "SET", "DELETE", "AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "MISSING", "TRUE", "FALSE", "ORDER", "BY", "ASC", "DESC",
	"AS", "GROUP", "HAVING", "JOIN", "INNER", "OUTER", "LEFT", "RIGHT", "CROSS", "UNION", "LIKE", "CASE", "CREATE", "DROP", "TABLE", "VALUES", "EXISTS", "DISTINCT",
}

// symbols are in an order in which none is found before a longer one.
var symbols = []string{"<<", ">>", "<>", "!=", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", "{", "}", ",", ".", ":", "?", "*", "+", "-", ";"}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isFirst(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$'
}
func isPart(c byte) bool { return isFirst(c) || isDigit(c) }

// tokenize cuts a text into tokens; the last is the end. Errors: Validation.
func tokenize(text string) (tokens []token, err error) {
	for at := 0; ; {
		if at, err = blank(text, at); err != nil {
			return nil, err
		}
		if at == len(text) {
			return append(tokens, token{tokenEnd, "", at, at}), nil
		}
		t, err := scan(text, at)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		at = t.end
	}
}

// blank returns the index after blanks and comments.
func blank(text string, at int) (int, error) {
	for {
		at = run(text, at, func(c byte) bool { return strings.IndexByte(" \t\r\n", c) >= 0 })
		switch {
		case strings.HasPrefix(text[at:], "--"):
			at = run(text, at, func(c byte) bool { return c != '\n' })
		case strings.HasPrefix(text[at:], "/*"):
			length := strings.Index(text[at+2:], "*/")
			if length < 0 {
				return at, malformed("")
			}
			at += length + 4
		default:
			return at, nil
		}
	}
}

// scan returns the token that begins at an index.
func scan(text string, at int) (token, error) {
	c := text[at]
	switch {
	case isFirst(c):
		end := run(text, at, isPart)
		word := text[at:end]
		if upper := strings.ToUpper(word); slices.Contains(keywords, upper) {
			return token{upper, word, at, end}, nil
		}
		return token{tokenName, word, at, end}, nil
	case isDigit(c), c == '.' && at+1 < len(text) && isDigit(text[at+1]):
		end := number(text, at)
		return token{tokenNumber, text[at:end], at, end}, nil
	case c == '\'':
		return quoted(text, at, tokenString)
	case c == '"':
		return quoted(text, at, tokenQuoted)
	}
	for _, s := range symbols {
		if strings.HasPrefix(text[at:], s) {
			return token{s, s, at, at + len(s)}, nil
		}
	}
	r, _ := utf8.DecodeRuneInString(text[at:])
	return token{}, malformed("Unexpected character %q", r)
}

// run returns the index of the first byte from at on that is not of a sort.
func run(text string, at int, of func(byte) bool) int {
	for at < len(text) && of(text[at]) {
		at++
	}
	return at
}

// number returns the end of a number: digits with or without a point, an exponent.
func number(text string, at int) int {
	at = run(text, at, isDigit)
	if at < len(text) && text[at] == '.' {
		at = run(text, at+1, isDigit)
	}
	if at < len(text) && text[at]|0x20 == 'e' {
		digits := at + 1
		if digits < len(text) && (text[digits] == '-' || text[digits] == '+') {
			digits++
		}
		if end := run(text, digits, isDigit); end > digits {
			return end
		}
	}
	return at
}

// quoted reads up to the quote that is not doubled.
func quoted(text string, at int, kind string) (token, error) {
	quote := text[at : at+1]
	for end := at + 1; ; {
		next := strings.Index(text[end:], quote)
		if next < 0 {
			return token{}, malformed("Unexpected end of a text in quotes")
		}
		if end += next + 1; !strings.HasPrefix(text[end:], quote) {
			return token{kind, strings.ReplaceAll(text[at+1:end-1], quote+quote, quote), at, end}, nil
		}
		end++
	}
}
