package guarantee_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
)

// ours are the keys of configurations that placement follows.
var ours = []string{
	"bridge_mappings", "device_mappings", "resource_provider_bandwidths", "resource_provider_hypervisors",
	"resource_provider_inventory_defaults", "resource_provider_packet_processing_inventory_defaults",
	"resource_provider_packet_processing_with_direction", "resource_provider_packet_processing_without_direction",
	"resource_provider_traits",
}

// What agents of Neutron sent is read and written again without a difference in
// the keys that are ours.
func TestReportsOfNeutron(t *testing.T) {
	for _, file := range []string{"testdata/ovs.json", "testdata/sriov.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		report, err := guarantee.ParseReport(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(keys(t, data, ours), keys(t, encode(t, report), nil)); diff != "" {
			t.Errorf("%s (-read +written):\n%s", file, diff)
		}
	}
}

// keys decodes an object and keeps the named keys, all when there are no names.
func keys(t *testing.T, data []byte, names []string) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if names == nil {
		return all
	}
	some := map[string]any{}
	for _, n := range names {
		if v, ok := all[n]; ok {
			some[n] = v
		}
	}
	return some
}

func encode(t interface{ Fatal(...any) }, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestWrittenReport(t *testing.T) {
	n, ratio, whole := int64(1000), 1.5, 2.0
	for _, tc := range []struct {
		report guarantee.Report
		want   string
	}{
		{guarantee.Report{}, `{}`},
		{guarantee.Report{Bandwidths: map[string]guarantee.Directed{}}, `{"resource_provider_bandwidths":{}}`},
		{
			guarantee.Report{Bandwidths: map[string]guarantee.Directed{"br0": {Ingress: &n}}},
			`{"resource_provider_bandwidths":{"br0":{"egress":null,"ingress":1000}}}`,
		},
		{
			guarantee.Report{UndirectedPacketRates: map[string]guarantee.Undirected{"cn1": {Any: &n}, "cn2": {}}},
			`{"resource_provider_packet_processing_without_direction":{"cn1":{"any":1000},"cn2":{"any":null}}}`,
		},
		{
			guarantee.Report{InventoryDefaults: guarantee.InventoryDefaults{AllocationRatio: &ratio, MaxUnit: &n}},
			`{"resource_provider_inventory_defaults":{"allocation_ratio":1.5,"max_unit":1000}}`,
		},
		{
			guarantee.Report{PacketInventoryDefaults: guarantee.InventoryDefaults{AllocationRatio: &whole}},
			`{"resource_provider_packet_processing_inventory_defaults":{"allocation_ratio":2.0}}`,
		},
		{
			guarantee.Report{Traits: map[string][]string{"ens5": {"CUSTOM_A", "CUSTOM_B"}}},
			`{"resource_provider_traits":{"ens5":["CUSTOM_A","CUSTOM_B"]}}`,
		},
	} {
		if got := string(encode(t, tc.report)); got != tc.want {
			t.Errorf("written:\n%s\nwant:\n%s", got, tc.want)
		}
	}
}

func TestLenientReports(t *testing.T) {
	bandwidths := func(egress, ingress *int64) guarantee.Report {
		return guarantee.Report{Bandwidths: map[string]guarantee.Directed{"br0": {Egress: egress, Ingress: ingress}}}
	}
	million, zero := int64(1e6), int64(0)
	for _, tc := range []struct {
		json string
		want guarantee.Report
	}{
		{`{}`, guarantee.Report{}},
		{` {"a": 1, "bridges": ["x"], "tunneling_ip": null}`, guarantee.Report{}},
		{
			`{"resource_provider_bandwidths": null, "bridge_mappings": null, "resource_provider_inventory_defaults": null}`,
			guarantee.Report{},
		},
		{`{"resource_provider_bandwidths": {"br0": null}}`, bandwidths(nil, nil)},
		{`{"resource_provider_bandwidths": {"br0": {"egress": null}}}`, bandwidths(nil, nil)},
		{`{"resource_provider_bandwidths": {"br0": {"egress": 1000000.0, "ingress": 1e6}}}`, bandwidths(&million, &million)},
		{`{"resource_provider_bandwidths": {"br0": {"egress": 0, "burst": "x"}}}`, bandwidths(&zero, nil)},
		{
			`{"resource_provider_traits": {"br0": null, "br1": ["CUSTOM_A"]}}`,
			guarantee.Report{Traits: map[string][]string{"br0": nil, "br1": {"CUSTOM_A"}}},
		},
		{`{"resource_provider_inventory_defaults": {"total": "x", "allocation_ratio": null}}`, guarantee.Report{}},
	} {
		got, err := guarantee.ParseReport([]byte(tc.json))
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("ParseReport(%s): %v (-want +got):\n%s", tc.json, err, diff)
		}
	}
}

