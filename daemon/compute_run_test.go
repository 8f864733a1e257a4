package daemon

import (
	"os/exec"
	"strings"
	"testing"
)

// A run has ended when its process has, and not when its state is unknown.
func TestRunsThatEnded(t *testing.T) {
	own := thisRun()
	if own == "" || len(own) > 200 || runEnded(own) {
		t.Fatalf("this run is %q and has ended: %v", own, runEnded(own))
	}
	child := exec.Command("cat")
	stdin, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	other, err := runOf(child.Process.Pid)
	if err != nil || other == own || runEnded(other) {
		t.Errorf("a process that runs is %q, %v, and has ended: %v", other, err, runEnded(other))
	}
	parts := strings.Split(own, "/")
	elsewhere := func(i int, text string) string {
		changed := append([]string{}, strings.Split(other, "/")...)
		changed[i] = text
		return strings.Join(changed, "/")
	}
	if later := elsewhere(3, "1"); !runEnded(later) {
		t.Errorf("%q has not ended, and its number is another process's", later)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = stdin.Close()
	_ = child.Wait()
	if !runEnded(other) {
		t.Errorf("%q has not ended", other)
	}
	for _, unknown := range []string{
		"", "x", elsewhere(0, "another boot"), elsewhere(1, "pid:[1]"), elsewhere(2, "x"), elsewhere(2, "-1"),
		elsewhere(2, "0"),
		strings.Join(append(parts, "x"), "/"),
	} {
		if runEnded(unknown) {
			t.Errorf("%q is said to have ended", unknown)
		}
	}
}
