package selection_test

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/internal/novatest"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/placement"
)

//go:embed testdata/nova.py
var novaScript string

// A choice is hosts to choose from, as testdata/nova.py reads it.
type choice struct {
	Hosts []choiceHost    `json:"hosts"`
	Group *selectionGroup `json:"group"`
}

type choiceHost struct {
	Name     string              `json:"name"`
	RAM      int64               `json:"ram"`
	CPU      int64               `json:"cpu"`
	Disk     int64               `json:"disk"`
	Busy     int                 `json:"busy"`
	Failed   int                 `json:"failed"`
	Servers  []string            `json:"servers"`
	Metadata []map[string]string `json:"metadata"`
}

type selectionGroup struct {
	Policy  string   `json:"policy"`
	Most    int      `json:"most"`
	Members []string `json:"members"`
	Hosts   []string `json:"hosts"`
}

// TestNova compares in which order hosts are tried with Nova's filters and weighers.
func TestNova(t *testing.T) {
	racetest.Skip(t)
	r := rand.New(rand.NewPCG(3, 1))
	choices := make([]choice, 3000)
	for i := range choices {
		choices[i] = randomChoice(r)
	}
	var answers [][]string
	novatest.Run(t, novaScript, choices, &answers)
	for i, c := range choices {
		if diff := cmp.Diff(answers[i], c.order()); diff != "" {
			t.Fatalf("%+v (-nova +berth):\n%s", c, diff)
		}
	}
}

func randomChoice(r *rand.Rand) (c choice) {
	ids := []string{"s1", "a", "b", "c", "d"}
	if r.IntN(2) == 0 {
		policies := []string{selection.Affinity, selection.AntiAffinity, selection.SoftAffinity, selection.SoftAntiAffinity}
		c.Group = &selectionGroup{
			Policy: policies[r.IntN(4)], Most: 1 + r.IntN(2), Members: ids[:1+r.IntN(5)], Hosts: []string{},
		}
	}
	for i := range 1 + r.IntN(6) {
		h := choiceHost{
			Name: fmt.Sprint("cn", i), RAM: r.Int64N(5) * 1024, CPU: r.Int64N(5), Disk: r.Int64N(3), Busy: r.IntN(3),
			Failed: r.IntN(12) / 11, Servers: []string{}, Metadata: []map[string]string{},
		}
		for _, id := range ids {
			if r.IntN(4) == 0 {
				h.Servers = append(h.Servers, id)
				if c.Group != nil && r.IntN(2) == 0 {
					c.Group.Hosts = append(c.Group.Hosts, h.Name)
				}
			}
		}
		for range r.IntN(3) {
			name := []string{"ram", "cpu", "disk", "io_ops", "soft_affinity", "soft_anti_affinity"}[r.IntN(6)]
			value := []string{"2", "-1", "0.5", " 3 ", "many"}[r.IntN(5)]
			h.Metadata = append(h.Metadata, map[string]string{name + "_weight_multiplier": value})
		}
		c.Hosts = append(c.Hosts, h)
	}
	return c
}

// order is how a Chooser would try the hosts when every claim is refused.
func (c choice) order() []string {
	var hosts []selection.Host
	a := selection.Answer{Providers: map[placement.UUID]selection.Provider{}}
	for _, h := range c.Hosts {
		root := placement.UUID(h.Name)
		hosts = append(hosts, selection.Host{
			Name: h.Name, Node: h.Name, Provider: root, Enabled: true, Up: true, Servers: h.Servers, Busy: h.Busy,
			Failed: h.Failed, Metadata: h.Metadata,
		})
		a.Providers[root] = selection.Provider{Root: root, Stocks: map[string]selection.Stock{
			"MEMORY_MB": {Capacity: h.RAM}, "VCPU": {Capacity: h.CPU}, "DISK_GB": {Capacity: h.Disk},
		}}
		a.Candidates = append(a.Candidates, selection.Candidate{Amounts: allocations.Amounts{h.Name: {"CUSTOM_SLOT": 1}}})
	}
	w := selection.Wanted{Servers: []string{"s1"}}
	if c.Group != nil {
		g := selection.Group(*c.Group)
		w.Group = &g
	}
	chooser := selection.New(w, hosts, selection.NewOffer(a), selection.DefaultSettings())
	order := []string{}
	for {
		claim, ok := chooser.Next()
		if !ok {
			return order
		}
		order = append(order, claim.Host)
	}
}
