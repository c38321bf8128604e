package compiled

import (
	"math"
	"time"
)

const (
	dayLength = 86400000
	maxTime   = 8.64e15 // milliseconds that a date may be from 1970
)

// newDate is the Date constructor with one argument.
func (m *Machine) newDate(v value) value {
	if v.isObject() && v.k != date {
		v = m.primitive(v)
	}
	if v.k == text {
		if !m.spend(64 + len(v.s)) {
			return value{}
		}
		n, ok := parseISO(v.s)
		if !ok {
			return m.interpret()
		}
		return value{k: date, n: n}
	}
	n, ok := m.number(v)
	if !ok {
		return value{}
	}
	return value{k: date, n: clipTime(n)}
}

// dateOfParts is the Date constructor with year, month, day, hours, minutes,
// seconds and milliseconds, of which the last may be missing; each may be out of
// its range.
func dateOfParts(m *Machine, _ value, arguments []value) value {
	parts := [7]int64{0, 0, 1, 0, 0, 0, 0}
	invalid := false
	for i, v := range arguments {
		f, ok := m.number(v)
		if !ok || i >= len(parts) || math.Abs(f) > 1e5 {
			return m.interpret()
		}
		if math.IsNaN(f) {
			invalid = true
			continue
		}
		parts[i] = int64(f)
	}
	if invalid {
		return value{k: date, n: math.NaN()}
	}
	year, month := parts[0], parts[1]
	if 0 <= year && year <= 99 {
		year += 1900
	}
	year += floorDiv(month, 12)
	month -= floorDiv(month, 12) * 12
	days := daysBefore(int(year), int(month)+1, 1) + parts[2] - 1
	within := ((parts[3]*60+parts[4])*60+parts[5])*1000 + parts[6]
	return value{k: date, n: clipTime(float64(days*dayLength + within))}
}

// clipTime is TimeClip.
func clipTime(n float64) float64 {
	if math.IsNaN(n) || math.Abs(n) > maxTime {
		return math.NaN()
	}
	return math.Trunc(n) + 0 // no negative zero
}

// parseISO reads the date forms of ECMAScript for the years 0000 to 9999, with
// days that exist, in UTC where the text names no offset. Others are not known
// here: ok is false.
func parseISO(s []byte) (n float64, ok bool) {
	year, month, day := 0, 1, 1
	if year, s, ok = isoDigits(s, 4); !ok {
		return 0, false
	}
	if len(s) > 0 && s[0] == '-' {
		if month, s, ok = isoDigits(s[1:], 2); !ok {
			return 0, false
		}
		if len(s) > 0 && s[0] == '-' {
			if day, s, ok = isoDigits(s[1:], 2); !ok {
				return 0, false
			}
		}
	}
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, false
	}
	within := 0
	if len(s) > 0 {
		if s[0] != 'T' {
			return 0, false
		}
		if within, ok = isoTime(s[1:]); !ok {
			return 0, false
		}
	}
	return float64(daysBefore(year, month, day)*dayLength + int64(within)), true
}

// isoTime reads HH:mm, seconds, fractions and an offset, in milliseconds.
func isoTime(s []byte) (n int, ok bool) {
	hour, minute, second, fraction := 0, 0, 0, 0
	if hour, s, ok = isoDigits(s, 2); !ok || len(s) == 0 || s[0] != ':' {
		return 0, false
	}
	if minute, s, ok = isoDigits(s[1:], 2); !ok {
		return 0, false
	}
	if len(s) > 0 && s[0] == ':' {
		if second, s, ok = isoDigits(s[1:], 2); !ok {
			return 0, false
		}
		if len(s) > 0 && s[0] == '.' {
			if fraction, s, ok = isoFraction(s[1:]); !ok {
				return 0, false
			}
		}
	}
	if hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	n = ((hour*60+minute)*60+second)*1000 + fraction
	if len(s) == 0 || len(s) == 1 && s[0] == 'Z' {
		return n, true
	}
	offset, ok := isoOffset(s)
	return n - offset, ok
}

