package clients

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/rest"
)

// oldest is the first microversion at which the client allows each command.
var oldest = map[string]string{
	"allocation candidate list":             "1.10",
	"resource class create":                 "1.2",
	"resource class delete":                 "1.2",
	"resource class list":                   "1.2",
	"resource class set":                    "1.7",
	"resource class show":                   "1.2",
	"resource provider aggregate list":      "1.1",
	"resource provider aggregate set":       "1.1",
	"resource provider allocation delete":   "1.0",
	"resource provider allocation set":      "1.0",
	"resource provider allocation show":     "1.0",
	"resource provider allocation unset":    "1.12",
	"resource provider create":              "1.0",
	"resource provider delete":              "1.0",
	"resource provider inventory class set": "1.0",
	"resource provider inventory delete":    "1.0",
	"resource provider inventory list":      "1.0",
	"resource provider inventory set":       "1.0",
	"resource provider inventory show":      "1.0",
	"resource provider list":                "1.0",
	"resource provider set":                 "1.0",
	"resource provider show":                "1.0",
	"resource provider trait delete":        "1.6",
	"resource provider trait list":          "1.6",
	"resource provider trait set":           "1.6",
	"resource provider usage show":          "1.0",
	"resource usage show":                   "1.9",
	"trait create":                          "1.6",
	"trait delete":                          "1.6",
	"trait list":                            "1.6",
	"trait show":                            "1.6",
}

// TestEveryCommandHasScripts compares the scripts with the commands that the installed plug-in
// registers: each must have a script at its oldest and at the newest microversion.
func TestEveryCommandHasScripts(t *testing.T) {
	requireOpenStack(t)
	used := commandsInScripts(t)
	for _, command := range registered(t) {
		first, ok := oldest[command]
		if !ok {
			t.Errorf("openstack %s: the plug-in has it, the tests do not know it", command)
			continue
		}
		for _, version := range []string{first, rest.Newest} {
			if !slices.ContainsFunc(used[version], func(line string) bool {
				return line == command || strings.HasPrefix(line, command+" ")
			}) {
				t.Errorf("openstack %s: no script runs it at %s", command, version)
			}
		}
	}
}

// commandsInScripts returns the command lines by microversion.
func commandsInScripts(t *testing.T) map[string][]string {
	t.Helper()
	used := map[string][]string{}
	for _, path := range scriptFiles(t) {
		s, err := readScript(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, sec := range s.sections {
			for _, st := range sec.steps {
				used[sec.version] = append(used[sec.version], st.line())
			}
		}
	}
	return used
}

var entryPoint = regexp.MustCompile(`(?m)^([a-z_]+) = osc_placement\.resources\.`)

// registered returns the commands of the installed plug-in.
func registered(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(pluginFiles)
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pluginFiles, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, m := range entryPoint.FindAllStringSubmatch(string(text), -1) {
		commands = append(commands, strings.ReplaceAll(m[1], "_", " "))
	}
	if len(commands) == 0 {
		t.Fatalf("%s lists no commands", files[0])
	}
	return commands
}
