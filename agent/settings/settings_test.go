package settings_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/osloconfig"
)

// fromEnv loads settings that are given as variables: "OVS__BRIDGE_MAPPINGS".
func fromEnv(kind settings.Kind, env map[string]string) (*settings.Settings, error) {
	s, _, err := settings.Load(kind, osloconfig.Sources{LookupEnv: func(name string) (string, bool) {
		value, ok := env[strings.TrimPrefix(name, "OS_")]
		return value, ok
	}}, settings.Names{Host: "devstack0", Canonical: "devstack0"})
	return s, err
}

// What Berth's own options say of the devices of one agent is none of the other's business,
// whether or not the host has both.
func TestTraitsOfTheOtherAgent(t *testing.T) {
	env := map[string]string{
		"OVS__BRIDGE_MAPPINGS":                "physnet0:br0",
		"BERTH__RESOURCE_PROVIDER_TRAITS":     "br0:CUSTOM_GOLD,ens5:CUSTOM_TIN",
		"SRIOV_NIC__PHYSICAL_DEVICE_MAPPINGS": "physnet0:ens5",
	}
	for kind, want := range map[settings.Kind]map[string][]string{
		settings.OVS: {"br0": {"CUSTOM_GOLD"}}, settings.SRIOV: {"ens5": {"CUSTOM_TIN"}},
	} {
		s, err := fromEnv(kind, env)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if diff := cmp.Diff(want, s.Resources.Report.Traits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	env["BERTH__RESOURCE_PROVIDER_TRAITS"], env["SRIOV_NIC__PHYSICAL_DEVICE_MAPPINGS"] = "br0:CUSTOM_GOLD", ""
	if s, err := fromEnv(settings.SRIOV, env); err != nil || len(s.Resources.Report.Traits) != 0 {
		t.Errorf("an agent without devices: %v", err)
	}
	env["BERTH__RESOURCE_PROVIDER_TRAITS"] = "ens6:CUSTOM_TIN"
	for _, kind := range []settings.Kind{settings.OVS, settings.SRIOV} {
		if _, err := fromEnv(kind, env); err == nil || !strings.Contains(err.Error(), "ens6 is not in") {
			t.Errorf("%s: a device that does not exist: %v", kind, err)
		}
	}
}

// TestConfigurationsAreUpstreams compares with what Neutron showed of its agents
// with the same settings.
func TestConfigurationsAreUpstreams(t *testing.T) {
	for kind, env := range map[settings.Kind]map[string]string{
		settings.OVS: {
			"OVS__BRIDGE_MAPPINGS":                                    "physnet0:br-physnet0",
			"OVS__RESOURCE_PROVIDER_BANDWIDTHS":                       "br-physnet0:10000000:10000000",
			"OVS__RESOURCE_PROVIDER_PACKET_PROCESSING_WITH_DIRECTION": ":1000:1000",
		},
		settings.SRIOV: {
			"SRIOV_NIC__PHYSICAL_DEVICE_MAPPINGS":     "physnet0:ens5,physnet0:ens6",
			"SRIOV_NIC__RESOURCE_PROVIDER_BANDWIDTHS": "ens5:40000000:40000000,ens6:40000000:40000000",
		},
	} {
		s, err := fromEnv(kind, env)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(fmt.Sprintf("testdata/configurations-%s.json", kind))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(indent(t, want), configurations(t, s)); diff != "" {
			t.Errorf("configurations of %s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestEnvironmentMistakesNameTheVariable(t *testing.T) {
	_, err := fromEnv(settings.OVS, map[string]string{"OVS__BRIDGE_MAPPINGS": "p0"})
	want := `environment variable OS_OVS__BRIDGE_MAPPINGS: [ovs] bridge_mappings: "p0": want physnet:bridge, ` +
		`such as physnet0:br-physnet0`
	if err == nil || err.Error() != want {
		t.Errorf("Load = %v, want %s", err, want)
	}
	if m, ok := errors.AsType[*settings.Mistake](err); !ok || m.Value != "p0" {
		t.Errorf("the error holds the mistake %+v, want that of p0", m)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	_, err := fromEnv(settings.OVS, map[string]string{
		"BERTH__NETWORK_URLS": "https://me:hunter2@controller", "BERTH__NETWORK_TOKEN": "hunter2",
		"BERTH__NETWORK_TOKEN_FILE": "/x", "DEFAULT__TRANSPORT_URL": "rabbit://hunter2@controller",
	})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("Load = %v, want errors without the password", err)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.ini")
	_, _, err := settings.Load(settings.OVS, osloconfig.Sources{Files: []string{path}}, settings.Names{Host: "h"})
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Load of a missing file = %v, want an error that names it", err)
	}
}

func TestFingerprintFollowsContent(t *testing.T) {
	dir := t.TempDir()
	path, extra := filepath.Join(dir, "agent.ini"), filepath.Join(dir, "more")
	src := osloconfig.Sources{Files: []string{path}, Dirs: []string{extra}}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(extra, 0o700); err != nil {
		t.Fatal(err)
	}
	write(path, "[ovs]\nbridge_mappings = p0:br0\n")
	s, _, err := settings.Load(settings.OVS, src, settings.Names{Host: "h"})
	if err != nil {
		t.Fatal(err)
	}
	first := settings.FingerprintOf(src)
	if s.Fingerprint != first || len(s.Files) != 1 || s.Files[0].Path != path || s.Files[0].Modified.IsZero() {
		t.Errorf("Load read %+v with fingerprint %s, want %s with %s", s.Files, s.Fingerprint, path, first)
	}
	seen := map[settings.Fingerprint]string{first: "first"}
	step := func(name string) {
		t.Helper()
		f := settings.FingerprintOf(src)
		if other, ok := seen[f]; ok {
			t.Errorf("the fingerprint after %q is that of %q", name, other)
		}
		seen[f] = name
	}
	write(path, "[ovs]\nbridge_mappings = p0:br1\n")
	step("changed")
	write(filepath.Join(extra, "a.conf"), "[ovs]\n")
	step("a file more")
	if err := os.Rename(filepath.Join(extra, "a.conf"), filepath.Join(extra, "b.conf")); err != nil {
		t.Fatal(err)
	}
	step("another name")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	step("a file less")
}

func TestCanonicalNameIsLibvirts(t *testing.T) {
	answers := func(name string, err error) func(string) (string, error) {
		return func(string) (string, error) { return name, err }
	}
	for _, c := range []struct {
		host, answer, want string
		err                error
	}{
		{"cn1", "cn1.example.org.", "cn1.example.org", nil},
		{"cn1.example.org", "other.example.org", "cn1.example.org", nil},
		{"localhost", "cn1.example.org", "localhost", nil},
		{"cn1", "localhost.localdomain", "cn1", nil},
		{"cn1", "", "cn1", nil},
		{"cn1", "", "cn1", errors.New("no such host")},
	} {
		if got := settings.Canonical(c.host, answers(c.answer, c.err)); got != c.want {
			t.Errorf("canonical name of %s, which resolves to %q, %v = %q, want %q", c.host, c.answer, c.err, got, c.want)
		}
	}
}

func TestLocalNames(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // the resolver is not queried
	names, err := settings.LocalNames(ctx)
	if err != nil || names.Host == "" || names.Canonical == "" {
		t.Errorf("LocalNames = %+v, %v, want two names", names, err)
	}
}

// TestWhatIsWrittenIsReported writes random resources as options and finds them
// in the heartbeat.
func TestWhatIsWrittenIsReported(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Ptr(rapid.Int64Range(0, 1<<31-1), true)
		rates := rapid.MapOfN(rapid.StringMatching(`br-[a-z]{1,4}`), rapid.Custom(func(t *rapid.T) guarantee.Directed {
			return guarantee.Directed{Egress: rate.Draw(t, "egress"), Ingress: rate.Draw(t, "ingress")}
		}), 1, 5).Draw(t, "rates")
		var mappings, bandwidths []string
		for device, r := range rates {
			mappings = append(mappings, "net-"+device+":"+device)
			bandwidths = append(bandwidths, device+":"+digits(r.Egress)+":"+digits(r.Ingress))
		}
		s, err := fromEnv(settings.OVS, map[string]string{
			"OVS__BRIDGE_MAPPINGS":              strings.Join(mappings, " , "),
			"OVS__RESOURCE_PROVIDER_BANDWIDTHS": strings.Join(bandwidths, ","),
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rates, reported(t, s).Bandwidths); diff != "" {
			t.Fatalf("bandwidths (-written +reported):\n%s", diff)
		}
		if diff := settings.Changes(s, s); len(diff) > 0 {
			t.Fatalf("settings differ from themselves: %q", diff)
		}
	})
}

func digits(n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// reported is what the network service reads from a heartbeat.
func reported(t interface{ Fatal(...any) }, s *settings.Settings) guarantee.Report {
	text, err := s.Configurations(settings.Observed{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := guarantee.ParseReport(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGuidesTree follows the guide's settings to the providers it prints.
func TestGuidesTree(t *testing.T) {
	for kind, c := range map[settings.Kind]struct {
		env  map[string]string
		want []string
	}{
		settings.OVS: {
			map[string]string{
				"OVS__BRIDGE_MAPPINGS":              "physnet0:br-physnet0",
				"OVS__RESOURCE_PROVIDER_BANDWIDTHS": "br-physnet0:10000000:10000000",
			},
			[]string{"devstack0:Open vSwitch agent", "devstack0:Open vSwitch agent:br-physnet0"},
		},
		settings.SRIOV: {
			map[string]string{
				"SRIOV_NIC__PHYSICAL_DEVICE_MAPPINGS":     "physnet0:ens5,physnet0:ens6",
				"SRIOV_NIC__RESOURCE_PROVIDER_BANDWIDTHS": "ens5:40000000:40000000",
			},
			[]string{"devstack0:NIC Switch agent", "devstack0:NIC Switch agent:ens5"},
		},
	} {
		s, err := fromEnv(kind, c.env)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range kind.Driver().State(s.Default.Host, reported(t, s)).Providers {
			names = append(names, p.Name)
		}
		if diff := cmp.Diff(c.want, names); diff != "" {
			t.Errorf("providers of %s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestOVNZones(t *testing.T) {
	for options, want := range map[string]string{
		"":                            "",
		"availability-zones":          "",
		"availability-zones= ":        "",
		"availability-zones=b:a: b :": "a, b",
		"enable-chassis-as-gw, availability-zones=a,availability-zones=b": "a",
	} {
		if got := settings.OVNZones(options); got != want {
			t.Errorf("the zones of %q are %q, want %q", options, got, want)
		}
	}
}

func TestConfigurationsOfAChassis(t *testing.T) {
	r, _, err := settings.ParseOVN(map[string]string{"ovn-bridge-mappings": "physnet0:br-ex"}, "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := (&settings.Settings{Kind: settings.OVN, Resources: r}).Configurations(settings.Observed{
		Chassis: "hv0", DatapathType: "netdev",
		Capabilities: settings.Capabilities{InterfaceTypes: []string{"dpdkvhostuser"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"chassis_name":"hv0"`, `"bridge-mappings":"physnet0:br-ex"`, `"bridge_mappings":{"physnet0":"br-ex"}`,
		`"datapath_type":"netdev"`, `"iface_types":["dpdkvhostuser"]`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the configurations are %s, without %s", text, want)
		}
	}
}