// isoFraction reads one to nine digits after the point; those after the third
// are dropped.
func isoFraction(s []byte) (n int, rest []byte, ok bool) {
	end := digits(s, 0)
	if end == 0 || end > 9 {
		return 0, nil, false
	}
	for i := range 3 {
		n *= 10
		if i < end {
			n += int(s[i] - '0')
		}
	}
	return n, s[end:], true
}

// isoOffset reads +HH:mm or -HH:mm, in milliseconds.
func isoOffset(s []byte) (n int, ok bool) {
	if len(s) != 6 || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return 0, false
	}
	hour, _, ok := isoDigits(s[1:3], 2)
	minute, _, more := isoDigits(s[4:], 2)
	if !ok || !more || hour > 23 || minute > 59 {
		return 0, false
	}
	n = (hour*60 + minute) * 60000
	if s[0] == '-' {
		n = -n
	}
	return n, true
}

func isoDigits(s []byte, count int) (n int, rest []byte, ok bool) {
	if len(s) < count {
		return 0, nil, false
	}
	for _, c := range s[:count] {
		if c < '0' || c > '9' {
			return 0, nil, false
		}
		n = n*10 + int(c-'0')
	}
	return n, s[count:], true
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysBefore counts the days from 1970-01-01 to a date, by counting years from
// March, so that the leap day is the last of its year.
func daysBefore(year, month, day int) int64 {
	y, shifted := int64(year), int64(month)-3
	if shifted < 0 {
		y--
		shifted += 12
	}
	era := floorDiv(y, 400)
	ofEra := y - era*400
	ofYear := (153*shifted+2)/5 + int64(day) - 1
	return era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + ofYear - 719468
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// calendar splits milliseconds since 1970 into a date and a rest of the day.
func calendar(n float64) (year, month, day int, within int64) {
	days := floorDiv(int64(n), dayLength)
	within = int64(n) - days*dayLength
	days += 719468
	era := floorDiv(days, 146097)
	ofEra := days - era*146097
	yearOfEra := (ofEra - ofEra/1460 + ofEra/36524 - ofEra/146096) / 365
	ofYear := ofEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*ofYear + 2) / 153
	day = int(ofYear - (153*shifted+2)/5 + 1)
	month = int(shifted) + 3
	year = int(yearOfEra + era*400)
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day, within
}

// dateParts are the getters of dates, each under its local and its UTC name.
var dateParts = map[string]func(n float64) float64{
	"FullYear": func(n float64) float64 { y, _, _, _ := calendar(n); return float64(y) },
	"Month":    func(n float64) float64 { _, m, _, _ := calendar(n); return float64(m - 1) },
	"Date":     func(n float64) float64 { _, _, d, _ := calendar(n); return float64(d) },
	"Day":      weekday,
	"Hours":    func(n float64) float64 { return part(n, 3600000, 24) },
	"Minutes":  func(n float64) float64 { return part(n, 60000, 60) },
	"Seconds":  func(n float64) float64 { return part(n, 1000, 60) },
}

func part(n float64, unit, count int64) float64 {
	_, _, _, within := calendar(n)
	return float64(within / unit % count)
}

func weekday(n float64) float64 {
	days := floorDiv(int64(n), dayLength) + 4
	return float64(days - floorDiv(days, 7)*7)
}

// isoText returns what toISOString returns for a valid date. Engines disagree about
// years that need more or less than four digits.
func (m *Machine) isoText(n float64) value {
	t := time.UnixMilli(int64(n)).UTC()
	if t.Year() < 0 || t.Year() > 9999 || !m.spend(128) || !m.room(24) {
		return m.interpret()
	}
	start := len(m.text)
	m.text = t.AppendFormat(m.text, "2006-01-02T15:04:05.000Z")
	return m.made(start)
}
