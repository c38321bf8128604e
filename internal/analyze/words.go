package analyze

import (
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/segment"
)

// longest is how many characters a term has at most. Longer words are no words: those
// of words are left out, runs of characters are cut.
const longest = 255

// words cuts a text into words as Unicode defines them (UAX 29), as Lucene does: each
// ideograph is one, and so is a run of letters of a script that has no spaces.
type words struct{}

// Tokenize is analysis.Tokenizer's.
func (words) Tokenize(input []byte) analysis.TokenStream {
	if ascii(input) {
		return short(asciiWords(input))
	}
	return short(allWords(input))
}

// allWords is Tokenize for texts of all scripts.
func allWords(input []byte) (s analysis.TokenStream) {
	g := segment.NewWordSegmenterDirect(input)
	start, position := 0, 0
	joins := false // the last piece is of a script without spaces, and ends here
	var room tokens
	for g.Segment() {
		piece := g.Bytes()
		end := start + len(piece)
		without := g.Type() == segment.None && spaceless(piece)
		switch {
		case without && joins:
			last := s[len(s)-1]
			last.Term, last.End = input[last.Start:end:end], end
		case without || g.Type() != segment.None:
			position++
			t := room.next()
			*t = analysis.Token{Term: piece[:len(piece):len(piece)], Start: start, End: end, Position: position, Type: typeOf(g.Type())}
			s = append(s, t)
		}
		joins, start = without, end
	}
	return s
}

// tokens are made many at a time.
type tokens []analysis.Token

func (r *tokens) next() *analysis.Token {
	if len(*r) == cap(*r) {
		*r = make(tokens, 0, min(64, 2*cap(*r)+4))
	}
	*r = (*r)[:len(*r)+1]
	return &(*r)[len(*r)-1]
}

// short leaves out what is too long; it keeps its place.
func short(s analysis.TokenStream) analysis.TokenStream {
	return keep(func(t *analysis.Token) bool {
		return len(t.Term) <= longest || utf8.RuneCount(t.Term) <= longest
	})(s)
}

func typeOf(t int) analysis.TokenType {
	switch t {
	case segment.Ideo, segment.Kana:
		return analysis.Ideographic
	case segment.Number:
		return analysis.Numeric
	}
	return analysis.AlphaNumeric
}

// spaceless reports whether a piece is of a script that has no spaces between words.
func spaceless(piece []byte) bool {
	r, _ := utf8.DecodeRune(piece)
	return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && (unicode.IsLetter(r) || unicode.IsMark(r))
}

// runs cuts a text into the longest runs of characters, and those that are too long.
type runs func(rune) bool

// Tokenize is analysis.Tokenizer's.
func (in runs) Tokenize(input []byte) (s analysis.TokenStream) {
	start, length := 0, 0
	flush := func(end int) {
		if length > 0 {
			s = append(s, &analysis.Token{Term: input[start:end:end], Start: start, End: end, Position: len(s) + 1})
		}
		length = 0
	}
	for i := 0; i < len(input); {
		r, size := utf8.DecodeRune(input[i:])
		if !in(r) || length == longest {
			flush(i)
		}
		if in(r) {
			if length == 0 {
				start = i
			}
			length++
		}
		i += size
	}
	flush(len(input))
	return s
}

// pairs makes overlapping pairs of the characters of some scripts, where they follow
// each other; one that is alone stays alone.
func pairs(scripts ...*unicode.RangeTable) filter {
	return func(s analysis.TokenStream) (out analysis.TokenStream) {
		var run []*analysis.Token // characters that follow each other
		flush := func() {
			for i := range run {
				t := *run[i]
				if i+1 < len(run) {
					t.End = run[i+1].End
					t.Term = append(append([]byte(nil), t.Term...), run[i+1].Term...)
				}
				if i+1 < len(run) || len(run) == 1 {
					t.Position = len(out) + 1
					out = append(out, &t)
				}
			}
			run = run[:0]
		}
		for _, t := range s {
			r, _ := utf8.DecodeRune(t.Term)
			if len(run) > 0 && (run[len(run)-1].End != t.Start || !unicode.In(r, scripts...)) {
				flush()
			}
			if unicode.In(r, scripts...) {
				run = append(run, characters(t)...)
				continue
			}
			c := *t
			c.Position = len(out) + 1
			out = append(out, &c)
		}
		flush()
		return out
	}
}

// characters cuts a token into its characters, each with the marks after it. If a
// filter has changed its length, places are those of the whole.
func characters(t *analysis.Token) (all []*analysis.Token) {
	same := t.End-t.Start == len(t.Term)
	for i := 0; i < len(t.Term); {
		r, n := utf8.DecodeRune(t.Term[i:])
		c := &analysis.Token{Term: t.Term[i : i+n], Start: t.Start, End: t.End, Type: t.Type}
		if same {
			c.Start, c.End = t.Start+i, t.Start+i+n
		}
		if unicode.IsMark(r) && len(all) > 0 {
			last := all[len(all)-1]
			last.Term, last.End = append(append([]byte(nil), last.Term...), c.Term...), c.End
		} else {
			all = append(all, c)
		}
		i += n
	}
	return all
}
