package node_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/node"
	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/osloconfig"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// question is a host of a question's lines, with its settings.
func question(t *testing.T, lines ...string) (*host, *node.Settings) {
	t.Helper()
	h := answer(t, lines)
	s, _, err := h.load()
	if err != nil {
		t.Fatal(err)
	}
	return h, s
}

// The fields that callers read hold what the files say.
func TestSettings(t *testing.T) {
	_, s := question(t,
		"[DEFAULT]", "report_interval = 2.5", "max_concurrent_builds = 3", "host = compute7",
		"[berth]", "compute_driver = netns", "netns_bridges = physnet0:br0", "netns_devices = physnet0:ens5,physnet0:ens6",
		"netns_ovs = false",
		"compute_urls = http://a:8774, http://b:8774", "compute_token_file = /run/token", "fake_failure = 0.25",
		"fake_build_time = 1", "fake_vcpus = 4",
		"[neutron]", "ovs_bridge = br-x",
	)
	if s.Default.Host != "compute7" || s.ReportInterval != 2500*time.Millisecond || s.Concurrency != 3 ||
		s.Default.MyIP != "192.0.2.1" {
		t.Errorf("host, interval, concurrency, address = %q, %s, %d, %q", s.Default.Host, s.ReportInterval, s.Concurrency,
			s.Default.MyIP)
	}
	want := node.NetnsDriver{
		Prefix: "berth-", IntegrationBridge: "br-x", Bridges: map[string]string{"physnet0": "br0"},
		Devices: map[string][]string{"physnet0": {"ens5", "ens6"}}, Connection: "tcp:127.0.0.1:6640",
		Timeout: 2 * time.Minute,
	}
	if diff := cmp.Diff(want, s.Netns); s.Driver != node.Netns || diff != "" {
		t.Errorf("driver %s (-want +got):\n%s", s.Driver, diff)
	}
	if diff := cmp.Diff(node.FakeDriver{VCPUs: 4, BuildTime: time.Second, Failure: 0.25}, s.Fake); diff != "" {
		t.Errorf("fake driver (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"http://a:8774", "http://b:8774"}, s.Berth.Compute.URLs); diff != "" ||
		s.Berth.Compute.TokenFile != "/run/token" {
		t.Errorf("%+v:\n%s", s.Berth, diff)
	}
}

func TestResourceInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{"-1": 0, "0": time.Minute, "": time.Minute, "7": 7 * time.Second} {
		if _, s := question(t, "[DEFAULT]", "update_resources_interval = "+text); s.ResourceInterval != want {
			t.Errorf("update_resources_interval = %s is %s, want %s", text, s.ResourceInterval, want)
		}
	}
}

// What is read first is reported apart from what is read later.
func TestFingerprint(t *testing.T) {
	h, s := question(t, "[DEFAULT]", "debug = true")
	src := osloconfig.Sources{Files: []string{filepath.Join(h.dir, "nova.conf")}}
	if s.Fingerprint != settings.FingerprintOf(src) || len(s.Files) != 1 || s.Files[0].Modified.IsZero() {
		t.Errorf("the files are %+v with fingerprint %s", s.Files, s.Fingerprint)
	}
	h.write(t, "nova.conf", "[DEFAULT]\ndebug = false\n")
	if s.Fingerprint == settings.FingerprintOf(src) {
		t.Error("the fingerprint does not follow the file")
	}
}

// A host without a UUID makes one, and keeps it.
func TestIdentityIsMadeOnce(t *testing.T) {
	h, s := question(t, "[DEFAULT]")
	retained := filepath.Join(h.dir, "state/compute_id")
	if err := os.Remove(retained); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			r, err := s.Report(h.machine())
			if err != nil {
				t.Error(err)
			}
			ids[i] = r.Host.ID.String()
		})
	}
	all.Wait()
	if ids = slices.Compact(ids); len(ids) != 1 || ids[0][14] != '4' {
		t.Errorf("hosts that start at the same time are %v, want one random UUID", ids)
	}
	text, err := os.ReadFile(retained)
	if err != nil || string(text) != ids[0]+"\n" {
		t.Errorf("%s has %q, %v, want %s", retained, text, err, ids[0])
	}
	if names, err := os.ReadDir(filepath.Join(h.dir, "state")); err != nil || len(names) != 1 {
		t.Errorf("in addition there are %v, %v", names, err)
	}
}

