package upgrade_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/upgrade"
	"github.com/berthcloud/berth/osloconfig"
)

// input is an upgrade of a cloud of two hosts with a server, all of which was read.
func input(version string, to request.Release, edits ...func(*cloudtest.Builder)) upgrade.Input {
	b := cloudtest.New()
	b.Host("cn1", "")
	b.Host("cn2", "")
	b.Server("web", "cn1")
	for _, edit := range edits {
		edit(b)
	}
	c := b.Done()
	c.Compute.Version, c.Compute.ImagesKnown = version, true
	c.Placement.Traits = append(c.Placement.Traits, "COMPUTE_NET_VIRTIO_PACKED", "COMPUTE_ADDRESS_SPACE_EMULATED",
		"COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
		"COMPUTE_SECURITY_TPM_TIS", "COMPUTE_SECURITY_TPM_CRB", "COMPUTE_SECURITY_STATELESS_FIRMWARE",
		"COMPUTE_SOUND_MODEL_VIRTIO", "HW_CPU_X86_AMD_SEV_ES",
		"HW_PCI_ONE_TIME_USE", "COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER", "OWNER_NOVA", "HW_PCI_LIVE_MIGRATABLE")
	c.Placement.Sort()
	c.Environment = &cloud.Environment{
		Login: cloud.Login{User: "admin", Project: "admin", Roles: []string{"admin"}},
		ServiceUsers: []cloud.ServiceUser{
			{Name: "nova", Enabled: true, Roles: []string{"admin", "service"}},
			{Name: "neutron", Enabled: true, Roles: []string{"service"}},
		},
	}
	return upgrade.Input{
		Cloud: c, To: to, Flavors: []cloud.Flavor{cloudtest.FlavorSmall}, Requests: request.DefaultSettings(),
		Settings: map[osloconfig.Name]string{},
		Users: []cloud.ProjectUser{{ID: cloudtest.User, Name: "user", Project: cloudtest.Project, Roles: []string{
			"member",
			"reader",
		}}},
	}
}

