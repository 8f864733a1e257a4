package placementapi_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/microversion"
)

// requested lists the requests of all scenarios as "METHOD path version".
func requested(t *testing.T) [][]string {
	t.Helper()
	var all [][]string
	for _, path := range scenarioFiles(t) {
		for _, p := range readDialogue(t, path).parts {
			if p.line != "" {
				all = append(all, lineForm.FindStringSubmatch(p.line))
			}
		}
	}
	return all
}

func TestEveryVersionHasAScenario(t *testing.T) {
	found := make(map[string]bool)
	for _, m := range requested(t) {
		found[m[3]] = true
	}
	for _, change := range microversion.Placement {
		if v := change.Version.String(); !found[v] {
			t.Errorf("no scenario has a request at version %s: %s", v, change.What)
		}
	}
}

// Each route gets requests at its oldest version and at its newest, but for Berth's own, which
// upstream does not have.
func TestEveryRouteHasScenarios(t *testing.T) {
	requests := requested(t)
	newest := microversion.Placement.Max().Minor
	for _, r := range (&placementapi.API{}).Routes() {
		path := regexp.MustCompile(`^` + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(r.Pattern, `[^/]+`) + `(\?.*)?$`)
		last := r.Until
		if last == 0 {
			last = newest
		}
		if strings.HasPrefix(r.Pattern, "/berth/") {
			continue
		}
		for _, minor := range []int{r.Since, last} {
			version := fmt.Sprintf("1.%d", minor)
			if r.Pattern != "" && !anyMatches(requests, r.Method, path, version) {
				t.Errorf("no scenario has %s %s at %s", r.Method, r.Pattern, version)
			}
		}
	}
}

func anyMatches(requests [][]string, method string, path *regexp.Regexp, version string) bool {
	for _, m := range requests {
		if m[1] == method && path.MatchString(m[2]) && m[3] == version {
			return true
		}
	}
	return false
}

// codes returns the error codes that a package declares.
func codes(t *testing.T, file string) []string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, value)
		return true
	})
	if len(found) == 0 {
		t.Fatalf("%s has no codes", file)
	}
	return found
}

func TestEveryCodeIsShownAndDocumented(t *testing.T) {
	var scenarios strings.Builder
	for _, path := range scenarioFiles(t) {
		scenarios.WriteString(readDialogue(t, path).text)
	}
	const document = "../../docs/api/errors.md"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range codes(t, "../../placement/codes.go") {
		if !strings.Contains(scenarios.String(), "\nerror "+code) {
			t.Errorf("no scenario shows %s", code)
		}
		if !strings.Contains(string(text), "`"+code+"`") {
			t.Errorf("%s does not have %s", document, code)
		}
	}
}