func TestIdentity(t *testing.T) {
	const other = "0c1e6c0e-7d56-4d0b-8f0a-2f3a2b1c4d5e"
	for name, c := range map[string]struct {
		state, extra string // what the files have; empty: there is none
		want         string // of the UUID, or of the error
	}{
		"InState":        {hostID, "", hostID},
		"BesideTheFiles": {"", other, other},
		"TheSame":        {hostID, " " + strings.ToUpper(hostID) + "\n\n", hostID},
		"WithoutHyphens": {strings.ReplaceAll(hostID, "-", ""), "", hostID},
		"Different":      {hostID, other, "has " + hostID + ": remove the one that is not this host's"},
		"Nonsense": {
			"nonsense", "",
			`compute_id: want the UUID of this host, not "nonsense": write the one there that placement has for the host`,
		},
		"NonsenseBeside":   {hostID, "nonsense", "want the UUID of this host"},
		"Empty":            {"\n", "", "want the UUID of this host"},
		"Zero":             {"00000000-0000-0000-0000-000000000000", "", "want the UUID of this host"},
		"MoreThanItShould": {hostID + "\n" + hostID + "\n", "", "want the UUID of this host"},
	} {
		t.Run(name, func(t *testing.T) {
			h, s := question(t, "[DEFAULT]")
			if err := os.Remove(filepath.Join(h.dir, "state/compute_id")); err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{"state/compute_id": c.state, "compute_id": c.extra} {
				if text != "" {
					h.write(t, path, text)
				}
			}
			r, err := s.Report(h.machine())
			got := r.Host.ID.String()
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("Report = %q, want %q", got, c.want)
			}
		})
	}
}

// Where the UUID cannot be kept there is no report: it would be another one each time.
func TestIdentityThatCannotBeKept(t *testing.T) {
	h, s := question(t, "[DEFAULT]")
	if err := os.RemoveAll(filepath.Join(h.dir, "state")); err != nil {
		t.Fatal(err)
	}
	r, err := s.Report(h.machine())
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "[DEFAULT] state_path") || r.Type != "" {
		t.Errorf("Report = %+v, %v, want an error that names state_path", r, err)
	}
}

// The disk of servers is that of their directory, or of the nearest one that is there.
func TestDiskOfServers(t *testing.T) {
	h, s := question(t, "[DEFAULT]", "instances_path = DIR/srv/servers/all")
	h.make(t, "srv")
	m, seen := h.machine(), []string(nil)
	m.Disk = func(dir string) (int64, error) {
		seen = append(seen, strings.TrimPrefix(dir, h.dir))
		if _, err := os.Stat(dir); err != nil {
			return 0, err
		}
		return 77 << 30, nil
	}
	r, err := s.Report(m)
	if err != nil || r.Host.DiskGB.Total != 77 ||
		!slices.Equal(seen, []string{"/srv/servers/all", "/srv/servers", "/srv"}) {
		t.Errorf("Report = %d GB, %v after looking at %v", r.Host.DiskGB.Total, err, seen)
	}
	m.Disk = func(string) (int64, error) { return 0, fs.ErrPermission }
	if _, err := s.Report(m); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "/srv/servers/all") {
		t.Errorf("Report = %v, want an error that names the directory", err)
	}
}

// Traits that no placement has would have every report refused.
func TestTraitsAreStandard(t *testing.T) {
	h, s := question(t, "[DEFAULT]")
	r, err := s.Report(h.machine())
	if err != nil {
		t.Fatal(err)
	}
	all := append(slices.Concat(slices.Collect(maps.Values(node.CPUTraits))...), r.Host.Traits...)
	for _, name := range all {
		if !slices.Contains(placement.StandardTraits, name) {
			t.Errorf("%s is no standard trait", name)
		}
	}
	if len(all) < 40 {
		t.Errorf("there are %d traits only", len(all))
	}
}

// Formats of images that the operator excludes are not reported; the others are, with either
// driver.
func TestExcludedImageTypes(t *testing.T) {
	for _, driver := range []string{node.Fake, node.Netns} {
		h, s := question(t, "[berth]", "compute_driver = "+driver, "[compute]", "image_type_exclude_list = qcow2,vmdk")
		r, err := s.Report(h.machine())
		if err != nil {
			t.Fatal(err)
		}
		for format, want := range map[string]bool{"QCOW2": false, "VMDK": false, "RAW": true, "ISO": true} {
			if got := slices.Contains(r.Host.Traits, "COMPUTE_IMAGE_TYPE_"+format); got != want {
				t.Errorf("driver %s: the host supports images of %s: %v, want %v", driver, format, got, want)
			}
		}
	}
}

