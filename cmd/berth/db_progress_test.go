package main

import (
	"bytes"
	"os"
	"testing"
)

// A job that has /dev/null for its standard input is not asked, but told to give --yes.
func TestConsentOfAJob(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var asked bytes.Buffer
	err = consent(&asked, null, false)
	if code, _ := codeOf(err); code != exitUsage || asked.Len() > 0 {
		t.Errorf("consent with /dev/null asks %q and fails with code %d: %v", asked.String(), code, err)
	}
}
