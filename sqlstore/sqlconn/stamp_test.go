package sqlconn

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestStampsArePlainlyReadAlike compares the quick way of reading times with
// time.Parse, for times and for what is nearly one.
func TestStampsArePlainlyReadAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(-60_000_000_000_000_000, 250_000_000_000_000_000).Draw(t, "at")).UTC()
		layouts := []string{stampLayout, stampLayout[:19], stampLayout[:22], "2006-01-02"}
		text := []byte(at.Format(rapid.SampledFrom(layouts).Draw(t, "layout")))
		if rapid.Bool().Draw(t, "spoilt") {
			where := rapid.IntRange(0, len(text)-1).Draw(t, "where")
			text[where] = rapid.SampledFrom([]byte("0123456789:-. T+Z")).Draw(t, "what")
		}
		got, ok := unstampPlain(string(text))
		if !ok {
			return
		}
		want, err := time.Parse("2006-01-02 15:04:05", string(text))
		if err != nil || !got.Equal(want) {
			t.Fatalf("unstampPlain(%s) = %v, want %v, %v", text, got, want, err)
		}
	})
}

// TestStampsAreReadPlainly makes sure that the quick way is taken at all.
func TestStampsAreReadPlainly(t *testing.T) {
	for _, text := range []string{"2026-01-05 08:00:59", "2026-12-28 23:59:00.123456"} {
		if _, ok := unstampPlain(text); !ok {
			t.Errorf("unstampPlain(%s) leaves it to others", text)
		}
	}
}
