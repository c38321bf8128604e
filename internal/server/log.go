package server

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
)

// maxLogged is the most bytes of a value in the log: names, paths and causes come from
// anybody.
const maxLogged = 2 << 10

// newLog makes the server's log.
func newLog(out io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: cutAttr}))
}

// cutAttr cuts the value of an attribute that is too long, and reports how long it was.
func cutAttr(_ []string, a slog.Attr) slog.Attr {
	text := ""
	switch a.Value.Kind() {
	case slog.KindString:
		text = a.Value.String()
	case slog.KindAny:
		text = fmt.Sprintf("%+v", a.Value.Any())
	}
	if len(text) > maxLogged {
		a.Value = slog.StringValue(strings.ToValidUTF8(text[:maxLogged], "") + "… (" + strconv.Itoa(len(text)) + " bytes)")
	}
	return a
}
