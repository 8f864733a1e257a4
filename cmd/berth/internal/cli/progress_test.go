package cli

import (
	"bytes"
	"context"
	"os"
	"testing"
)

// Confirmation is asked for on a terminal only. Jobs have /dev/null or a pipe for their standard input, and are told to give --yes.
func TestConsentIsAskedForOnATerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	pipe, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer input.Close()
	if _, err := input.WriteString("yes\n"); err != nil {
		t.Fatal(err)
	}
	for name, stdin := range map[string]*os.File{"/dev/null": null, "a pipe": pipe} {
		var asked bytes.Buffer
		err := Confirm(t.Context(), &asked, stdin, false)
		if code, _ := CodeOf(err); code != ExitUsage || asked.Len() > 0 {
			t.Errorf("confirm with %s asks %q and fails with code %d: %v", name, asked.String(), code, err)
		}
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if !IsTerminal(terminal) {
		t.Fatal("a pseudoterminal is not taken for a terminal")
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	var asked bytes.Buffer
	go interrupt()
	err = Confirm(interrupted, &asked, terminal, false)
	if code, _ := CodeOf(err); code != ExitFailure || asked.String() != "Go on? [y/N] \n" {
		t.Errorf("interrupted, confirm asks %q and fails with code %d: %v", asked.String(), code, err)
	}
}
