package selection_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/placement"
)

// offer is one with hosts that have so much of a class each, and candidates for one unit.
func offer(capacity int64, hosts ...string) (*selection.Offer, []selection.Host) {
	a := selection.Answer{Providers: map[placement.UUID]selection.Provider{}}
	var all []selection.Host
	for _, name := range hosts {
		all = append(all, selection.Host{Name: name, Node: name, Provider: placement.UUID(name), Enabled: true, Up: true})
		a.Providers[placement.UUID(name)] = stocked(name, "MEMORY_MB", capacity)
		a.Candidates = append(a.Candidates, selection.Candidate{
			Amounts: allocations.Amounts{name: {"MEMORY_MB": 1}}, Mappings: request.Mappings{"_port0": {placement.UUID(name)}},
		})
	}
	return selection.NewOffer(a), all
}

// Choosers that share an offer spread their servers as one chooser would, and do not promise the
// same unit twice; a claim that comes to nothing leaves its unit to the others.
func TestChoosersShareAnOffer(t *testing.T) {
	o, hosts := offer(2, "cn1", "cn2")
	next := func(c *selection.Chooser, want string) {
		t.Helper()
		claim, ok := c.Next()
		if claim.Host != want || ok != (want != "") {
			t.Errorf("Next = %q, %v, want %q", claim.Host, ok, want)
		}
	}
	start := func(server string) *selection.Chooser {
		return selection.New(selection.Wanted{Servers: []string{server}}, hosts, o, selection.DefaultSettings())
	}
	a, b, c, d, e := start("a"), start("b"), start("c"), start("d"), start("e")
	next(a, "cn1")
	next(b, "cn2") // which has more left
	a.Taken()
	next(c, "cn1")
	next(d, "cn2")
	next(e, "")
	d.Release()
	f := start("f")
	next(f, "cn2")
	f.Taken()
	f.Release() // of nothing
	c.Refuse("it is down")
	g := start("g")
	next(g, "cn1")
}

// With the same offer, many choosers at once take no more than there is.
func TestChoosersRace(t *testing.T) {
	o, hosts := offer(5, "cn1", "cn2", "cn3")
	var all sync.WaitGroup
	taken := make([]string, 50)
	for i := range taken {
		all.Go(func() {
			c := selection.New(selection.Wanted{Servers: []string{"s"}}, hosts, o, selection.DefaultSettings())
			defer c.Release()
			for n := 0; ; n++ {
				claim, ok := c.Next()
				if !ok {
					return
				}
				if n == i%2 { // others are refused at first
					c.Taken()
					taken[i] = claim.Host
					return
				}
			}
		})
	}
	all.Wait()
	on := map[string]int{}
	for _, host := range taken {
		on[host]++
	}
	if on["cn1"] > 5 || on["cn2"] > 5 || on["cn3"] > 5 || on["cn1"]+on["cn2"]+on["cn3"] == 0 {
		t.Errorf("5 fit on a host; there are %v", on)
	}
}

// The groups of a claim have the server's own suffixes.
func TestOwnSuffixes(t *testing.T) {
	o, hosts := offer(1, "cn1", "cn2")
	w := selection.Wanted{Servers: []string{"s"}, Suffixes: map[string]string{"_port0": "its-group"}}
	c := selection.New(w, hosts, o, selection.DefaultSettings())
	claim, ok := c.Next()
	if providers := claim.Mappings["its-group"]; !ok || len(providers) != 1 || providers[0] != "cn1" ||
		len(claim.Mappings) != 1 {
		t.Errorf("Next = %+v, %v", claim, ok)
	}
	c.Taken()
	if rest := c.Alternates(); len(rest) != 1 || rest[0].Mappings["its-group"] == nil {
		t.Errorf("the alternates are %+v", rest)
	}
}

// A host whose NUMA nodes have its CPUs and its memory is weighed by what they have together.
func TestHostsWithNodesAreWeighed(t *testing.T) {
	a := selection.Answer{Providers: map[placement.UUID]selection.Provider{}}
	var hosts []selection.Host
	for name, memory := range map[string][2]int64{"cn1": {3, 3}, "cn2": {4, 4}, "cn3": {5, 2}} {
		root := placement.UUID(name)
		hosts = append(hosts, selection.Host{Name: name, Node: name, Provider: root, Enabled: true, Up: true})
		a.Providers[root] = stocked(name, "DISK_GB", 10)
		for n, total := range memory {
			node := fmt.Sprintf("%s_NUMA%d", name, n)
			p := stocked(node, "MEMORY_MB", total)
			p.Root = root
			a.Providers[placement.UUID(node)] = p
			a.Candidates = append(a.Candidates, selection.Candidate{Amounts: allocations.Amounts{
				name: {"DISK_GB": 1}, node: {"MEMORY_MB": 2},
			}})
		}
	}
	o := selection.NewOffer(a)
	for _, want := range []string{"cn2", "cn3"} { // after the first, cn2 has six left, and cn3 seven
		c := selection.New(selection.Wanted{Servers: []string{want}}, hosts, o, selection.DefaultSettings())
		if claim, ok := c.Next(); !ok || claim.Host != want {
			t.Errorf("Next = %s, %v, want %s", claim.Host, ok, want)
		}
		c.Taken()
	}
}