// What a host reports can be put into placement as it is, and what an operator adds finds
// the providers of devices.
func TestReportsCanBePlanned(t *testing.T) {
	h, s := question(t,
		"[pci]", "report_in_placement = true", `device_spec = {"vendor_id": "8086", "resource_class": "QAT"}`,
		"[devices]", "enabled_mdev_types = nvidia-35",
		"pci 0000:af:00.0 8086:37c8", "mdev 0000:84:00.0 nvidia-35 4",
		"file provider_config/a.yaml",
		"meta: {schema_version: '1.0'}",
		"providers:",
		"- {identification: {uuid: $COMPUTE_NODE}, inventories: {additional: [CUSTOM_LLC: {total: 5}]}}",
		"- {identification: {name: 'cn1.example.org_0000:AF:00.0'}, traits: {additional: [CUSTOM_FAST]}}",
		"- {identification: {name: cn1.example.org_pci_0000_84_00_0}, traits: {additional: [CUSTOM_GPU]}}",
	)
	r, err := s.Report(h.machine())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := r.Host.Plan(providertree.Tree{})
	if err != nil || len(plan.Warnings) > 0 {
		t.Fatalf("Plan: %v, %v", plan.Warnings, err)
	}
	got := map[string][]string{}
	for _, p := range plan.Inventories {
		got[p.Name] = slices.Sorted(maps.Keys(p.Inventories))
	}
	for _, p := range plan.Traits {
		for _, name := range p.Traits {
			if strings.HasPrefix(name, "CUSTOM_") {
				got[p.Name] = append(got[p.Name], name)
			}
		}
	}
	want := map[string][]string{
		"cn1.example.org":                  {"CUSTOM_LLC", "DISK_GB", "MEMORY_MB", "VCPU"},
		"cn1.example.org_0000:AF:00.0":     {"CUSTOM_QAT", "CUSTOM_FAST"},
		"cn1.example.org_pci_0000_84_00_0": {"VGPU", "CUSTOM_GPU"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
}

// The compute service reads devices as hosts write them.
func TestDevicesAreComputes(t *testing.T) {
	for _, d := range []node.Device{
		{Slot: "0000:81:02.1", Vendor: "8086:154c", PhysicalNetwork: "physnet0", Parent: "ens5"},
		{Slot: "0000:81:00.0", Vendor: "8086:154d", Whole: true},
	} {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var read compute.Device
		if err := json.Unmarshal(text, &read); err != nil || read != compute.Device(d) {
			t.Errorf("%+v is read as %+v, %v", d, read, err)
		}
	}
}

// TestThisMachine reports what the tests run on.
func TestThisMachine(t *testing.T) {
	h, s := question(t, "[DEFAULT]", "instances_path = DIR/servers")
	s.Default.MyIP = ""
	r, err := s.Report(node.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Host.VCPU.Total < 1 || r.Host.MemoryMB.Total < 1 || r.Address == "" || len(r.CPUInfo) == 0 {
		t.Errorf("this machine is %+v", r)
	}
	_ = h
}

// What provider files add is no setting, and changes all the same.
func TestChangesOfProviderFiles(t *testing.T) {
	h, s := question(t, "[DEFAULT]")
	h.write(t, "provider_config/a.yaml",
		`{meta: {schema_version: "1.0"}, providers: [{identification: {uuid: $COMPUTE_NODE}, `+
			`traits: {additional: [CUSTOM_X]}}]}`)
	for _, want := range []int{1, 0} {
		cur, _, err := h.load()
		if err != nil {
			t.Fatal(err)
		}
		if lines := node.Changes(s, cur); len(lines) != want {
			t.Errorf("the changes are %q, want %d", lines, want)
		}
		s = cur
	}
}

func TestChangesOfTheSameAreNone(t *testing.T) {
	h, s := question(t, "[compute]", "cpu_shared_set = 0-3", "[devices]", "enabled_mdev_types = a", "[mdev_a]",
		"device_addresses = 0000:84:00.0")
	again, _, err := h.load()
	if err != nil {
		t.Fatal(err)
	}
	if lines := node.Changes(s, again); len(lines) > 0 {
		t.Errorf("settings differ from themselves: %q", lines)
	}
}
