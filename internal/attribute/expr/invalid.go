package expr

import (
	"errors"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/dberr"
)

// prefixed puts text around the reason of a Validation error; others stay.
func prefixed(before string, err error, after string) error {
	var e *dberr.Error
	if !errors.As(err, &e) || e.Code == attribute.Serialization {
		return err
	}
	changed := *e
	changed.Reason = before + e.Reason + after
	return &changed
}
