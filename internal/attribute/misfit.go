package attribute

import (
	"errors"
	"strconv"
	"strings"
)

// Misfit says why a document is not an item.
type Misfit struct {
	Where string // a JSON pointer into the body
	Why   string
}

// Error returns the reason and the place.
func (m *Misfit) Error() string {
	return "the document does not fit an item at \"" + m.Where + "\": " + m.Why
}

// misfit is an error at a place that within adds to.
func misfit(why string) error { return &Misfit{Why: why} }

// pointerEscapes are RFC 6901's.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// within puts the name of the member or the position of the element in which an error
// arose before its place.
func within(err error, step string) error {
	var m *Misfit
	if errors.As(err, &m) {
		m.Where = "/" + pointerEscapes.Replace(step) + m.Where
	}
	return err
}

func withinElement(err error, n int) error { return within(err, strconv.Itoa(n)) }
