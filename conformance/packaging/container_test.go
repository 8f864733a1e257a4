package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContainerfile reads the container file, which cannot be built everywhere:
// what it takes from the tree is there, it is built with the module's Go, and it
// does not run as root.
func TestContainerfile(t *testing.T) {
	lines := instructions(t)
	stages := map[string]bool{}
	last := map[string]string{}
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		last[word] = rest
		f := strings.Fields(rest)
		switch word {
		case "FROM":
			if len(f) == 3 && f[1] == "AS" {
				stages[f[2]] = true
			}
		case "COPY":
			checkCopy(t, f, stages)
		case "RUN":
			for _, path := range regexp.MustCompile(`packaging/[\w.-]+|\./cmd/\w+`).FindAllString(rest, -1) {
				exists(t, path)
			}
		}
	}
	if want := "golang:" + goVersion(t); !strings.Contains(strings.Join(lines, "\n"), "/"+want+" AS build") {
		t.Errorf("the image is not built with %s, which go.mod asks for", want)
	}
	if !regexp.MustCompile(`^[1-9]\d*(:[1-9]\d*)?$`).MatchString(last["USER"]) {
		t.Errorf("USER %q, want a number that is not root's: names mean nothing in an empty image", last["USER"])
	}
	if last["ENTRYPOINT"] != `["/usr/bin/berth"]` || !strings.Contains(last["CMD"], `"placement", "serve"`) {
		t.Errorf("ENTRYPOINT %s, CMD %s", last["ENTRYPOINT"], last["CMD"])
	}
	if last["EXPOSE"] != "8778" || last["FROM"] != "scratch" {
		t.Errorf("EXPOSE %s, last FROM %s", last["EXPOSE"], last["FROM"])
	}
}

// instructions returns the instructions of the container file, a line each.
func instructions(t *testing.T) []string {
	t.Helper()
	text := read(t, filepath.Join(tree, "packaging", "Containerfile"))
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// checkCopy looks for what a COPY takes: in the tree, or from a stage above it.
func checkCopy(t *testing.T, args []string, stages map[string]bool) {
	t.Helper()
	from := ""
	for strings.HasPrefix(args[0], "--") {
		if name, ok := strings.CutPrefix(args[0], "--from="); ok {
			from = name
		}
		args = args[1:]
	}
	if from != "" {
		if !stages[from] {
			t.Errorf("COPY --from=%s: there is no such stage above it", from)
		}
		return
	}
	for _, path := range args[:len(args)-1] {
		exists(t, path)
	}
}

func exists(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(tree, path)); err != nil {
		t.Errorf("the container file names what is not there: %v", err)
	}
}

// goVersion returns the version of Go that go.mod asks for, without the last
// number.
func goVersion(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, filepath.Join(tree, "go.mod")))
	if m == nil {
		t.Fatal("go.mod has no version of Go")
	}
	return m[1]
}
