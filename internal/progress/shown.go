package progress

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// Shown returns a text of others, such as a document's id, in a form that a terminal prints and does not act on: characters that are not
// printable (control characters, line ends, those that change the direction of writing) are escaped as in a string of Go.
func Shown(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == '\ufffd' || !strconv.IsPrint(r) }) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		quoted, rest := strconv.Quote(text), "" // of all of it, unless there are quotes, which stay as they are
		if i := strings.IndexAny(text, `"\`); i >= 0 {
			quoted, rest = strconv.Quote(text[:i]), text[i:]
		}
		b.WriteString(quoted[1 : len(quoted)-1])
		if text = rest; text != "" {
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String()
}

// Lines is Shown for a text that may have several lines, such as a joined error: their ends stay.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Shown(line)
	}
	return strings.Join(lines, "\n")
}

// Fprintf is fmt.Fprintf for people: the texts and errors among args are Shown, and the format stays as it is. Errors: those of w.
func Fprintf(w io.Writer, format string, args ...any) (n int, err error) {
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = arg
		if err, is := arg.(error); is {
			shown[i] = Shown(err.Error())
		} else if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
			shown[i] = Shown(v.String())
		}
	}
	return fmt.Fprintf(w, format, shown...)
}
