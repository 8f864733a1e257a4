package sqlconn

import (
	"strings"
	"time"
)

// stampLayout is how SQLAlchemy writes a time into SQLite. Times are bound as
// text in it on every database: a driver's own form need not be one that
// upstream can read back.
const stampLayout = "2006-01-02 15:04:05.000000"

// Stamp writes a time as it is bound to statements: in UTC, with microseconds.
func Stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

// Unstamp reads a time with or without a fraction, as upstream and people write
// it.
func Unstamp(text string) (time.Time, bool) {
	if t, ok := unstampPlain(text); ok {
		return t, true
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "Z"), "+00:00")
	layout := "2006-01-02 15:04:05"
	if len(text) > 10 && text[10] == 'T' {
		layout = "2006-01-02T15:04:05"
	}
	if len(text) == len("2006-01-02") {
		layout = "2006-01-02"
	}
	t, err := time.Parse(layout, text)
	return t, err == nil
}

// unstampPlain reads what Stamp writes, with or without its fraction, for the
// millions of rows of a snapshot. It leaves the ends of months to others. Days after the 28th are
// left to time.Parse, which knows the lengths of months.
func unstampPlain(text string) (time.Time, bool) {
	if len(text) != 19 && len(text) != 26 || text[4] != '-' || text[7] != '-' || text[10] != ' ' || text[13] != ':' ||
		text[16] != ':' {
		return time.Time{}, false
	}
	year, month, day := digits(text[0:4]), digits(text[5:7]), digits(text[8:10])
	hour, minute, second, micro := digits(text[11:13]), digits(text[14:16]), digits(text[17:19]), 0
	if len(text) == 26 {
		if micro = digits(text[20:26]); text[19] != '.' {
			return time.Time{}, false
		}
	}
	if year < 0 || month < 1 || month > 12 || day < 1 || day > 28 ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 || micro < 0 {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, micro*1000, time.UTC), true
}

// digits reads a number of nothing but digits, and -1 from anything else.
func digits(text string) int {
	n := 0
	for i := range len(text) {
		d := text[i] - '0'
		if d > 9 {
			return -1
		}
		n = 10*n + int(d)
	}
	return n
}
