package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var sampleReport = report{
	Date: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Rounds: 5, Load: 0.25,
	Machine: machine{CPU: "Some CPU", Cores: 2, MemoryGB: 24, Kernel: "6.1", Go: "go1.26", Revision: "0123456789ab"},
	Rows: []line{{
		Name: "flat-1000", Title: "flat, 1,000 hosts", Outcome: short, Reasons: []string{"too slow"}, Seconds: 4.5,
		Figures: figures{{"cpu / canned", 2.5, ratio}, {"rate", 1000, perSecond}},
	}, {
		Name: "claims", Title: "claims", Outcome: notRun, Reasons: []string{"not installed"},
	}},
}

// TestJSONIsStable: baselines of releases are compared with each other.
func TestJSONIsStable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.json")
	if err := sampleReport.write(file); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "date": "2026-11-21T12:00:00Z",
  "short": false,
  "rounds": 5,
  "load": 0.25,
  "machine": {
    "cpu": "Some CPU",
    "cores": 2,
    "memory_gb": 24,
    "kernel": "6.1",
    "go": "go1.26",
    "revision": "0123456789ab"
  },
  "rows": [
    {
      "name": "flat-1000",
      "title": "flat, 1,000 hosts",
      "outcome": "short",
      "reasons": [
        "too slow"
      ],
      "figures": [
        {
          "name": "cpu / canned",
          "value": 2.5,
          "unit": "x"
        },
        {
          "name": "rate",
          "value": 1000,
          "unit": "/s"
        }
      ],
      "seconds": 4.5
    },
    {
      "name": "claims",
      "title": "claims",
      "outcome": "not run",
      "reasons": [
        "not installed"
      ],
      "figures": null,
      "seconds": 0
    }
  ]
}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestLineForPeople(t *testing.T) {
	const want = `short    flat-1000                flat, 1,000 hosts
         cpu / canned 2.50x | rate 1,000/s
         ! too slow
`
	if diff := cmp.Diff(want, sampleReport.Rows[0].String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, want := sampleReport.summary(), "2 rows: 0 ok, 1 short, 1 not run, 0 failed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWrapped(t *testing.T) {
	got := wrapped([]string{"aaaa", "bbbb", "cccc", "a long one by itself"}, 12)
	if diff := cmp.Diff([]string{"aaaa | bbbb", "cccc", "a long one by itself"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
