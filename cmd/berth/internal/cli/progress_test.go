package cli

import (
	"bytes"
	"context"
	"os"
	"testing"
)

// Confirmation is requested on a terminal only. Jobs have /dev/null or a pipe for their standard
// input, and the error says to give --yes.
func TestConfirmationIsRequestedOnATerminal(t *testing.T) {
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
		var output bytes.Buffer
		err := Confirm(t.Context(), &output, stdin, false)
		if code, _ := CodeOf(err); code != ExitUsage || output.Len() > 0 {
			t.Errorf("confirm with %s prints %q and fails with code %d: %v", name, output.String(), code, err)
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
	var output bytes.Buffer
	go interrupt()
	err = Confirm(interrupted, &output, terminal, false)
	if code, _ := CodeOf(err); code != ExitFailure || output.String() != "Go on? [y/N] \n" {
		t.Errorf("interrupted, confirm prints %q and fails with code %d: %v", output.String(), code, err)
	}
}
