package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "curves.json")
	text := `{"where": "here", "curves": [{"title": "T", "x": "hosts", "y": "ms", "points": [{"x": 1, "y": 2}]}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{file}, &out); err != nil || !bytes.HasPrefix(out.Bytes(), []byte("<svg ")) {
		t.Errorf("got %.40q, %v", out.String(), err)
	}
	for name, args := range map[string][]string{
		"NoFile":    {},
		"Missing":   {file + ".none"},
		"NotCurves": {os.Args[0]},
	} {
		if err := run(args, &out); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
