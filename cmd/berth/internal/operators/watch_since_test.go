package operators

import (
	"testing"
	"time"
)

// Times of --since are local unless they name a zone; ids and durations are the service's to
// understand.
func TestWatchSince(t *testing.T) {
	local := time.Date(2026, 1, 2, 15, 4, 0, 0, time.Local).UTC().Format(time.RFC3339)
	for text, want := range map[string]string{
		"10m": "10m", "1.5h": "1.5h", "2788bkrwua9.1": "2788bkrwua9.1", "1.a-2.b!3.1": "1.a-2.b!3.1", "!1.2": "!1.2",
		"2026-01-02T15:04:05Z": "2026-01-02T15:04:05Z", "2026-01-02T15:04:05+02:00": "2026-01-02T13:04:05Z",
		"2026-01-02T15:04": local, "2026-01-02T15:04:00": local, "2026-01-02 15:04": local,
		"0": "", "-5m": "", "yesterday": "", "15:04": "", "2026-13-01": "",
	} {
		x := &watchOptions{since: text}
		err := x.check()
		if err != nil && want == "" {
			continue
		}
		if err != nil || x.since != want {
			t.Errorf("--since %s is sent as %q, %v; want %q", text, x.since, err, want)
		}
	}
}
