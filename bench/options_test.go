package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHelpTeaches(t *testing.T) {
	var errs bytes.Buffer
	if code := run(context.Background(), []string{"-help"}, nil, io.Discard, &errs); code != exitReached {
		t.Errorf("exit code %d", code)
	}
	for _, word := range []string{
		"go run ./bench -short", "-rounds", "canned server", "a CPU profile", "claims-mariadb-16",
	} {
		if !strings.Contains(errs.String(), word) {
			t.Errorf("the help does not say %q", word)
		}
	}
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"-rows", "("},
		{"-rounds", "0"},
		{"word"},
		{"-record"},
		{"-nothing"},
		{"-runs", "0"},
		{"-berth", "/tmp/a,"},
		{"-short", "-record", "-berth", "/tmp/a,/tmp/b"},
	} {
		var errs bytes.Buffer
		if code := run(context.Background(), args, nil, io.Discard, &errs); code != exitUsage || errs.Len() == 0 {
			t.Errorf("%q: exit code %d, output %q", args, code, errs.String())
		}
	}
}

// TestRun measures a few rows of the short form with the real program; this program acts as the
// canned server.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and measures the whole program")
	}
	file := filepath.Join(t.TempDir(), "out.json")
	var out, errs bytes.Buffer
	args := []string{"-short", "-rounds", "1", "-rows", "^(nested-1000|none-trait|until-full-sqlite)$", "-json", file}
	code := run(context.Background(), args, nil, &out, &errs)
	if code == exitUsage || !strings.Contains(out.String(), "3 rows:") {
		t.Fatalf("exit code %d\n%s%s", code, out.String(), errs.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil || len(r.Rows) != 3 {
		t.Fatalf("%d rows, %v", len(r.Rows), err)
	}
	for _, l := range r.Rows {
		if l.Outcome == broken || l.Outcome == notRun || len(l.Figures) == 0 {
			t.Errorf("%s", l)
		}
	}
}
