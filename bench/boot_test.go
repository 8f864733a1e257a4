package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGranted reads claims from a log: the first accepted one of each server.
func TestGranted(t *testing.T) {
	log := filepath.Join(t.TempDir(), "berth.log")
	const text = `2026-11-22 10:31:07.250 1 INFO berth.placement [req-1 admin admin] request method=GET path=/allocations/a route=/x status=200 bytes=2
2026-11-22 10:31:08.250 1 INFO berth.placement [req-2 admin admin] request method=PUT path=/allocations/a route=/x status=409 bytes=2
2026-11-22 10:31:09.250 1 INFO berth.placement [req-3 admin admin] request method=PUT path=/allocations/a route=/x status=204 bytes=0
2026-11-22 10:31:10.250 1 INFO berth.placement [req-4 admin admin] request method=PUT path=/allocations/a route=/x status=204 bytes=0
2026-11-22 10:31:11.750 1 INFO berth.placement [req-5 admin admin] request method=PUT path=/allocations/b route=/x status=204 bytes=0
`
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := granted(log)
	second := func(s, ms int) time.Time {
		return time.Date(2026, 11, 22, 10, 31, s, ms*int(time.Millisecond), time.Local)
	}
	want := map[string]time.Time{"a": second(9, 250), "b": second(11, 750)}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}
