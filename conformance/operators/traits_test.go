package operators

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// aggregateTraits adds a trait to the providers of the host aggregate fast, and removes it again:
// other traits and other hosts stay as they are.
func (s *stack) aggregateTraits(t *testing.T) {
	const trait = "CUSTOM_TRIED"
	before := map[string][]string{}
	for _, root := range s.roots {
		before[root] = s.traitsOf(t, root)
	}
	members := s.changeTraits(t, "--add", trait)
	if len(members) == 0 || len(members) == len(s.roots) {
		t.Fatalf("the aggregate has %d of %d hosts", len(members), len(s.roots))
	}
	for _, root := range s.roots {
		want := slices.Clone(before[root])
		if slices.Contains(members, root) {
			want = append(want, trait)
		}
		s.sameTraits(t, root, want)
	}
	if again := s.berth(t, nil, "records", "traits", "--aggregate", "fast", "--add", trait); again.code != 0 {
		t.Errorf("a second time it prints %s", again)
	}
	s.changeTraits(t, "--remove", trait)
	for _, root := range s.roots {
		s.sameTraits(t, root, before[root])
	}
	s.place.Must(t, http.StatusNoContent, "DELETE", "/traits/"+trait, nil)
}

// changeTraits runs the command as a dry run and then with --apply, and returns the UUIDs of the
// providers that it has changed.
func (s *stack) changeTraits(t *testing.T, args ...string) (uuids []string) {
	t.Helper()
	args = append([]string{"records", "traits", "--aggregate", "fast", "-f", "json"}, args...)
	if dry := s.berth(t, nil, args...); dry.code != 6 {
		t.Fatalf("without --apply it prints %s", dry)
	}
	done := s.berth(t, nil, append(args, "--apply", "--yes")...)
	var got struct {
		Providers []struct{ UUID, Result string }
	}
	if err := json.Unmarshal([]byte(done.stdout), &got); err != nil || done.code != 0 {
		t.Fatalf("%v: %s", err, done)
	}
	for _, p := range got.Providers {
		if p.Result != "changed" {
			t.Errorf("%s is %s", p.UUID, p.Result)
		}
		uuids = append(uuids, p.UUID)
	}
	return uuids
}

// sameTraits expects the traits of a provider, in any order.
func (s *stack) sameTraits(t *testing.T, provider string, want []string) {
	t.Helper()
	got := s.traitsOf(t, provider)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("provider %s has the traits %q, want %q", provider, got, want)
	}
}