// check returns the result of a check, with what it has seen.
func check(t *testing.T, in upgrade.Input, name string) (upgrade.Status, string) {
	t.Helper()
	report, err := upgrade.Check(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(report.Results, func(r upgrade.Result) bool { return r.Check == name })
	if i < 0 {
		return "", ""
	}
	r := report.Results[i]
	if pending := r.Result == upgrade.Required || r.Result == upgrade.Changes; pending != (r.Means != "") ||
		pending != (r.Next != "") {
		t.Errorf("%s is %s and has the impact %q and next %q", name, r.Result, r.Means, r.Next)
	}
	var all []string
	for _, e := range r.Evidence {
		all = append(all, e.Text)
	}
	return r.Result, strings.Join(all, "\n")
}

func flavorWith(specs map[string]string) []cloud.Flavor {
	f := cloudtest.FlavorSmall
	f.Name, f.Specs = "special", specs
	return []cloud.Flavor{cloudtest.FlavorSmall, f}
}

// Each check finds what it is about, and nothing in a cloud without it.
func TestChecks(t *testing.T) {
	none := func(*upgrade.Input) {}
	const nic = `{"name": "nic", "vendor_id": "8086", "product_id": "10ca"}`
	withDevices := func(on bool, hosts ...string) func(*upgrade.Input) {
		return func(in *upgrade.Input) {
			in.Flavors = flavorWith(map[string]string{"pci_passthrough:alias": "nic:1"})
			in.Aliases, in.PCIInPlacement = []string{nic}, on
			for _, host := range hosts {
				root := cloudtest.UUID("host " + host)
				in.Cloud.Placement.Providers = append(in.Cloud.Placement.Providers, cloud.Provider{
					UUID: cloudtest.UUID("nic of " + host), Name: host + "_0000:81:00.0", Parent: root, Root: root,
					Traits: []string{"COMPUTE_MANAGED_PCI_DEVICE"},
					Inventories: map[string]cloud.Inventory{"CUSTOM_PCI_8086_10CA": {
						Total: 1, MinUnit: 1, MaxUnit: 1, StepSize: 1,
						AllocationRatio: 1,
					}},
				})
			}
			in.Cloud.Placement.Sort()
		}
	}
	set := func(group, option, value string) func(*upgrade.Input) {
		return func(in *upgrade.Input) { in.Settings[osloconfig.Name{Group: group, Option: option}] = value }
	}
	for _, c := range []struct {
		check, from string
		to          request.Release
		edit        func(*upgrade.Input)
		want        upgrade.Status
		text        string // in what was seen
	}{
		{"path", "2.95", request.Caracal, none, upgrade.OK, "from 2023.1 to 2024.1 in one step"},
		{"path", "2.93", request.Antelope, none, upgrade.OK, "in one step"},
		{"path", "2.93", request.Caracal, none, upgrade.Required, "by way of 2023.1:"},
		{"path", "2.95", request.Hibiscus, none, upgrade.Required, "by way of 2024.1 and 2025.1 and 2026.1:"},
		{"path", "2.104", request.Hibiscus, none, upgrade.OK, "Nova is of 2026.2 already"},
		{"path", "", request.Hibiscus, none, upgrade.Unknown, "not known"},

		{"compute-services", "2.95", request.Bobcat, none, upgrade.OK, "All compute services are up."},
		{
			"compute-services", "2.95", request.Bobcat,
			func(in *upgrade.Input) { in.Cloud.Compute.Services[0].State = "down" }, upgrade.Required,
			"nova-compute on cn1 is down",
		},
		{
			"compute-services", "2.95", request.Bobcat,
			func(in *upgrade.Input) { in.Cloud.Compute.Services[1].ForcedDown = true }, upgrade.Required,
			"nova-compute on cn2 is forced down",
		},

		{"placement-traits", "2.96", request.Hibiscus, none, upgrade.OK, ""},
		{"placement-traits", "2.96", request.Hibiscus, func(in *upgrade.Input) {
			in.Cloud.Placement.Traits = slices.DeleteFunc(in.Cloud.Placement.Traits,
				func(t string) bool { return t == "OWNER_NOVA" })
		}, upgrade.Required, "does not know OWNER_NOVA"},

		{
			"settings", "2.100", request.Hibiscus, set("libvirt", "num_memory_encrypted_guests", "15"), upgrade.Required,
			"[libvirt] num_memory_encrypted_guests was removed in 2026.2",
		},
		{"settings", "2.104", request.Hibiscus, set("libvirt", "num_memory_encrypted_guests", "15"), upgrade.OK, "1 setting"},
		{
			"settings", "2.95", request.Caracal, set("hyperv", "limit_cpu_features", "true"), upgrade.Required,
			"[hyperv] limit_cpu_features",
		},
		{"settings", "2.95", request.Bobcat, set("filter_scheduler", "enabled_filters",
			"AvailabilityZoneFilter,ComputeFilter"), upgrade.Required, "AvailabilityZoneFilter"},
		{"settings", "2.96", request.Epoxy, none, upgrade.Changes, "[DEFAULT] heal_instance_info_cache_interval is not set"},
		{
			"settings", "2.96", request.Epoxy, set("DEFAULT", "heal_instance_info_cache_interval", "60"), upgrade.OK,
			"1 setting",
		},
		{"settings", "2.96", request.Epoxy, func(in *upgrade.Input) { in.Settings = nil }, upgrade.Unknown, "--nova-config"},

		{"query-traits", "2.95", request.Caracal, none, upgrade.OK, "no further traits"},
		{
			"query-traits", "2.95", request.Caracal,
			func(in *upgrade.Input) { in.Flavors = flavorWith(map[string]string{"hw:maxphysaddr_mode": "emulate"}) },
			upgrade.Changes, "flavor special: COMPUTE_ADDRESS_SPACE_EMULATED, which no host has now",
		},
		{"query-traits", "2.95", request.Caracal, func(in *upgrade.Input) {
			in.Cloud.Compute.Servers[0].ImageProperties = map[string]string{"hw_maxphysaddr_mode": "emulate"}
		}, upgrade.Changes, "servers of flavor small and image"},
		{
			"query-traits", "2.95", request.Caracal, func(in *upgrade.Input) { in.Cloud.Compute.ImagesKnown = false },
			upgrade.Unknown, "before microversion 2.98",
		},
		{
			"query-traits", "2.95", request.Caracal, func(in *upgrade.Input) { in.Flavors = nil }, upgrade.Unknown,
			"only those of servers",
		},

		{"policies-users", "2.93", request.Antelope, none, upgrade.OK, "1 user with servers"},
		{
			"policies-users", "2.93", request.Antelope, func(in *upgrade.Input) { in.Users[0].Roles = []string{"_member_"} },
			upgrade.Required, "the user user has _member_",
		},
		{
			"policies-users", "2.93", request.Antelope, func(in *upgrade.Input) { in.Users[0].Roles = []string{"reader"} },
			upgrade.Required, "only read",
		},
		{
			"policies-users", "2.93", request.Antelope, func(in *upgrade.Input) { in.Cloud.Environment.Login.System = true },
			upgrade.Required, "system scope",
		},
		{
			"policies-users", "2.93", request.Antelope, func(in *upgrade.Input) { in.Users = nil }, upgrade.Unknown,
			"were not read",
		},
		{"policies-users", "2.95", request.Hibiscus, none, "", ""},
		{
			"policies-network", "2.95", request.Bobcat, func(in *upgrade.Input) { in.Users[0].Roles = []string{"_member_"} },
			upgrade.Required, "_member_",
		},
		{"policies-network", "2.95", request.Bobcat, none, upgrade.OK, ""},

		{"allocation-ratios", "2.93", request.Antelope, none, upgrade.OK, ""},
		{"allocation-ratios", "2.93", request.Antelope, func(in *upgrade.Input) {
			p := in.Cloud.Placement.Provider(cloudtest.UUID("host cn2"))
			i := p.Inventories["VCPU"]
			i.AllocationRatio = 16
			p.Inventories["VCPU"] = i
		}, upgrade.Changes, "1 host with a ratio of 16.0 for VCPU or 1.5 for MEMORY_MB: cn2"},

		{"pci-in-placement", "2.93", request.Antelope, none, upgrade.OK, "no flavor requests PCI devices"},
		{
			"pci-in-placement", "2.93", request.Antelope, withDevices(false, "cn1"), upgrade.OK,
			"flavor special: 1 candidate on 1 host, of 2 without its devices",
		},
		{
			"pci-in-placement", "2.93", request.Antelope, withDevices(false), upgrade.Changes,
			"flavor special stops fitting: 2 hosts now, and none with its devices (nic:1)",
		},
		{"pci-in-placement", "2.93", request.Antelope, withDevices(true), upgrade.Required, "stops fitting"},
		{"pci-in-placement", "2.93", request.Antelope, func(in *upgrade.Input) {
			withDevices(true, "cn1")(in)
			in.Aliases = []string{nic, nic}
		}, upgrade.Required, "given several times"},
		{"pci-in-placement", "2.93", request.Antelope, func(in *upgrade.Input) {
			withDevices(true, "cn1")(in)
			in.Cloud.Compute.Servers[0].Flavor = in.Flavors[1]
		}, upgrade.Required, "does not have the devices of servers on cn1"},
		{"pci-in-placement", "2.93", request.Antelope, func(in *upgrade.Input) {
			withDevices(true, "cn1")(in)
			in.Settings = nil
		}, upgrade.Unknown, "--nova-config"},

		{"policies-reshape", "2.100", request.Flamingo, none, "", ""}, // it is of 2024.2
		{"linux-bridge-agents", "2.96", request.Epoxy, none, upgrade.OK, ""},
		{"linux-bridge-agents", "2.96", request.Epoxy, func(in *upgrade.Input) {
			in.Cloud.Network.Agents = []cloud.Agent{{
				Type: "Linux bridge agent", Binary: "neutron-linuxbridge-agent",
				Host: "cn1",
			}}
		}, upgrade.Required, "the Linux bridge agent on cn1"},

		{"memory-encryption", "2.100", request.Flamingo, none, upgrade.OK, ""},
		{"memory-encryption", "2.100", request.Flamingo, func(in *upgrade.Input) {
			p := in.Cloud.Placement.Provider(cloudtest.UUID("host cn1"))
			p.Inventories["MEM_ENCRYPTION_CONTEXT"] = cloud.Inventory{Total: 15, MaxUnit: 1}
			p.Usages["MEM_ENCRYPTION_CONTEXT"] = 1
			in.Cloud.Placement.Consumers[0].Allocations[p.UUID]["MEM_ENCRYPTION_CONTEXT"] = 1
		}, upgrade.Changes, "cn1: MEM_ENCRYPTION_CONTEXT is reshaped to cn1_amd_sev; allocated: 1 unit, by 1 consumer"},
		{"policies-manager", "2.100", request.Flamingo, none, upgrade.OK, ""},
		{"policies-manager", "2.100", request.Flamingo, func(in *upgrade.Input) {
			in.Users[0].Roles = []string{
				"manager",
				"member",
			}
		}, upgrade.Changes, "has the role manager"},
		{
			"policies-manager", "2.100", request.Flamingo,
			func(in *upgrade.Input) { in.Cloud.Environment.ServiceUsers[1].Roles = []string{"admin"} }, upgrade.Changes,
			"admin and not service",
		},
		{
			"policies-manager", "2.100", request.Flamingo,
			func(in *upgrade.Input) { in.Cloud.Environment.ServiceUsers[1].Roles = []string{"member"} }, upgrade.Required,
			"refuses its events",
		},

		{
			"vgpu-groups", "2.100", request.Gazpacho,
			func(in *upgrade.Input) { in.Flavors = flavorWith(map[string]string{"resources1:VGPU": "1"}) }, upgrade.OK, "",
		},
		{"vgpu-groups", "2.100", request.Gazpacho, func(in *upgrade.Input) {
			in.Flavors = flavorWith(map[string]string{"resources1:VGPU": "1", "resources2:VGPU": "1", "group_policy": "none"})
		}, upgrade.Changes, "flavor special has VGPUs in 2 groups, and no server"},
		{"vgpu-groups", "2.103", request.Hibiscus, none, "", ""},

		{"owner-trait", "2.103", request.Hibiscus, none, upgrade.Changes, "2 compute nodes"},
		{
			"owner-trait", "2.103", request.Hibiscus, func(in *upgrade.Input) { in.Cloud.Compute.Hypervisors = nil },
			upgrade.Changes, "cn1 has VCPU, PCPU or MEMORY_MB and is no compute node",
		},
		{"owner-trait", "2.103", request.Gazpacho, none, "", ""},
		{"linux-bridge-ports", "2.103", request.Hibiscus, none, upgrade.OK, ""},
		{
			"linux-bridge-ports", "2.103", request.Hibiscus,
			func(in *upgrade.Input) { in.Cloud.Network.Ports = []cloud.Port{{Host: "cn1", VIF: "bridge"}} }, upgrade.Required,
			"1 port on cn1",
		},
	} {
		in := input(c.from, c.to)
		c.edit(&in)
		got, text := check(t, in, c.check)
		if got != c.want || !strings.Contains(text, c.text) {
			t.Errorf("%s from %q to %s is %q, want %q with %q:\n%s", c.check, c.from, c.to, got, c.want, c.text, text)
		}
	}
}

// A nova-compute that moves its inventories needs the role service at placement, and any other the
// role admin or service.
func TestReshapes(t *testing.T) {
	user := func(name string, role string) cloud.ServiceUser {
		return cloud.ServiceUser{Name: name, Roles: []string{role}}
	}
	none := func(*upgrade.Input) {}
	encrypting := func(in *upgrade.Input) {
		p := in.Cloud.Placement.Provider(cloudtest.UUID("host cn1"))
		p.Inventories["MEM_ENCRYPTION_CONTEXT"] = cloud.Inventory{Total: 15, MaxUnit: 1}
	}
	set := func(group, option, value string) func(*upgrade.Input) {
		return func(in *upgrade.Input) { in.Settings[osloconfig.Name{Group: group, Option: option}] = value }
	}
	for _, c := range []struct {
		name  string
		to    request.Release
		users []cloud.ServiceUser
		edit  func(*upgrade.Input)
		want  upgrade.Status
		text  string
	}{
		{
			"Service", request.Flamingo,
			[]cloud.ServiceUser{user("nova", "service")},
			encrypting, upgrade.OK,
			"has the role service",
		},
		{
			"AdminWithReshape", request.Flamingo,
			[]cloud.ServiceUser{user("nova", "admin")},
			encrypting, upgrade.Required,
			"the reshape of MEM_ENCRYPTION_CONTEXT is refused",
		},
		{
			"AdminBeforeReshape", request.Epoxy,
			[]cloud.ServiceUser{user("nova", "admin")},
			encrypting, upgrade.Changes,
			"all requests but reshapes are allowed",
		},
		{
			"Admin", request.Flamingo,
			[]cloud.ServiceUser{user("nova", "admin")},
			none, upgrade.Changes,
			"show no reshape on the way",
		},
		{
			"AdminWithDevices", request.Dalmatian,
			[]cloud.ServiceUser{user("nova", "admin")},
			set("pci", "report_in_placement", "True"), upgrade.Required, "PCI devices of servers",
		},
		{
			"Neither", request.Dalmatian,
			[]cloud.ServiceUser{user("nova", "member")},
			none, upgrade.Required,
			"every request is refused",
		},
		{
			"OneOfTwo", request.Flamingo,
			[]cloud.ServiceUser{user("nova", "admin"), user("placement", "service")},
			encrypting,
			upgrade.Unknown, "--nova-config shows whether Nova logs in as this user",
		},
		{
			"OneOfTwoConfigured", request.Flamingo,
			[]cloud.ServiceUser{user("nova", "admin"), user("placement", "service")},
			set("placement", "username", "placement"), upgrade.OK, "the user placement has the role service",
		},
		{
			"OtherName", request.Flamingo,
			[]cloud.ServiceUser{user("nova", "service")},
			set("placement", "username", "svc-nova"), upgrade.Unknown, "no user is called svc-nova",
		},
		{"NotRead", request.Flamingo, nil, none, upgrade.Unknown, "were not read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input("2.95", c.to)
			in.Cloud.Environment.ServiceUsers = c.users
			c.edit(&in)
			got, text := check(t, in, "policies-reshape")
			if got != c.want || !strings.Contains(text, c.text) {
				t.Errorf("it is %s, want %s with %q: %s", got, c.want, c.text, text)
			}
		})
	}
}

