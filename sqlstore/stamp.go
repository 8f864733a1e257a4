package sqlstore

import (
	"strings"
	"time"
)

// stampLayout is how SQLAlchemy writes a time into SQLite. Times are bound as
// text in it on every database: a driver's own form need not be one that
// upstream can read back.
const stampLayout = "2006-01-02 15:04:05.000000"

func stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

// unstamp reads a time with or without a fraction, as upstream and people write
// it.
func unstamp(text string) (time.Time, bool) {
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