func TestWrongReports(t *testing.T) {
	for _, tc := range []struct{ json, key, want string }{
		{``, "", "configurations must be a JSON object, not ``"},
		{`null`, "", "an object"},
		{`[]`, "", "an object"},
		{`{"a": 1} x`, "", "a JSON object"},
		{`{"resource_provider_bandwidths": []}`, "resource_provider_bandwidths", "an object"},
		{`{"resource_provider_bandwidths": {"br0": 7}}`, "resource_provider_bandwidths.br0", "an object"},
		{
			`{"resource_provider_bandwidths": {"br0": {"egress": "7"}}}`, "resource_provider_bandwidths.br0.egress",
			"a whole number",
		},
		{`{"resource_provider_bandwidths": {"br0": {"egress": -1}}}`, "resource_provider_bandwidths.br0.egress", "from 0"},
		{`{"resource_provider_bandwidths": {"br0": {"ingress": 1.5}}}`, "resource_provider_bandwidths.br0.ingress", "whole"},
		{`{"resource_provider_bandwidths": {"br0": {"ingress": true}}}`, "resource_provider_bandwidths.br0.ingress", "whole"},
		{
			`{"resource_provider_bandwidths": {"br0": {"ingress": 2147483648}}}`, "resource_provider_bandwidths.br0.ingress",
			"to 2147483647",
		},
		{
			`{"resource_provider_bandwidths": {"br0": {"ingress": 1e999}}}`, "resource_provider_bandwidths.br0.ingress",
			"to 2147483647",
		},
		{
			`{"resource_provider_bandwidths": {"b": {"egress": 0}, "c": 1, "a": 1}}`, "resource_provider_bandwidths.a",
			"an object",
		},
		{
			`{"resource_provider_inventory_defaults": {"allocation_ratio": -1}}`,
			"resource_provider_inventory_defaults.allocation_ratio", "0 or more",
		},
		{
			`{"resource_provider_inventory_defaults": {"step_size": 0.5}}`,
			"resource_provider_inventory_defaults.step_size", "whole",
		},
		{`{"resource_provider_hypervisors": {"br0": 1}}`, "resource_provider_hypervisors.br0", "a string"},
		{`{"resource_provider_traits": {"br0": "CUSTOM_A"}}`, "resource_provider_traits.br0", "a list of strings"},
		{
			`{"resource_provider_traits": {"br0": ["CUSTOM_A", "gold"]}}`, "resource_provider_traits.br0",
			"a trait of CUSTOM_ and capital letters, digits and underscores, at most 255 of them, not `\"gold\"`",
		},
		{
			`{"resource_provider_traits": {"br0": ["` + strings.Repeat("CUSTOM_", 40) + `"]}}`, "resource_provider_traits.br0",
			"at most 255",
		},
		{`{"resource_provider_traits": {"br0": ["CUSTOM_A\n"]}}`, "resource_provider_traits.br0", "capital letters"},
		{`{"resource_provider_traits": {"br0": ["HW_NIC_SRIOV"]}}`, "resource_provider_traits.br0", "of CUSTOM_"},
		{
			`{"resource_provider_traits": {"br0": ["CUSTOM_PHYSNET_A"]}}`, "resource_provider_traits.br0",
			"does not follow from the mappings",
		},
		{
			`{"resource_provider_traits": {"br0": ["CUSTOM_VNIC_TYPE_NORMAL"]}}`, "resource_provider_traits.br0",
			"does not follow from the mappings",
		},
		{
			`{"resource_provider_traits": {"br0": ["CUSTOM_NETWORK_TUNNEL_PROVIDER"]}}`, "resource_provider_traits.br0",
			"does not follow from the mappings",
		},
		{
			`{"resource_provider_packet_processing_without_direction": {"cn1": {"any": []}}}`,
			"resource_provider_packet_processing_without_direction.cn1.any", "whole",
		},
		{
			`{"resource_provider_packet_processing_with_direction": "x"}`, "resource_provider_packet_processing_with_direction",
			"an object",
		},
		{`{"bridge_mappings": {"physnet0": ["br0"]}}`, "bridge_mappings.physnet0", "a string"},
		{`{"device_mappings": {"physnet0": "ens5"}}`, "device_mappings.physnet0", "a list of strings"},
		{`{"device_mappings": "` + strings.Repeat("x", 100) + `"}`, "device_mappings", "xxx`…"},
	} {
		_, err := guarantee.ParseReport([]byte(tc.json))
		var wrong *guarantee.ReportError
		if !errors.As(err, &wrong) || wrong.Key != tc.key || !strings.Contains(err.Error(), tc.want) ||
			len(err.Error()) > 200 {
			t.Errorf("ParseReport(%s) = %v; want an error of %q with %q", tc.json, err, tc.key, tc.want)
		}
	}
}

