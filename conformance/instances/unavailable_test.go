package instances

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/rest"
)

// TestFollowerThatWasAway suspends an instance while others write, and removes the beginning of the
// change log. The first answer afterwards has all changes.
func TestFollowerThatWasAway(t *testing.T) {
	for _, c := range []struct {
		name string
		lose string // the part of the log that is removed meanwhile
	}{
		{"WholeLog", ""},
		{"LogWithoutItsBeginning", `DELETE FROM berth_changes WHERE seq <= 200`},
		{"NoLog", `DELETE FROM berth_changes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := dbtest.MariaDB(t)
			d := s.CreateDatabase(t)
			f := newFleet(t, same(d.URL(s.Address())))
			f[0].c.AddProvider(t, rest.UUID("d0", 1<<20), "", rest.Resources{"VCPU": 8})
			if got := names(t, f[2].c); len(got) != 1 {
				t.Fatalf("the follower has %d providers at first, want 1", len(got))
			}
			f[2].Freeze()
			want := changeMuch(t, f[:2])
			if c.lose != "" {
				if n := change(t, openRows(t, d, s.Address()), c.lose); n == 0 {
					t.Error("nothing of the log was lost")
				}
			}
			f[2].Thaw()
			begin := time.Now()
			if got := names(t, f[2].c); !strings.Contains(strings.Join(got, "\n"), want) || len(got) != 101 {
				t.Errorf("the follower has %d providers, want 101 with %q: %q", len(got), want, got)
			}
			t.Logf("the first answer took %v", time.Since(begin).Round(time.Millisecond))
			f[0].c.Must(t, 200, "PUT", "/resource_providers/"+rest.UUID("d0", 0), rest.Object{"name": "at last"})
			if got := names(t, f[2].c); !strings.Contains(strings.Join(got, "\n"), "at last") {
				t.Errorf("the follower does not go on following: %q", got)
			}
		})
	}
}

// changeMuch creates 100 providers and renames each twice, and returns the name of the last.
func changeMuch(t *testing.T, f fleet) string {
	t.Helper()
	name := ""
	for n := range 100 {
		uuid := rest.UUID("d0", n)
		f[0].c.AddProvider(t, uuid, "", nil)
		for round, i := range f {
			name = fmt.Sprintf("provider %d of round %d", n, round)
			i.c.Must(t, 200, "PUT", "/resource_providers/"+uuid, rest.Object{"name": name})
		}
	}
	return name
}

// names returns those of all providers.
func names(t *testing.T, c *rest.Client) (all []string) {
	t.Helper()
	var list struct {
		Providers []struct{ Name string } `json:"resource_providers"`
	}
	c.Read(t, "/resource_providers", &list)
	for _, p := range list.Providers {
		all = append(all, p.Name)
	}
	return all
}
