package healing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/healing"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/placement"
)

const (
	root  = "00000000-0000-0000-0000-0000000000f0"
	one   = "00000000-0000-0000-0000-000000000001"
	other = "00000000-0000-0000-0000-000000000002"
	group = "00000000-0000-0000-0000-0000000000aa"
	class = "NET_BW_EGR_KILOBIT_PER_SEC"
)

// server is one that holds something, with ports.
func server(held allocations.Amounts, ports ...healing.Port) healing.Server {
	return healing.Server{
		ID: "vm", Host: "cn1", Project: "p", User: "u", Root: root, Held: allocations.Consumer{Amounts: held, Project: "p", User: "u"}, Ports: ports,
		Flavor: placement.Query{Groups: []placement.RequestGroup{{Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 1}}}}},
	}
}

// port is a bound one that asks for so much, in the format without groups when it is old.
func port(n int64, old bool, provider string) healing.Port {
	p := healing.Port{Host: "cn1", Asks: request.Port{ID: "port", Old: old, Groups: []request.Group{{ID: group, Resources: map[string]int64{class: n}}}}}
	if id, err := guarantee.ParseUUID(provider); err == nil {
		if p.Allocation.Old = id; !old {
			g, _ := guarantee.ParseUUID(group)
			p.Allocation = guarantee.ProfileAllocation{Groups: map[guarantee.UUID]guarantee.UUID{g: id}}
		}
	}
	return p
}

func on(provider string, n int64) allocations.Amounts {
	return allocations.Amounts{provider: {class: n}}
}

var flavor = allocations.Amounts{root: {"VCPU": 1}}

func TestPlans(t *testing.T) {
	busy, nowhere, nested, unbound, unread := server(nil), server(nil), server(nil), port(5, false, ""), server(nil)
	busy.Busy, nowhere.Root, unbound.Host, unread.NoFlavor = "it is spawning", "", "", errors.New("it is no JSON")
	nested.Flavor.Groups = append(nested.Flavor.Groups, placement.RequestGroup{Suffix: "1", Resources: []placement.ClassAmount{{Class: "VGPU", Amount: 1}}})
	stolen := server(flavor)
	stolen.Held.Project = "other"
	for what, tc := range map[string]struct {
		server healing.Server
		choice healing.Choice
		whole  allocations.Amounts
		ports  []allocations.Amounts // what is missing of each
		code   healing.Code
		text   string // of the first problem
	}{
		"complete":            {server: server(flavor.Plus(on(one, 5)), port(5, false, one))},
		"nothing":             {server: server(nil, port(5, false, one), port(7, true, other)), whole: flavor.Plus(on(one, 5)).Plus(on(other, 7))},
		"wrong owner":         {server: stolen, whole: flavor},
		"lost":                {server: server(flavor.Plus(on(one, 8)), port(5, false, one), port(5, true, one)), ports: []allocations.Amounts{on(one, 2)}},
		"open":                {server: server(flavor, port(5, false, "")), ports: []allocations.Amounts{nil}},
		"not bound here":      {server: server(flavor, unbound)},
		"asks for nothing":    {server: server(flavor, port(0, false, ""))},
		"ports are skipped":   {server: server(nil, port(5, false, "")), choice: healing.Choice{SkipPorts: true}, whole: flavor},
		"held for no port":    {server: server(flavor.Plus(on(one, 5)), port(5, false, "")), ports: []allocations.Amounts{nil}, code: healing.NotAllocated, text: "5 of " + class + " on provider " + one},
		"released with force": {server: server(flavor.Plus(on(one, 5)), port(5, false, "")), choice: healing.Choice{Force: true}, whole: flavor, ports: []allocations.Amounts{nil}},
		"force without need":  {server: server(flavor.Plus(on(one, 5)), port(5, false, one)), choice: healing.Choice{Force: true}},
		"busy":                {server: busy},
		"no node":             {server: nowhere, code: healing.NoNode, text: "cn1"},
		"nested":              {server: nested, code: healing.Refused, text: "not those of its host alone"},
		"no flavor":           {server: unread, code: healing.Refused, text: "no JSON"},
	} {
		p := healing.New(tc.server, tc.choice)
		first := p.Problem
		var missing []allocations.Amounts
		for _, m := range p.Ports {
			missing = append(missing, m.Amounts)
			if first == nil {
				first = m.Problem
			}
		}
		if d := cmp.Diff(tc.whole, p.Whole); d != "" {
			t.Errorf("%s: the allocation (-want +got)\n%s", what, d)
		}
		if d := cmp.Diff(tc.ports, missing); d != "" {
			t.Errorf("%s: the ports (-want +got)\n%s", what, d)
		}
		if p.Busy != tc.server.Busy || p.Empty() != (tc.whole == nil && tc.ports == nil && tc.code == 0) {
			t.Errorf("%s: the plan is %+v", what, p)
		}
		if (first == nil) != (tc.code == 0) || first != nil && (first.Code != tc.code || !strings.Contains(first.Error(), tc.text)) {
			t.Errorf("%s: the problem is %v, want %d %q", what, first, tc.code, tc.text)
		}
	}
}

// candidate is one by which a provider serves the port.
func candidate(provider placement.UUID) selection.Candidate {
	return selection.Candidate{Amounts: on(string(provider), 5), Mappings: request.Mappings{group: {provider}}}
}

func TestChoose(t *testing.T) {
	device := func(provider placement.UUID) healing.Port {
		p := port(5, false, "")
		p.Device = provider
		return p
	}
	for what, tc := range map[string]struct {
		port       healing.Port
		candidates []selection.Candidate
		want, text string
	}{
		"one":              {port: port(5, false, ""), candidates: []selection.Candidate{candidate(one)}, want: one},
		"old format":       {port: port(5, true, ""), candidates: []selection.Candidate{candidate(one)}, want: one},
		"none":             {port: port(5, false, ""), text: "capacity"},
		"several":          {port: port(5, false, ""), candidates: []selection.Candidate{candidate(one), candidate(other)}, text: "2 providers"},
		"its device":       {port: device(other), candidates: []selection.Candidate{candidate(one), candidate(other)}, want: other},
		"its full device":  {port: device(other), candidates: []selection.Candidate{candidate(one)}, text: other},
		"unserved request": {port: port(5, false, ""), candidates: []selection.Candidate{{Amounts: on(one, 5)}}, text: "served by 0 providers"},
	} {
		m := healing.New(server(flavor, tc.port), healing.Choice{}).Ports[0].Choose(tc.candidates)
		var names string
		if all := m.Allocation.Providers(); len(all) == 1 {
			names = all[0].String()
		}
		if names != tc.want || tc.want != "" && !m.Amounts.Equal(on(tc.want, 5)) || tc.want == "" && len(m.Amounts) > 0 {
			t.Errorf("%s: it names %q with %v, want %q", what, names, m.Amounts, tc.want)
		}
		if (m.Problem == nil) != (tc.text == "") || m.Problem != nil && !strings.Contains(m.Problem.Error(), tc.text) {
			t.Errorf("%s: the problem is %v, want %q", what, m.Problem, tc.text)
		}
	}
}
