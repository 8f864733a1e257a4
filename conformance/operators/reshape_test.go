package operators

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reshaped moves an inventory from a provider to two new ones below it, with what two consumers
// have of it, as a user with the role service: an administrator may not. A second time there is
// nothing to move.
func (s *stack) reshaped(t *testing.T) {
	const (
		root  = "99999999-0000-4000-8000-00000000aa01"
		one   = "99999999-0000-4000-8000-00000000bb01"
		two   = "99999999-0000-4000-8000-00000000bb02"
		class = "CUSTOM_LAB_GPU"
	)
	s.place.Must(t, http.StatusCreated, "PUT", "/resource_classes/"+class, nil)
	s.place.Must(t, http.StatusOK, "POST", "/resource_providers", object{"name": "lab", "uuid": root})
	s.place.Must(t, http.StatusOK, "PUT", "/resource_providers/"+root+"/inventories", object{
		"resource_provider_generation": 0,
		"inventories":                  object{class: object{"total": 4, "max_unit": 4}, "MEMORY_MB": object{"total": 64}},
	})
	for consumer, amount := range map[string]int{one: 1, two: 2} {
		s.place.Must(t, http.StatusNoContent, "PUT", "/allocations/"+consumer, object{
			"allocations": object{root: object{"resources": object{class: amount, "MEMORY_MB": 8}}},
			"project_id":  "p", "user_id": "u", "consumer_generation": nil, "consumer_type": "INSTANCE",
		})
	}
	t.Cleanup(func() {
		for _, consumer := range []string{one, two} {
			s.place.Must(t, http.StatusNoContent, "DELETE", "/allocations/"+consumer, nil)
		}
		var tree struct {
			Providers []struct{ UUID string } `json:"resource_providers"`
		}
		s.place.Read(t, "/resource_providers?in_tree="+root, &tree)
		for _, p := range tree.Providers {
			if p.UUID != root {
				s.place.Must(t, http.StatusNoContent, "DELETE", "/resource_providers/"+p.UUID, nil)
			}
		}
		s.place.Must(t, http.StatusNoContent, "DELETE", "/resource_providers/"+root, nil)
		s.place.Must(t, http.StatusNoContent, "DELETE", "/resource_classes/"+class, nil)
	})
	file := filepath.Join(t.TempDir(), "moves.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const moves = `
- from_resource_provider: lab
  moved_resources: [CUSTOM_LAB_GPU: 2]
  to_resource_provider: lab_gpu0
  consumers: {` + one + `: 1, ` + two + `: 1}
- from_resource_provider: ` + root + `
  moved_resources: {CUSTOM_LAB_GPU: 2}
  to_resource_provider: lab_gpu1
`
	reshape := func(env []string, code int, says string, args ...string) string {
		t.Helper()
		got := s.berth(t, env, append([]string{"reshape", "--host", "lab", "--moves", file}, args...)...)
		if got.code != code || !strings.Contains(got.stdout+got.stderr, says) {
			t.Errorf("reshape %q, want exit code %d and %q: %s", args, code, says, got)
		}
		return got.stdout
	}
	write(moves)
	service := s.people["nova"]
	reshape(service, 2, "no move says where that of "+two+" goes")
	write(moves + "  consumers: {" + two + ": 1}\n")
	reshape(service, 6, "lab_gpu0 (new)\n+   CUSTOM_LAB_GPU: 2, 2 allocated\n")
	reshape(nil, 1, "the user needs the role", "--apply", "--yes")
	reshape(service, 0, "changed 3 providers with 3 moves of allocations of 2 consumers", "--apply", "--yes")
	var result struct {
		Changes []any
		Applied bool
	}
	out := reshape(service, 0, "", "--apply", "--yes", "-f", "json")
	if err := json.Unmarshal([]byte(out), &result); err != nil || len(result.Changes) != 0 {
		t.Errorf("a second time: %v: %s", err, out)
	}
	var has struct {
		Allocations map[string]struct{ Resources map[string]int }
	}
	s.place.Read(t, "/allocations/"+two, &has)
	amounts := map[int]int{}
	for _, a := range has.Allocations {
		amounts[a.Resources[class]]++
	}
	if len(has.Allocations) != 3 || amounts[1] != 2 || has.Allocations[root].Resources["MEMORY_MB"] != 8 {
		t.Errorf("the second consumer has %v", has.Allocations)
	}
}
