package sqlconn

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestUnstampReadsWhatIsWritten reads times in the forms that Stamp, upstream and people write them
// in.
func TestUnstampReadsWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(-60_000_000_000_000_000, 250_000_000_000_000_000).Draw(t, "at")).UTC()
		layouts := []string{stampLayout, stampLayout[:22], time.DateTime, time.DateOnly, "2006-01-02T15:04:05.999999"}
		layout := rapid.SampledFrom(layouts).Draw(t, "layout")
		want, err := time.Parse(layout, at.Format(layout))
		if err != nil {
			t.Fatal(err)
		}
		text := at.Format(layout) + rapid.SampledFrom([]string{"", "Z", "+00:00"}).Draw(t, "zone")
		if got, ok := Unstamp(text); !ok || !got.Equal(want) || got.Location() != time.UTC {
			t.Fatalf("Unstamp(%s) = %v, %v, want %v", text, got, ok, want)
		}
	})
}

// TestUnstampRefusesWhatIsNoTime compares what is nearly a time with package time.
func TestUnstampRefusesWhatIsNoTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte("2026-02-28 23:59:59.123456")
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			text[at] = rapid.SampledFrom([]byte("0123456789:-. T+Z")).Draw(t, "byte")
		}
		got, ok := Unstamp(string(text))
		plain := strings.TrimSuffix(strings.Replace(string(text), "T", " ", 1), "Z")
		want, err := time.Parse(time.DateTime, plain)
		if ok && (err != nil || !got.Equal(want)) {
			t.Fatalf("Unstamp(%s) = %v, want %v, %v", text, got, want, err)
		}
	})
	for _, text := range []string{"", "2026", "2026-02-30", "2026-02-28 24:00:00", "2026-02-28_10:00:00", "tomorrow"} {
		if got, ok := Unstamp(text); ok {
			t.Errorf("Unstamp(%q) = %v, want none", text, got)
		}
	}
}

// TestUnstampAllocatesNothing holds the reading of millions of times to no garbage.
func TestUnstampAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Unstamp("2026-12-28 23:59:00.123456") }); n > 0 {
		t.Errorf("a time takes %v allocations", n)
	}
}