func TestReportIsKeptOnError(t *testing.T) {
	r := guarantee.Report{BridgeMappings: map[string]string{"physnet0": "br0"}}
	if err := json.Unmarshal([]byte(`{"bridge_mappings": 1}`), &r); err == nil || r.BridgeMappings == nil {
		t.Errorf("Unmarshal of a wrong report = %v, and the report is %v", err, r)
	}
}

// Whatever is sent: there is no panic, an error names what it is about, and what is
// read can be written, read and turned into a state.
func FuzzParseReport(f *testing.F) {
	for _, file := range []string{"testdata/ovs.json", "testdata/sriov.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"resource_provider_bandwidths": {"": {"egress": 1e3}}, "resource_provider_hypervisors": {"": ""}}`))
	f.Add([]byte(`{"resource_provider_bandwidths": {"a\nb": 1}}`))
	f.Add([]byte(`{"resource_provider_bandwidths": {"a": {}}, "bridge_mappings": {"p": "a"}, ` +
		`"resource_provider_traits": {"a": ["CUSTOM_A"], "b": []}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := guarantee.ParseReport(data)
		if err != nil {
			if msg := err.Error(); msg == "" || strings.ContainsAny(msg, "\n\r\x1b") {
				t.Errorf("the error is not a line: %q", msg)
			}
			return
		}
		again, err := guarantee.ParseReport(encode(t, r))
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			t.Errorf("written and read again: %v (-first +again):\n%s", err, diff)
		}
		for _, d := range guarantee.Drivers() {
			checkState(t, d.State("cn1", r))
		}
	})
}

// checkState holds a state to what its comments promise.
func checkState(t interface{ Errorf(string, ...any) }, s guarantee.State) {
	seen := map[guarantee.UUID]bool{}
	for _, p := range s.Providers {
		if n, ok := guarantee.ParseName(p.Name); p.Device == "" && p.Parent != (guarantee.UUID{}) ||
			p.Device != "" && !seen[p.Parent] {
			t.Errorf("%q (%v, %v) comes before its parent", p.Name, n, ok)
		}
		seen[p.UUID] = true
		for _, inv := range p.Inventories {
			if inv.Total <= 0 {
				t.Errorf("%q offers %d", p.Name, inv.Total)
			}
		}
		if (p.Device == "") && (len(p.Traits) > 0) != (len(p.Inventories) > 0) {
			t.Errorf("the agent %q has traits %v and inventories %v", p.Name, p.Traits, p.Inventories)
		}
		for i, trait := range p.Traits {
			if i > 0 && p.Traits[i-1] >= trait || !strings.Contains(" "+strings.Join(s.Traits, " ")+" ", " "+trait+" ") {
				t.Errorf("the traits of %q are %v; all are %v", p.Name, p.Traits, s.Traits)
			}
		}
	}
}
