package guide

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readings are what stands in the script for what the guide prints, and why.
var readings = strings.NewReplacer(
	// An agent has another id each time.
	"5e57b85f-b017-419a-8745-9c406e149f9e", "<ovs-agent>",
	// The UUIDs of providers follow from their names: all in the guide do, but this
	// one, of br-physnet0.
	"f9c9ce07-679d-5d72-ac5f-31720811629a", "4a6f5f40-b7a1-5df4-9938-63983543f365",
)

// TestPrinted holds the script to all that the guide prints. TestGuide holds Berth to
// the script.
func TestPrinted(t *testing.T) {
	text, err := os.ReadFile("testdata/printed.txt")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for block := range strings.SplitSeq(readings.Replace(string(text)), "\n\n") {
		command, printed, ok := strings.Cut(block, "\n")
		if !ok || !strings.HasPrefix(command, "$ ") {
			continue
		}
		found++
		comparePrinted(t, command+"\n", printed+"\n")
	}
	if found != 5 {
		t.Errorf("of the guide %d outputs were found, want 5", found)
	}
}

// comparePrinted wants the script to have a command with an output, the last time if it
// is there several times.
func comparePrinted(t *testing.T, command, printed string) {
	t.Helper()
	var st *step
	for _, s := range readScript(t, "testdata/guide.txt").steps {
		if s.command == command {
			st = s
		}
	}
	switch {
	case st == nil:
		t.Errorf("the script does not have the command %s", command)
	case strings.HasPrefix(printed, "{"): // "output shortened and pretty printed", says the guide
		for key, value := range dictionary(t, strings.ReplaceAll(printed, ",\n...", "")) {
			if d := cmp.Diff(value, dictionary(t, st.want)[key]); d != "" {
				t.Errorf("%s: %s (-guide +script)\n%s", command, key, d)
			}
		}
	default:
		if d := cmp.Diff(tidy(printed), st.want); d != "" {
			t.Errorf("%s (-guide +script)\n%s", command, d)
		}
	}
}

// dictionary reads a dictionary as Python shows it.
func dictionary(t *testing.T, text string) (all map[string]any) {
	t.Helper()
	text = strings.NewReplacer("'", `"`, "True", "true", "False", "false", "None", "null").Replace(text)
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return all
}
