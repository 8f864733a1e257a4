package guarantee_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/golden"
)

// A question is a port:
//
//	port normal [tunnels] [alternatives]
//	segment vlan physnet0
//	rule minimum_bandwidth egress 1000 r1
//
// The answer is its request in both formats, with groups named after their rules.
func TestRequestScenarios(t *testing.T) {
	golden.Answer(t, "testdata/request.txt", func(t *testing.T, question []string) []string {
		port := guarantee.Port{ID: thePort}
		var x guarantee.Extensions
		for _, line := range question {
			switch words := strings.Fields(line); words[0] {
			case "port":
				port.VNICType = words[1]
				x = extensions(t, words[2:])
			case "segment":
				port.Segments = append(port.Segments, guarantee.Segment{
					Type: words[1], PhysicalNetwork: strings.Join(words[2:], " "),
				})
			case "rule":
				port.Rules = append(port.Rules, rule(t, words[1:]))
			default:
				t.Fatalf("unknown line %q", line)
			}
		}
		return answerRequest(port, x)
	})
}

func extensions(t *testing.T, words []string) (x guarantee.Extensions) {
	for _, w := range words {
		switch w {
		case "tunnels":
			x.Tunnels = true
		case "alternatives":
			x.Alternatives = true
		default:
			t.Fatalf("unknown extension %q", w)
		}
	}
	return x
}

func answerRequest(port guarantee.Port, x guarantee.Extensions) []string {
	names := labels{}
	for _, r := range port.Rules {
		names.group(r.Type, port.Rules)
	}
	var lines []string
	request := port.Request(x)
	for _, g := range request.Groups {
		lines = append(lines, "group "+names.of(g.ID)+" "+string(g.Type)+": "+renderNeeds(g.Needs))
	}
	if ids := request.SameSubtree(); len(ids) > 0 {
		words := []string{"same subtree:"}
		for _, id := range ids {
			words = append(words, names.of(id))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	if old, ok := request.Old(); ok {
		lines = append(lines, "old format: "+renderNeeds(old))
	}
	if err := guarantee.CheckNetwork(port.Rules, port.Segments, x); err != nil {
		lines = append(lines, "conflict: "+err.Error())
	}
	if lines == nil {
		return []string{"nothing"}
	}
	return lines
}

func renderNeeds(n guarantee.Needs) string {
	s := strings.Join(append(resources(n.Resources, "%s=%d"), n.Required...), " ")
	if n.AnyOf != nil {
		s += " any of " + strings.Join(n.AnyOf, " ")
	}
	return s
}

// The port, its rules and its request were seen on a running Neutron.
func TestRequestOfNeutron(t *testing.T) {
	id, err := guarantee.ParseUUID("67d00727-44be-438b-83ae-f8b3dfb6e7e8")
	if err != nil {
		t.Fatal(err)
	}
	got := guarantee.Port{
		ID:       id,
		VNICType: "direct",
		Rules: []guarantee.Rule{
			{
				ID: "4fb16f2a-9abc-4f63-8ec1-70a842ba0c9e", Type: guarantee.MinimumBandwidth, Direction: guarantee.Egress,
				Amount: 1000000,
			},
			{
				ID: "e818d905-823b-4df0-af26-512741fd54f7", Type: guarantee.MinimumBandwidth, Direction: guarantee.Ingress,
				Amount: 1000000,
			},
		},
		Segments: []guarantee.Segment{{Type: "vlan", PhysicalNetwork: "physnet0"}},
	}.Request(guarantee.Extensions{})
	group, err := guarantee.ParseUUID("9e3bc887-23ac-5571-9d5d-78a868bb1d93")
	if err != nil {
		t.Fatal(err)
	}
	want := guarantee.Request{Groups: []guarantee.Group{{
		ID:   group,
		Type: guarantee.MinimumBandwidth,
		Needs: guarantee.Needs{
			Required:  []string{"CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_DIRECT"},
			Resources: map[string]int64{"NET_BW_EGR_KILOBIT_PER_SEC": 1000000, "NET_BW_IGR_KILOBIT_PER_SEC": 1000000},
		},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestCheckNetworkError(t *testing.T) {
	rules := []guarantee.Rule{{ID: "r1", Type: guarantee.MinimumBandwidth, Direction: guarantee.Egress}}
	if err := guarantee.CheckNetwork(rules, nil, guarantee.Extensions{}); !errors.Is(err, guarantee.ErrUntracked) {
		t.Errorf("CheckNetwork without segments = %v; want ErrUntracked", err)
	}
}
