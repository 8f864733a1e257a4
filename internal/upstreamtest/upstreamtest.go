// Package upstreamtest runs OpenStack's own code, as Debian installs it, for tests that compare
// Berth with it. A test for which it is missing fails and says what to install;
// BERTH_TEST_NO_UPSTREAM=1 skips such tests instead. It starts no service.
package upstreamtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// variable is the environment variable that allows upstream's code to be missing.
const variable = "BERTH_TEST_NO_UPSTREAM"

// Python is the interpreter that has the modules of Debian's packages.
const Python = "/usr/bin/python3"

// Need ends the test when one of the files of packages is missing.
func Need(t testing.TB, packages string, files ...string) {
	t.Helper()
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			Missing(t, packages, err)
		}
	}
}

// Missing ends the test because something of packages is missing.
func Missing(t testing.TB, packages string, what any) {
	t.Helper()
	if os.Getenv(variable) == "1" {
		t.Skipf("NOT COMPARED with upstream: %v, and %s=1 is set", what, variable)
	}
	t.Fatalf("%v: apt-get install --no-install-recommends %s (or set %s=1 to go without)", what, packages, variable)
}

// Run runs a script in a Python that has the modules of packages. The script reads in as JSON from
// its standard input and writes JSON, which is decoded into out. With the variable set, the test
// is skipped.
func Run(t testing.TB, packages, script string, in, out any) {
	t.Helper()
	if os.Getenv(variable) == "1" {
		t.Skipf("NOT COMPARED with upstream (%s): %s=1 is set", packages, variable)
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(Python, "-c", script)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.Stdin = bytes.NewReader(text)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	answer, err := cmd.Output()
	if err != nil {
		t.Fatalf("running upstream's code: "+
			"%v\n%s\nIf it is not installed: apt-get install --no-install-recommends %s (or set %s=1 to go without)",
			err, stderr.String(), packages, variable)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		t.Fatalf("upstream's code answers %.200q: %v", answer, err)
	}
}
