package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestField(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cpuinfo")
	text := "processor\t: 0\nmodel name\t: Some CPU @ 2.8 GHz\nflags : a b\nmodel name\t: Another\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"model name": "Some CPU @ 2.8 GHz", "flags": "a b", "model": "unknown"} {
		if got := field(file, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := field(file+".none", "flags"); got != "unknown" {
		t.Errorf("of no file: %q", got)
	}
}

func TestMemoryGB(t *testing.T) {
	for size, want := range map[string]int{"24684948 kB": 24, "8000000 kB": 8, "unknown": 0} {
		if got := memoryGB(size); got != want {
			t.Errorf("%s are %d GB, want %d", size, got, want)
		}
	}
}
