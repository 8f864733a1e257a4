package guide

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/conformance/clients/openstack"
)

// The UUIDs of providers follow from their names: all in the guide do, but the one of br-physnet0.
var providers = strings.NewReplacer("f9c9ce07-679d-5d72-ac5f-31720811629a", "4a6f5f40-b7a1-5df4-9938-63983543f365")

// With Keystone, an agent has another id each time.
var anyAgent = strings.NewReplacer("5e57b85f-b017-419a-8745-9c406e149f9e", "<ovs-agent>")

// TestPrinted compares the script with all output in the guide. TestGuide compares Berth with the
// script.
func TestPrinted(t *testing.T) {
	steps := readScript(t, "testdata/guide.txt").steps
	for command, printed := range guidePrints(t) {
		command, printed = anyAgent.Replace(command), anyAgent.Replace(printed)
		var st *step
		for _, s := range steps {
			if s.command == command {
				st = s // the last of several
			}
		}
		if st == nil {
			t.Errorf("the script does not have the command %s", command)
			continue
		}
		comparePrinted(t, command, printed, st.want)
	}
}

// TestUpPrints requires "berth up" to print the guide's output, including the ids of the host and
// the agent.
func TestUpPrints(t *testing.T) {
	openstack.Need(t)
	admin := newTerminal(t, newUp(t).login("admin"))
	for command, printed := range guidePrints(t) {
		comparePrinted(t, command, printed, tidy(admin.run((&step{command: command}).line())))
	}
}

// guidePrints is the guide's output, by command.
func guidePrints(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/printed.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for block := range strings.SplitSeq(providers.Replace(string(text)), "\n\n") {
		if command, printed, ok := strings.Cut(block, "\n"); ok && strings.HasPrefix(command, "$ ") {
			all[command+"\n"] = strings.TrimSuffix(printed, "\n") + "\n"
		}
	}
	if len(all) != 5 {
		t.Errorf("of the guide %d outputs were found, want 5", len(all))
	}
	return all
}

// comparePrinted compares the output of a command with the guide's.
func comparePrinted(t *testing.T, command, printed, got string) {
	t.Helper()
	if !strings.HasPrefix(printed, "{") {
		if d := cmp.Diff(tidy(printed), got); d != "" {
			t.Errorf("%s (-guide +printed)\n%s", command, d)
		}
		return
	}
	// "output shortened and pretty printed", says the guide
	for key, value := range dictionary(t, strings.ReplaceAll(printed, ",\n...", "")) {
		if d := cmp.Diff(value, dictionary(t, got)[key]); d != "" {
			t.Errorf("%s: %s (-guide +printed)\n%s", command, key, d)
		}
	}
}

// dictionary parses a dictionary in Python's form.
func dictionary(t *testing.T, text string) (all map[string]any) {
	t.Helper()
	text = strings.NewReplacer("'", `"`, "True", "true", "False", "false", "None", "null").Replace(text)
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return all
}
