package guarantee_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/golden"
)

// A question is the agents of a host and the providers of an allocation:
//
//	agent openvswitch cn1 {"resource_provider_bandwidths": …}
//	serves a cn1:Open vSwitch agent:br0     a group and the name of a provider
//	serves-old cn1:NIC Switch agent:ens5    the old format
func TestResponsibleScenarios(t *testing.T) {
	golden.Answer(t, "testdata/responsible.txt", func(t *testing.T, question []string) []string {
		var states []guarantee.State
		names := labels{}
		a := guarantee.ProfileAllocation{}
		for _, line := range question {
			word, rest, _ := strings.Cut(line, " ")
			switch word {
			case "agent":
				words := strings.SplitN(rest, " ", 3)
				states = append(states, driver(t, words[0], nil).State(words[1], parse(t, words[2])))
			case "serves":
				group, provider, _ := strings.Cut(rest, " ")
				if a.Groups == nil {
					a.Groups = map[guarantee.UUID]guarantee.UUID{}
				}
				a.Groups[groupOf(t, group)] = names.provider(t, provider)
			case "serves-old":
				a.Old = names.provider(t, rest)
			default:
				t.Fatalf("unknown line %q", line)
			}
		}
		name, err := guarantee.Responsible(a, states)
		if err != nil {
			return []string{"error " + names.in(err.Error())}
		}
		return []string{name}
	})
}

func (l labels) provider(t *testing.T, name string) guarantee.UUID {
	t.Helper()
	n, ok := guarantee.ParseName(name)
	if !ok {
		t.Fatalf("%q is not the name of a provider", name)
	}
	l[n.UUID()] = name
	return n.UUID()
}

func TestResponsibleErrors(t *testing.T) {
	report := parse(t, `{"bridge_mappings": {"physnet0": "br0"}, "resource_provider_bandwidths": {"br0": {"egress": 1}}}`)
	s := ovs.State("cn1", report)
	twin := s
	twin.Driver = "twin"
	known, unknown := s.Providers[1].UUID, providerOf("elsewhere")
	a := guarantee.ProfileAllocation{Groups: map[guarantee.UUID]guarantee.UUID{{1}: known}}
	_, err := guarantee.Responsible(a, []guarantee.State{s, twin})
	want := &guarantee.AmbiguousProvider{Providers: []guarantee.UUID{known}, Drivers: []string{"openvswitch", "twin"}}
	if got, ok := errors.AsType[*guarantee.AmbiguousProvider](err); !ok || !cmp.Equal(got, want) {
		t.Errorf("Responsible of two = %v; want %v", err, want)
	}
	a.Groups[guarantee.UUID{2}] = unknown
	_, err = guarantee.Responsible(a, []guarantee.State{s, twin})
	got, ok := errors.AsType[*guarantee.UnknownProvider](err)
	if !ok || len(got.Providers) != 2 || !cmp.Equal(got.Covered, []guarantee.UUID{known}) {
		t.Errorf("Responsible of none = %v; want UnknownProvider with one of two covered", err)
	}
}

func TestProfileAllocation(t *testing.T) {
	const group, provider = "3ca3b601-55eb-517e-9777-0f8dee58e0a5", "4a6f5f40-b7a1-5df4-9938-63983543f365"
	for _, tc := range []struct{ json, want string }{
		{`{"` + group + `": "` + provider + `"}`, `{"` + group + `":"` + provider + `"}`},
		{`{"` + strings.ToUpper(group) + `": "` + strings.ToUpper(provider) + `"}`, `{"` + group + `":"` + provider + `"}`},
		{`"` + provider + `"`, `"` + provider + `"`},
		{`{}`, `{}`},
		{`null`, `{}`},
	} {
		var a guarantee.ProfileAllocation
		if err := json.Unmarshal([]byte(tc.json), &a); err != nil {
			t.Errorf("reading %s: %v", tc.json, err)
		}
		if got := string(encode(t, a)); got != tc.want {
			t.Errorf("%s is written as %s; want %s", tc.json, got, tc.want)
		}
		if want := strings.Contains(tc.want, provider); a.Empty() == want || (len(a.Providers()) == 1) != want {
			t.Errorf("%s: empty %v, providers %v", tc.json, a.Empty(), a.Providers())
		}
	}
	for _, wrong := range []string{
		`7`, `[]`, `""`, `"x"`, `{"x": "` + provider + `"}`, `{"` + group + `": "x"}`,
		`{"` + group + `": ["` + provider + `"]}`,
	} {
		a := guarantee.ProfileAllocation{Old: thePort}
		err := json.Unmarshal([]byte(wrong), &a)
		if err == nil || a.Old != thePort || !strings.Contains(err.Error(), "allocation of a binding profile") {
			t.Errorf("reading %s: %v, and it is %v", wrong, err, a)
		}
	}
	if got := string(encode(t, guarantee.ProfileAllocation{})); got != `{}` {
		t.Errorf("nothing is written as %s", got)
	}
}

func TestProviderOf(t *testing.T) {
	rules := []guarantee.Rule{
		{ID: "r1", Type: guarantee.MinimumBandwidth, Direction: guarantee.Egress, Amount: 1},
		{ID: "r2", Type: guarantee.MinimumBandwidth, Direction: guarantee.Ingress, Amount: 1},
		{ID: "p1", Type: guarantee.MinimumPacketRate, Direction: guarantee.AnyDirection, Amount: 1},
	}
	eth0 := providerOf("eth0")
	grouped := guarantee.ProfileAllocation{Groups: map[guarantee.UUID]guarantee.UUID{groupOf(t, "r2:r1"): eth0}}
	old := guarantee.ProfileAllocation{Old: eth0}
	for _, tc := range []struct {
		a    guarantee.ProfileAllocation
		t    guarantee.RuleType
		r    []guarantee.Rule
		want guarantee.UUID
	}{
		{grouped, guarantee.MinimumBandwidth, rules, eth0},
		{grouped, guarantee.MinimumPacketRate, rules, guarantee.UUID{}},
		{grouped, guarantee.MinimumBandwidth, rules[:1], guarantee.UUID{}},
		{grouped, guarantee.MinimumBandwidth, nil, guarantee.UUID{}},
		{old, guarantee.MinimumBandwidth, rules, eth0},
		{old, guarantee.MinimumPacketRate, rules, guarantee.UUID{}},
		{old, guarantee.MinimumBandwidth, nil, guarantee.UUID{}},
		{guarantee.ProfileAllocation{}, guarantee.MinimumBandwidth, rules, guarantee.UUID{}},
	} {
		got, ok := tc.a.ProviderOf(thePort, tc.t, tc.r)
		if got != tc.want || ok != (tc.want != guarantee.UUID{}) {
			t.Errorf("%v.ProviderOf(%s, %v) = %s, %v; want %s", tc.a, tc.t, tc.r, got, ok, tc.want)
		}
	}
}
