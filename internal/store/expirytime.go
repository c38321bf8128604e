package store

import (
	"math"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/jsonscan"
)

// expiryTime is when a revision expires, as its body and the setting say.
type expiryTime struct {
	kind timeKind
	// at is a time in Unix seconds, rounded up, or a number of seconds from the
	// document's last write on.
	at uint64
}

type timeKind byte

const (
	timeNever      timeKind = iota
	timeAt                  // at a time
	timeAfter               // some time after the last write
	timeUnreadable          // there is a member that says when, and nobody can read it
)

// timeOf reads from a body when it expires. A member that is absent or null
// says nothing; one that can't be read keeps the document, rather than leaving
// it to a setting that it was an exception to.
func (e Expiry) timeOf(body []byte) expiryTime {
	if value, ok := said(body, e.Field); ok {
		m := timeOf(value)
		if e.Seconds {
			m = secondsOf(value)
		}
		return m
	}
	if value, ok := said(body, e.TTLField); ok {
		return ttlOf(value)
	}
	if e.TTL > 0 {
		return expiryTime{timeAfter, e.TTL}
	}
	return expiryTime{}
}

// said returns the value of a member that is there and not null.
func said(body []byte, field string) (value []byte, ok bool) {
	if field == "" {
		return nil, false
	}
	value, ok = jsonscan.Member(body, field)
	return value, ok && jsonscan.KindOf(value) != jsonscan.Null
}

// Bounds of numbers. From firstMillis on, which is the year 5138 in seconds and
// 1973 in milliseconds, a number is milliseconds. maxDue is the last second
// that counts: up to it a float64 is exact.
const (
	firstMillis = 1e11
	maxDue      = 1 << 53
	// MaxTTL is the longest relative time, in seconds: some 317 years.
	MaxTTL = 1e10
)

// timeOf reads a time: seconds or milliseconds since 1970, or an ISO 8601 date.
// A number in a string is none, as in DynamoDB.
func timeOf(value []byte) expiryTime {
	switch jsonscan.KindOf(value) {
	case jsonscan.Number:
		f, err := strconv.ParseFloat(string(value), 64)
		if f >= firstMillis {
			f /= 1000
		}
		if err == nil && f > 0 && f <= maxDue {
			return expiryTime{timeAt, uint64(math.Ceil(f))}
		}
	case jsonscan.String:
		if t, ok := isoTime(string(value[1 : len(value)-1])); ok && t.Unix() > 0 {
			seconds := uint64(t.Unix())
			if t.Nanosecond() > 0 {
				seconds++
			}
			return expiryTime{timeAt, seconds}
		}
	}
	return expiryTime{kind: timeUnreadable}
}

// secondsOf reads a time of a setting with Seconds.
func secondsOf(value []byte) expiryTime {
	if jsonscan.KindOf(value) == jsonscan.Number {
		if f, err := strconv.ParseFloat(string(value), 64); err == nil && f > 0 && f <= maxDue {
			return expiryTime{timeAt, uint64(math.Ceil(f))}
		}
	}
	return expiryTime{}
}

// maxISO is longer than any date in one of the forms.
const maxISO = 40

// isoTime reads a date, or a date with a time, which is UTC unless it says
// otherwise. A fraction may follow the seconds in each form.
func isoTime(text string) (time.Time, bool) {
	if len(text) > maxISO || len(text) < len("20060102") || text[0] < '0' || text[0] > '9' {
		return time.Time{}, false
	}
	for _, form := range [...]string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
		"2006-01-02T15:04:05Z0700", "20060102T150405Z0700", "20060102T150405", "20060102",
	} {
		if t, err := time.Parse(form, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// ttlOf reads a number of seconds above 0; -1 is never.
func ttlOf(value []byte) expiryTime {
	if jsonscan.KindOf(value) == jsonscan.Number {
		switch f, err := strconv.ParseFloat(string(value), 64); {
		case err != nil:
		case f == -1:
			return expiryTime{}
		case f > 0 && f <= MaxTTL:
			return expiryTime{timeAfter, uint64(math.Ceil(f))}
		}
	}
	return expiryTime{kind: timeUnreadable}
}

// dueAge is how long ago a time may be to count, in seconds: what should have
// expired more than five years ago (DynamoDB's rule) is taken for a number that
// means something else, such as a year.
const dueAge = 5 * 365 * 24 * 3600

// dueSince is the earliest time that counts at a time.
func dueSince(now int64) uint64 { return uint64(max(1, now-dueAge)) }
