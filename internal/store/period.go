package store

import (
	"strconv"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// Period is a length of time as a setting has it. The zero value is none.
type Period struct {
	Text string // as it was written
	// Length is 0 for "infinity".
	Length time.Duration
}

var errPeriod = dberr.New(dberr.Invalid, "bad_request", "A period is a number and a unit, such as \"90_days\" or \"6_hours\", or \"infinity\".")

// periodUnits are CouchDB's; a unit may be longer than the words here.
var periodUnits = []struct {
	word   string
	length time.Duration
}{
	{"sec", time.Second}, {"min", time.Minute}, {"hour", time.Hour}, {"day", 24 * time.Hour},
	{"week", 7 * 24 * time.Hour}, {"mon", 30 * 24 * time.Hour},
}

// maxPeriod is the longest period there is, 200 years.
const maxPeriod = 200 * 365 * 24 * time.Hour

// ParsePeriod reads a period as CouchDB writes it: "3_months", "10_min", or
// "infinity"; a number alone is seconds. Invalid for anything else, for 0 and
// for less.
func ParsePeriod(text string) (Period, error) {
	if text == "infinity" {
		return Period{Text: text}, nil
	}
	number, unit, named := strings.Cut(text, "_")
	n, err := strconv.ParseUint(number, 10, 62)
	if err != nil || n == 0 {
		return Period{}, errPeriod
	}
	length := time.Second
	if named {
		length = 0
		for _, u := range periodUnits {
			if strings.HasPrefix(unit, u.word) {
				length = u.length
			}
		}
	}
	if length == 0 || n > uint64(maxPeriod/length) {
		return Period{}, errPeriod
	}
	return Period{Text: text, Length: time.Duration(n) * length}, nil
}
