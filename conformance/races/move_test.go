package races

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/rest"
)

// TestMovedClaimIsFreedAtOnce moves a consumer's allocations from one provider to another, by each
// request that can: the next read returns both changes.
func TestMovedClaimIsFreedAtOnce(t *testing.T) {
	from, to := provider(0), provider(1)
	consumer := rest.UUID("c0", 1)
	claim := func(generation any, p string, amount int) rest.Object {
		return rest.Allocations(generation, map[string]rest.Resources{p: {"VCPU": amount}})
	}
	rest.Each(t, func(t *testing.T, url string) {
		c := rest.New(url, "1.36")
		defer c.Close()
		c.AddProvider(t, from, "", rest.Resources{"VCPU": 8})
		c.AddProvider(t, to, "", rest.Resources{"VCPU": 8})
		for _, step := range []struct {
			what, method, path string
			body               any
			want               [2]int // in use on either side
		}{
			{"claim", "PUT", "/allocations/" + consumer, claim(nil, from, 2), [2]int{2, 0}},
			{"move", "PUT", "/allocations/" + consumer, claim(1, to, 3), [2]int{0, 3}},
			{"move back", "POST", "/allocations", rest.Object{consumer: claim(2, from, 4)}, [2]int{4, 0}},
			{"delete", "DELETE", "/allocations/" + consumer, nil, [2]int{0, 0}},
		} {
			c.Must(t, 204, step.method, step.path, step.body)
			got := [2]int{c.Usages(t, from)["VCPU"], c.Usages(t, to)["VCPU"]}
			if d := cmp.Diff(step.want, got); d != "" {
				t.Errorf("in use after %s (-want +got)\n%s", step.what, d)
			}
		}
	})
}