// The aggregate of a zone has to be in placement.
func TestZones(t *testing.T) {
	for _, mirrored := range []bool{true, false} {
		in := input("2.95", request.Bobcat, func(b *cloudtest.Builder) { b.Aggregate("east", "cn1") })
		in.Cloud.Compute.Aggregates[0].Metadata = map[string]string{"availability_zone": "east"}
		want := upgrade.OK
		if !mirrored {
			in.Cloud.Placement.Provider(cloudtest.UUID("host cn1")).Aggregates = []string{}
			want = upgrade.Required
		}
		if got, text := check(t, in, "zones"); got != want {
			t.Errorf("with mirrored %v it is %s, want %s: %s", mirrored, got, want, text)
		}
	}
}

// What was not read is unknown, and never ok.
func TestNothingRead(t *testing.T) {
	report, err := upgrade.Check(t.Context(), upgrade.Input{
		Cloud: &cloud.Cloud{}, To: request.Hibiscus,
		Requests: request.DefaultSettings(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != len(upgrade.Checks()) {
		t.Errorf("%d results of %d checks", len(report.Results), len(upgrade.Checks()))
	}
	for _, r := range report.Results {
		if r.Result != upgrade.Unknown {
			t.Errorf("%s is %s: %v", r.Check, r.Result, r.Evidence)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := upgrade.Check(ended, input("2.93", request.Hibiscus)); !errors.Is(err, context.Canceled) {
		t.Errorf("a check that was interrupted returns %v", err)
	}
}

// Names of checks are unique, and what a check says is complete.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range upgrade.Checks() {
		if seen[c.Name] || c.Name == "" || c.Examines == "" || c.Means == "" || c.Service == "" {
			t.Errorf("a row is not complete, or there twice: %+v", c.Name)
		}
		seen[c.Name] = true
	}
}
