package guarantee_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/golden"
)

// What a request depends on: the rules, the segments of the network, and the type of the VNIC.
// These three do not depend on each other.
var (
	everyRules = rulesOfAllKinds()
	everyVNIC  = []string{
		"normal", "direct", "macvtap", "direct-physical", "baremetal", "virtio-forwarder", "smart-nic", "vdpa",
		"accelerator-direct", "remote-managed",
	}
	everySegments = []string{
		"", "local", "flat:physnet0", "vlan:physnet0", "vxlan", "gre", "geneve",
		"vlan:physnet0 vlan:physnet0", "vlan:physnet0 flat:physnet0", "vlan:physnet0 vlan:Physnet0",
		"vlan:physnet0 vlan:physnet1", "vlan:physnet1 vlan:physnet0", "vxlan vlan:physnet0", "vlan:physnet0 vxlan",
		"vxlan vlan:physnet1 vlan:physnet0", "vxlan gre", "local vxlan",
	}
	everyExtension = []guarantee.Extensions{{}, {Tunnels: true}, {Alternatives: true}, {Tunnels: true, Alternatives: true}}
)

// rulesOfAllKinds returns all sets of rules that a policy may have of what placement
// tracks, by what they are called.
func rulesOfAllKinds() map[string][]guarantee.Rule {
	all := map[string][]guarantee.Rule{}
	for _, bandwidth := range []string{"", "bw:egress", "bw:ingress", "bw:egress bw:ingress"} {
		for _, packets := range []string{"", "pkt:egress", "pkt:ingress", "pkt:egress pkt:ingress", "pkt:any"} {
			name := strings.TrimSpace(bandwidth + " " + packets)
			for i, word := range strings.Fields(name) {
				kind, direction, _ := strings.Cut(word, ":")
				r := guarantee.Rule{ID: word, Type: guarantee.MinimumBandwidth, Direction: direction, Amount: int64(i + 1)}
				if kind == "pkt" {
					r.Type = guarantee.MinimumPacketRate
				}
				all[name] = append(all[name], r)
			}
			if name == "" {
				all["limit:egress"] = []guarantee.Rule{
					{ID: "limit", Type: guarantee.BandwidthLimit, Direction: guarantee.Egress, Amount: 9},
				}
			}
		}
	}
	return all
}

func segmentsNamed(text string) (all []guarantee.Segment) {
	for word := range strings.FieldsSeq(text) {
		kind, physical, _ := strings.Cut(word, ":")
		all = append(all, guarantee.Segment{Type: kind, PhysicalNetwork: physical})
	}
	return all
}

func extensionName(x guarantee.Extensions) string {
	var words []string
	if x.Tunnels {
		words = append(words, "tunnels")
	}
	if x.Alternatives {
		words = append(words, "alternatives")
	}
	return strings.Join(words, " and ")
}

// A question names which of the three is varied: "rules", of a normal port on a VLAN; "vnics",
// for packet rates; "segments", with all extensions, for one rule.
func TestRequestsOfEveryKind(t *testing.T) {
	golden.Answer(t, "testdata/every.txt", func(t *testing.T, question []string) (lines []string) {
		switch question[0] {
		case "rules":
			for _, name := range slices.Sorted(maps.Keys(everyRules)) {
				lines = append(lines, answer(name, guarantee.Port{
					ID: thePort, VNICType: "normal", Rules: everyRules[name], Segments: segmentsNamed("vlan:physnet0"),
				}, guarantee.Extensions{})...)
			}
		case "vnics":
			for _, vnic := range everyVNIC {
				lines = append(lines, answer(vnic, guarantee.Port{ID: thePort, VNICType: vnic, Rules: everyRules["pkt:any"]},
					guarantee.Extensions{})...)
			}
		case "segments":
			for _, text := range everySegments {
				for _, x := range everyExtension {
					port := guarantee.Port{
						ID: thePort, VNICType: "normal", Rules: everyRules["bw:egress"], Segments: segmentsNamed(text),
					}
					lines = append(lines, answer(fmt.Sprintf("%q with %q", text, extensionName(x)), port, x)...)
				}
			}
		default:
			t.Fatalf("unknown question %q", question[0])
		}
		return lines
	})
}

func answer(name string, port guarantee.Port, x guarantee.Extensions) []string {
	lines := []string{name}
	for _, line := range answerRequest(port, x) {
		lines = append(lines, "  "+line)
	}
	return lines
}

// Every combination requests what the scenarios say of its three parts.
func TestRequestsAreTheSumOfTheirParts(t *testing.T) {
	request := func(rules []guarantee.Rule, vnic, segments string, x guarantee.Extensions) guarantee.Request {
		return guarantee.Port{ID: thePort, VNICType: vnic, Rules: rules, Segments: segmentsNamed(segments)}.Request(x)
	}
	n := 0
	for name, rules := range everyRules {
		plain := request(rules, "normal", "vlan:physnet0", guarantee.Extensions{}).Groups
		for _, vnic := range everyVNIC {
			trait := request(everyRules["pkt:any"], vnic, "", guarantee.Extensions{}).Groups[0].Required
			for _, segments := range everySegments {
				for _, x := range everyExtension {
					network := request(everyRules["bw:egress"], "normal", segments, x).Groups
					var want []guarantee.Group
					for _, g := range plain {
						switch {
						case g.Type != guarantee.MinimumBandwidth:
							g.Required = trait
						case len(network) == 0:
							continue
						default:
							names := network[0].Required
							g.Required, g.AnyOf = slices.Concat(names[:len(names)-1], trait), network[0].AnyOf
						}
						want = append(want, g)
					}
					got := request(rules, vnic, segments, x)
					if diff := cmp.Diff(want, got.Groups); diff != "" {
						t.Fatalf("%q, %s, %q with %q (-sum of the parts +request):\n%s", name, vnic, segments, extensionName(x), diff)
					}
					checkFormats(t, got)
					refused := guarantee.CheckNetwork(rules, segmentsNamed(segments), x) != nil
					if promises := strings.Contains(name, "bw"); refused != (promises && len(network) == 0) {
						t.Fatalf("%q on %q with %q: refused is %t", name, segments, extensionName(x), refused)
					}
					n++
				}
			}
		}
	}
	if want := 20 * len(everyVNIC) * len(everySegments) * len(everyExtension); n != want {
		t.Errorf("there are %d combinations, want %d", n, want)
	}
}

// checkFormats holds the two formats of a request against each other.
func checkFormats(t *testing.T, r guarantee.Request) {
	t.Helper()
	ids := r.SameSubtree()
	if len(ids) != len(r.Groups) {
		t.Fatalf("%d groups are in one subtree, of %d", len(ids), len(r.Groups))
	}
	old, ok := r.Old()
	i := slices.IndexFunc(r.Groups, func(g guarantee.Group) bool { return g.Type == guarantee.MinimumBandwidth })
	if ok != (i >= 0) || ok && !cmp.Equal(old, r.Groups[i].Needs) {
		t.Fatalf("the old format is %v, %t, for %v", old, ok, r.Groups)
	}
}
