package heal_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/audit/audittest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/heal"
)

// twoInterfaces is a cloud with a server that has two ports, each a virtual function of one of two
// interfaces of its host, which can both serve them. The ports name nothing, and nothing is
// allocated for them.
func twoInterfaces() *cloud.Cloud {
	b := cloudtest.New()
	b.Host("cn1", "")
	b.Agent("cn1", guarantee.SRIOV, 0, "net0", "net1")
	b.Server("server0", "cn1")
	for i, port := range []string{"port0", "port1"} {
		b.Port(port, "server0", fmt.Sprintf("net%d", i), guarantee.SRIOV, 4000000, 0, true)
	}
	c := b.Done()
	names := map[string]string{
		"cn1:NIC Switch agent:ens-net0": "cn1:NIC Switch agent:enp129s0f0",
		"cn1:NIC Switch agent:ens-net1": "cn1:NIC Switch agent:enp131s0f0np0",
	}
	for i := range c.Placement.Providers {
		p := &c.Placement.Providers[i]
		if name, ok := names[p.Name]; ok {
			p.Name, p.Traits = name, []string{"CUSTOM_VNIC_TYPE_DIRECT"}
			delete(c.Placement.Consumers[0].Allocations, p.UUID)
		}
	}
	for i := range c.Network.Ports {
		p := &c.Network.Ports[i]
		p.Allocation = nil
		p.Request.Groups[0].Required = []string{"CUSTOM_VNIC_TYPE_DIRECT"}
	}
	cloudtest.Count(c)
	return c
}

// named are the names of the providers that ports name after a plan, by the name of the port.
func named(t *testing.T, fc *fakeCloud, o heal.Options) (map[string]string, *heal.Plan) {
	t.Helper()
	o.Parts = []heal.Part{heal.Allocations}
	plan := heal.New(index.New(fc.read()), o)
	for _, r := range fc.apply(plan, -1) {
		if r.Outcome != heal.Done {
			t.Errorf("step %d: %s: %s", r.Step, r.Outcome, r.Text)
		}
	}
	after := fc.read()
	hosts := map[string]string{}
	for _, p := range after.Network.Ports {
		for _, uuid := range p.Allocation {
			hosts[p.Name] = after.Placement.Provider(uuid).Name[len("cn1:NIC Switch agent:"):]
		}
	}
	return hosts, plan
}

const interface0, interface1 = "enp129s0f0", "enp131s0f0np0"

// Among several providers that is taken which the operator names, which is on the bus of the port's
// device, or of which the server holds something that no port names. Otherwise nothing is.
func TestWhichProvider(t *testing.T) {
	port := func(c *cloud.Cloud, i int) *cloud.Port { return &c.Network.Ports[i] }
	provider := func(c *cloud.Cloud, name string) string {
		i := slices.IndexFunc(c.Placement.Providers, func(p cloud.Provider) bool { return strings.HasSuffix(p.Name, name) })
		return c.Placement.Providers[i].UUID
	}
	allocated := func(c *cloud.Cloud, name string, kbps int64) {
		c.Placement.Consumers[0].Allocations[provider(c, name)] = map[string]int64{
			guarantee.EgressBandwidth: kbps, guarantee.IngressBandwidth: kbps,
		}
	}
	others := func(c *cloud.Cloud, name string, kbps int64) {
		c.Placement.Consumers = append(c.Placement.Consumers, cloud.Consumer{
			UUID: cloudtest.UUID("other on " + name), Project: c.Placement.Consumers[0].Project,
			User: c.Placement.Consumers[0].User, Type: "INSTANCE",
			Allocations: map[string]map[string]int64{
				provider(c, name): {guarantee.EgressBandwidth: kbps, guarantee.IngressBandwidth: kbps},
			},
		})
		cloudtest.Count(c)
	}
	for name, tc := range map[string]struct {
		change  func(c *cloud.Cloud)
		options heal.Options
		want    map[string]string
		why     string // that nothing is done
		command string // of what remains
	}{
		"NothingSays": {why: "it is not known which of several providers it has: cn1:NIC Switch agent:enp129s0f0, cn1:NIC " +
			"Switch agent:enp131s0f0np0"},
		"OneIsGiven": {
			options: heal.Options{Providers: map[string]string{"port0": "cn1:NIC Switch agent:" + interface0}},
			want:    map[string]string{"port0": interface0}, why: "it is not known which",
		},
		"BothAreGiven": {
			options: heal.Options{Providers: map[string]string{
				"port0": "cn1:NIC Switch agent:" + interface0, cloudtest.UUID("port port1"): "cn1:NIC Switch agent:" + interface1,
			}},
			want: map[string]string{"port0": interface0, "port1": interface1},
		},
		"BothOnOne": {
			options: heal.Options{Providers: map[string]string{
				"port0": "cn1:NIC Switch agent:" + interface0, "port1": "cn1:NIC Switch agent:" + interface0,
			}},
			want: map[string]string{"port0": interface0, "port1": interface0},
		},
		"TooMuchForOne": {
			change: func(c *cloud.Cloud) {
				for i := range c.Network.Ports {
					port(c, i).Request.Groups[0].Resources = map[string]int64{
						guarantee.EgressBandwidth: 6000000, guarantee.IngressBandwidth: 6000000,
					}
				}
			},
			options: heal.Options{Providers: map[string]string{"port0": "cn1:NIC Switch agent:" + interface1}},
			want:    map[string]string{"port0": interface1, "port1": interface0},
		},
		"AnUnknownOneIsGiven": {
			options: heal.Options{Providers: map[string]string{"port0": "enp1s0"}},
			why:     "the providers that are given with --provider",
		},
		"ByAddress": {
			change: func(c *cloud.Cloud) {
				port(c, 0).Profile = map[string]any{"pci_slot": "0000:83:02.1", "physical_network": "net0"}
				port(c, 1).Profile = map[string]any{"pci_slot": "0000:81:02.1", "physical_network": "net0"}
			},
			want: map[string]string{"port0": interface1, "port1": interface0},
		},
		"ByAnAddressElsewhere": {
			change: func(c *cloud.Cloud) {
				port(c, 0).Profile = map[string]any{"pci_slot": "0000:85:02.1"}
				port(c, 1).Profile = map[string]any{"pci_slot": "0001:81:02.1"}
			},
			why: "it is not known which",
		},
		"ByWhatIsHeld": {
			change: func(c *cloud.Cloud) {
				allocated(c, interface1, 8000000)
			},
			want: map[string]string{"port0": interface1, "port1": interface1},
		},
		"ByLessThanBoth": {
			change: func(c *cloud.Cloud) { allocated(c, interface1, 4000000) },
			why:    "it is not known which",
		},
		"Full": {
			change: func(c *cloud.Cloud) {
				others(c, interface0, 8000000)
				others(c, interface1, 8000000)
			},
			why: "no providers of host cn1 have what it requests free: NET_BW_EGR_KILOBIT_PER_SEC 4000000, " +
				"NET_BW_IGR_KILOBIT_PER_SEC 4000000; move servers away first",
			command: "berth capacity drain cn1",
		},
		"RoomForOne": {
			change: func(c *cloud.Cloud) {
				others(c, interface0, 4000000)
				others(c, interface1, 8000000)
			},
			options: heal.Options{Providers: map[string]string{"port0": "cn1:NIC Switch agent:" + interface0}},
			want:    map[string]string{"port0": interface0},
			why: "no providers of host cn1 have what it requests free: NET_BW_EGR_KILOBIT_PER_SEC 4000000, " +
				"NET_BW_IGR_KILOBIT_PER_SEC 4000000; move servers away first",
			command: "berth capacity drain cn1",
		},
		"NeverRoomForBoth": {
			change: func(c *cloud.Cloud) {
				for i := range c.Placement.Providers {
					for class, inventory := range c.Placement.Providers[i].Inventories {
						if index.IsPortClass(class) {
							inventory.Total = 5000000
							if strings.HasSuffix(c.Placement.Providers[i].Name, interface1) {
								inventory.Reserved = 4000000
							}
							c.Placement.Providers[i].Inventories[class] = inventory
						}
					}
				}
			},
			options: heal.Options{Providers: map[string]string{"port0": "cn1:NIC Switch agent:" + interface0}},
			want:    map[string]string{"port0": interface0},
			why: "no providers of host cn1 offer what it requests next to other ports, even where nothing is allocated: " +
				"NET_BW_EGR_KILOBIT_PER_SEC 4000000",
			command: "berth explain --server",
		},
		"NotThere": {
			change: func(c *cloud.Cloud) {
				for i := range c.Network.Ports {
					port(c, i).Request.Groups[0].Resources = map[string]int64{guarantee.EgressBandwidth: 20000000}
				}
			},
			why: "no providers of host cn1 offer what it requests, even where nothing is allocated: " +
				"NET_BW_EGR_KILOBIT_PER_SEC 20000000",
			command: "berth explain --server",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := twoInterfaces()
			if tc.change != nil {
				tc.change(c)
			}
			fc := newFakeCloud(t, c)
			got, plan := named(t, fc, tc.options)
			nothing := tc.want == nil
			if nothing {
				tc.want = map[string]string{}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ports name (-want +got):\n%s", diff)
			}
			if tc.why != "" &&
				(nothing && len(plan.Steps) > 0 || !slices.ContainsFunc(plan.Unhealed, func(l heal.Unhealed) bool {
					return strings.Contains(l.Why, tc.why) && l.Nova == heal.NotAllocated && strings.Contains(l.Command, tc.command)
				})) {
				t.Errorf("steps %+v, left %+v", plan.Steps, plan.Unhealed)
			}
			if tc.why == "" {
				list := slices.DeleteFunc(audit.Check(index.New(fc.read()), audit.Options{}).Findings, func(f audit.Finding) bool {
					// The test has changed what agents report.
					code := string(f.Code)
					return !strings.HasPrefix(code, "key-") && !strings.HasPrefix(code, "bound-") && !strings.HasPrefix(code, "port-")
				})
				if len(list) > 0 {
					t.Errorf("after it: %+v", list)
				}
				for _, p := range fc.c.Network.Ports {
					if tc.change != nil && name == "ByAddress" && p.Profile["physical_network"] != "net0" {
						t.Errorf("the profile of port %s is %v", p.Name, p.Profile)
					}
				}
			}
		})
	}
}

// A port that names a provider which others have filled stays as it is: placement would refuse its
// allocation. What it needs is named, without that of the server's other ports, which are healed.
func TestNamedProviderIsFull(t *testing.T) {
	c := twoInterfaces()
	providers := map[string]string{}
	for i := range c.Placement.Providers {
		p := &c.Placement.Providers[i]
		for n, name := range []string{interface0, interface1} {
			if port := &c.Network.Ports[n]; strings.HasSuffix(p.Name, name) {
				providers[name], port.Allocation = p.UUID, map[string]string{port.Request.Groups[0].ID: p.UUID}
			}
		}
	}
	first := c.Placement.Consumers[0]
	c.Placement.Consumers = append(c.Placement.Consumers, cloud.Consumer{
		UUID: cloudtest.UUID("other"), Project: first.Project, User: first.User, Type: "INSTANCE",
		Allocations: map[string]map[string]int64{providers[interface0]: {
			guarantee.EgressBandwidth: 8000000, guarantee.IngressBandwidth: 8000000,
		}},
	})
	cloudtest.Count(c)
	fc := newFakeCloud(t, c)
	_, plan := named(t, fc, heal.Options{}) // each step is done
	const why = "provider cn1:NIC Switch agent:enp129s0f0 does not have free what the port needs of it: " +
		"NET_BW_EGR_KILOBIT_PER_SEC 4000000, NET_BW_IGR_KILOBIT_PER_SEC 4000000; move servers away first"
	remaining := slices.DeleteFunc(slices.Clone(plan.Unhealed), func(u heal.Unhealed) bool {
		return u.Code != audit.KeyNotAllocated
	})
	if len(remaining) == 0 || slices.ContainsFunc(remaining, func(u heal.Unhealed) bool {
		return u.About[0].Name != "port0" || !strings.Contains(u.Why, why) || u.Nova != heal.NotAllocated ||
			u.Command != "berth capacity drain cn1"
	}) {
		t.Errorf("what remains is %+v", plan.Unhealed)
	}
	after := fc.read()
	i := slices.IndexFunc(after.Placement.Consumers, func(c cloud.Consumer) bool { return c.UUID == first.UUID })
	got := after.Placement.Consumers[i].Allocations
	if got[providers[interface0]] != nil || got[providers[interface1]][guarantee.EgressBandwidth] != 4000000 {
		t.Errorf("the server has %v", got)
	}
	if again := heal.New(index.New(after), heal.Options{Parts: []heal.Part{heal.Allocations}}); len(again.Steps) > 0 {
		t.Errorf("a second plan has the steps %+v", again.Steps)
	}
}

// Where an SR-IOV agent and a bridge can both serve a port, the VIF type that it is bound with says
// which one does.
func TestProviderByVIFType(t *testing.T) {
	for driver, want := range map[*guarantee.Driver]string{
		&guarantee.SRIOV: "ens-net0", &guarantee.OpenVSwitch: "br-net0",
	} {
		b := cloudtest.New()
		b.Host("cn1", "")
		b.Agent("cn1", guarantee.SRIOV, 0, "net0")
		b.Agent("cn1", guarantee.OpenVSwitch, 0, "net0")
		b.Server("server0", "cn1")
		b.Port("port0", "server0", "net0", *driver, 1000, 0, true)
		c := b.Done()
		port := &c.Network.Ports[0]
		for _, provider := range port.Allocation {
			delete(c.Placement.Consumers[0].Allocations, provider)
		}
		// Hardware offload: the bridge has a virtual function.
		port.Allocation, port.VNIC, port.Request.Groups[0].Required[1] = nil, "direct", guarantee.VNICTypeTrait("direct")
		cloudtest.Count(c)
		fc := newFakeCloud(t, c)
		plan := heal.New(index.New(fc.read()), heal.Options{})
		fc.apply(plan, -1)
		after := fc.read()
		if len(after.Network.Ports[0].Allocation) != 1 {
			t.Errorf("a port with the VIF type %s names %v; left: %+v", port.VIF, after.Network.Ports[0].Allocation,
				plan.Unhealed)
		}
		for _, uuid := range after.Network.Ports[0].Allocation {
			if name := after.Placement.Provider(uuid).Name; !strings.HasSuffix(name, want) {
				t.Errorf("a port with the VIF type %s names %s", port.VIF, name)
			}
		}
		port.Allocation = nil
		port.VIF = "hostdev_physical" // which no driver has in its list
		if unhealed := heal.New(index.New(c), heal.Options{}).Unhealed; len(unhealed) != 1 ||
			!strings.Contains(unhealed[0].Why, "it is not known which") {
			t.Errorf("a port with the VIF type %s: left %+v", port.VIF, unhealed)
		}
	}
}

// A port that remains does not prevent that its server, and its other port, are healed.
func TestPortThatIsLeft(t *testing.T) {
	c := twoInterfaces()
	c.Placement.Consumers = []cloud.Consumer{}
	c.Network.Ports[0].Profile = map[string]any{"pci_slot": "0000:83:02.1"}
	cloudtest.Count(c)
	fc := newFakeCloud(t, c)
	got, plan := named(t, fc, heal.Options{})
	if diff := cmp.Diff(map[string]string{"port0": interface1}, got); diff != "" {
		t.Errorf("ports name (-want +got):\n%s", diff)
	}
	if len(plan.Steps) != 2 || len(plan.Unhealed) != 1 || plan.Unhealed[0].Code != audit.BoundWithoutKey ||
		plan.Unhealed[0].About[0].Name != "port1" || plan.Unhealed[0].Nova != heal.NotAllocated {
		t.Errorf("steps %+v, left %+v", plan.Steps, plan.Unhealed)
	}
	amounts := fc.read().Placement.Consumers[0].Allocations
	if amounts[cloudtest.UUID("host cn1")]["VCPU"] != cloudtest.FlavorSmall.VCPUs || len(amounts) != 2 {
		t.Errorf("the server holds %v", amounts)
	}
	// What remains is chosen by the operator, in another run.
	got, _ = named(t, fc, heal.Options{Providers: map[string]string{"port1": "cn1:NIC Switch agent:" + interface1}})
	if diff := cmp.Diff(map[string]string{"port0": interface1, "port1": interface1}, got); diff != "" {
		t.Errorf("then ports name (-want +got):\n%s", diff)
	}
}

// A run that ended when amounts were allocated and the ports did not name them yet goes on with
// what it chose.
func TestRunGoesOnWithWhatItChose(t *testing.T) {
	fc := newFakeCloud(t, twoInterfaces())
	o := heal.Options{Parts: []heal.Part{heal.Allocations}, Providers: map[string]string{
		"port0": "cn1:NIC Switch agent:" + interface1, "port1": "cn1:NIC Switch agent:" + interface1,
	}}
	fc.apply(heal.New(index.New(fc.read()), o), 1)
	got, plan := named(t, fc, heal.Options{})
	if want := map[string]string{"port0": interface1, "port1": interface1}; !maps.Equal(got, want) ||
		len(plan.Steps) != 2 {
		t.Errorf("ports name %v, want %v, with the steps %+v", got, want, plan.Steps)
	}
}

// A flavor whose groups can be of one provider only is healed, one whose groups can be of several
// where the operator says of which.
func TestFlavorsWithGroups(t *testing.T) {
	withDevices := func(specs map[string]string, devices ...string) *cloud.Cloud {
		b := cloudtest.New()
		b.Host("cn1", "")
		b.Server("server0", "cn1")
		b.At("server0").Flavor.Specs = specs
		root := cloudtest.UUID("host cn1")
		for _, name := range devices {
			b.Placement.Providers = append(b.Placement.Providers, cloud.Provider{
				UUID: cloudtest.UUID(name), Name: name, Parent: root, Root: root,
				Traits: []string{"CUSTOM_" + strings.ToUpper(name)},
				Inventories: map[string]cloud.Inventory{
					"CUSTOM_GPU": {Total: 4, MinUnit: 1, MaxUnit: 4, StepSize: 1, AllocationRatio: 1},
					"VGPU":       {Total: 4, MinUnit: 1, MaxUnit: 4, StepSize: 1, AllocationRatio: 1},
				},
			})
		}
		c := b.Done()
		c.Placement.Consumers = []cloud.Consumer{}
		cloudtest.Count(c)
		return c
	}
	group, vgpu := map[string]string{"resources1:CUSTOM_GPU": "2"}, map[string]string{"resources:VGPU": "1"}
	for name, tc := range map[string]struct {
		c    *cloud.Cloud
		o    heal.Options
		want string // the name of the provider, "" for none
	}{
		"One":     {c: withDevices(group, "gpu0"), want: "gpu0"},
		"Several": {c: withDevices(group, "gpu0", "gpu1")},
		"Given": {
			c: withDevices(group, "gpu0", "gpu1"), o: heal.Options{Providers: map[string]string{"1": "gpu1"}}, want: "gpu1",
		},
		"ByTrait": {
			c:    withDevices(map[string]string{"resources1:CUSTOM_GPU": "2", "trait1:CUSTOM_GPU1": "required"}, "gpu0", "gpu1"),
			want: "gpu1",
		},
		"VGPU":        {c: withDevices(vgpu, "gpu0"), want: "gpu0"},
		"SeveralVGPU": {c: withDevices(vgpu, "gpu0", "gpu1")},
	} {
		t.Run(name, func(t *testing.T) {
			fc := newFakeCloud(t, tc.c)
			plan := heal.New(index.New(fc.read()), tc.o)
			for _, r := range fc.apply(plan, -1) {
				if r.Outcome != heal.Done {
					t.Errorf("step %d: %s: %s", r.Step, r.Outcome, r.Text)
				}
			}
			after := fc.read()
			switch {
			case tc.want == "":
				if len(plan.Steps) > 0 || len(plan.Unhealed) != 1 || plan.Unhealed[0].Nova != heal.Refused {
					t.Errorf("steps %+v, left %+v", plan.Steps, plan.Unhealed)
				}
			case len(after.Placement.Consumers) != 1 ||
				after.Placement.Consumers[0].Allocations[cloudtest.UUID(tc.want)] == nil ||
				len(audit.Check(index.New(after), audit.Options{}).Findings) > 0:
				t.Errorf("left %+v, then %+v, %+v", plan.Unhealed, after.Placement.Consumers,
					audit.Check(index.New(after), audit.Options{}).Findings)
			}
		})
	}
}

// Accelerators that Cyborg owns stay with a server whose allocation is replaced by what its flavor
// requests.
func TestAcceleratorsStay(t *testing.T) {
	b := cloudtest.New()
	b.Host("cn1", "")
	b.Server("server0", "cn1")
	b.At("server0").Flavor.Specs = map[string]string{"accel:device_profile": "gpu"}
	root, device := cloudtest.UUID("host cn1"), cloudtest.UUID("accelerator")
	b.Placement.Providers = append(b.Placement.Providers, cloud.Provider{
		UUID: device, Name: "gpu0", Parent: root, Root: root, Traits: []string{"OWNER_CYBORG"},
		Inventories: map[string]cloud.Inventory{"VGPU": {Total: 4, MinUnit: 1, MaxUnit: 4, StepSize: 1, AllocationRatio: 1}},
	})
	c := b.Done()
	allocations := c.Placement.Consumers[0].Allocations
	allocations[device] = map[string]int64{"VGPU": 1}
	allocations[root]["VCPU"]++
	cloudtest.Count(c)
	fc := newFakeCloud(t, c)
	plan := heal.New(index.New(fc.read()), heal.Options{Force: true, Delete: true})
	for _, r := range fc.apply(plan, -1) {
		if r.Outcome != heal.Done {
			t.Errorf("step %d: %s: %s", r.Step, r.Outcome, r.Text)
		}
	}
	after := fc.read()
	if got := after.Placement.Consumers[0].Allocations; got[device]["VGPU"] != 1 || len(plan.Steps) != 1 {
		t.Errorf("steps %+v, then %v", plan.Steps, got)
	}
	if found := audit.Check(index.New(after), audit.Options{}).Findings; len(found) > 0 {
		t.Errorf("findings %+v", found)
	}
}

// Servers that lack the PCI devices of their flavor get those that are the only ones of their host,
// or that the operator has chosen, where the aliases are known. Which of its groups has which of
// them does not matter.
func TestPCIDevices(t *testing.T) {
	aliases, err := request.ParseAliases([]string{`{"name": "nic", "resource_class": "CUSTOM_NIC"}`})
	if err != nil {
		t.Fatal(err)
	}
	type given = map[string]string
	for name, tc := range map[string]struct {
		devices int
		alias   string
		servers int
		given   given
		want    string // the devices of each server
		says    string // of the servers that are not healed
	}{
		"One":            {1, "nic:1", 1, nil, "0", ""},
		"AllOfTwo":       {2, "nic:2", 1, nil, "01", ""},
		"AllInTwoGroups": {2, "nic:1,nic:1", 1, nil, "01", ""},
		"OneOfTwo":       {2, "nic:1", 1, nil, "", "; pci0-0 of nic0, nic1; choose with --provider SUFFIX=PROVIDER"},
		"ThisOne":        {2, "nic:1", 1, given{"pci0-0": "nic1"}, "1", ""},
		"ByUUID":         {2, "nic:1", 1, given{"pci0-0": cloudtest.UUID("nic0")}, "0", ""},
		"OfServer":       {2, "nic:1", 1, given{"server0/pci0-0": "nic1", "pci0-0": "nic0"}, "1", ""},
		"TwoOfThree":     {3, "nic:2", 1, given{"pci0-0": "nic2", "pci0-1": "nic0"}, "02", ""},
		"OneIsOpen":      {3, "nic:2", 1, given{"pci0-0": "nic2"}, "", "; pci0-1 of nic0, nic1; choose"},
		"TwiceTheSame": {
			3, "nic:2", 1, given{"pci0-0": "nic2", "pci0-1": "nic2"}, "", "the providers that are given with --provider",
		},
		"EachItsOwn": {
			3, "nic:1", 2, given{"server0/pci0-0": "nic2", cloudtest.UUID("server server1") + "/pci0-0": "nic0"}, "2 0", "",
		},
		"ForAll": {3, "nic:1", 2, given{"pci0-0": "nic1"}, "1 ", "the providers that are given with --provider"},
		"SixOfEight": {
			8, "nic:6", 1,
			given{"pci0-0": "nic0", "pci0-1": "nic1", "pci0-2": "nic2", "pci0-3": "nic3", "pci0-4": "nic4", "pci0-5": "nic5"},
			"012345", "",
		},
		"OtherSix": {
			8, "nic:6", 1,
			given{"pci0-0": "nic7", "pci0-1": "nic6", "pci0-2": "nic5", "pci0-3": "nic4", "pci0-4": "nic3", "pci0-5": "nic2"},
			"234567", "",
		},
		"AllOfEight": {8, "nic:8", 1, nil, "01234567", ""},
		"Many":       {12, "nic:1", 1, nil, "", "nic3, nic4, nic5, …; choose"},
	} {
		t.Run(name, func(t *testing.T) {
			b := cloudtest.New()
			b.Host("cn1", "")
			for i := range tc.servers {
				server := fmt.Sprint("server", i)
				b.Server(server, "cn1")
				b.At(server).Created = time.Unix(int64(i), 0).UTC()
				b.At(server).Flavor.Specs = map[string]string{"pci_passthrough:alias": tc.alias}
			}
			root := cloudtest.UUID("host cn1")
			for i := range tc.devices {
				b.Placement.Providers = append(b.Placement.Providers, cloud.Provider{
					UUID: cloudtest.UUID(fmt.Sprint("nic", i)), Name: fmt.Sprint("nic", i), Parent: root, Root: root,
					Inventories: map[string]cloud.Inventory{
						"CUSTOM_NIC": {Total: 1, MinUnit: 1, MaxUnit: 1, StepSize: 1, AllocationRatio: 1},
					},
				})
			}
			c := b.Done()
			c.Compute.Version = "2.96"
			cloudtest.Count(c)
			fc := newFakeCloud(t, c)
			x := index.New(fc.read())
			x.PCI = aliases
			plan := heal.New(x, heal.Options{Force: true, Providers: tc.given})
			for _, r := range fc.apply(plan, -1) {
				if r.Outcome != heal.Done {
					t.Errorf("step %d: %s: %s", r.Step, r.Outcome, r.Text)
				}
			}
			var got []string
			after := index.New(fc.read())
			for i := range tc.servers {
				devices := ""
				for k := range tc.devices {
					if after.Consumers[cloudtest.UUID(fmt.Sprint("server server", i))].Allocations[cloudtest.UUID(fmt.Sprint("nic",
						k))]["CUSTOM_NIC"] == 1 {
						devices += fmt.Sprint(k)
					}
				}
				got = append(got, devices)
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("the servers have the devices %q, want %q, with the steps %+v, unhealed %+v", got, tc.want, plan.Steps,
					plan.Unhealed)
			}
			if text := fmt.Sprint(plan.Unhealed); (len(plan.Unhealed) > 0) != (tc.says != "") ||
				!strings.Contains(text, tc.says) {
				t.Errorf("unhealed is %s, want %q", text, tc.says)
			}
		})
	}
}

// The cells of a server without an allocation get a NUMA node each, as the scheduler has it, with
// the memory of that node: also of so many nodes that no candidate of the first thousands has.
func TestCellsGetNodes(t *testing.T) {
	racetest.Skip(t)
	type given = map[string]string
	for name, tc := range map[string]struct {
		nodes, cells int
		given        given
		want         string // nodes with a cell's CPUs and memory
		says         string
	}{
		"AsManyAsNodes": {2, 2, nil, "01", ""},
		"OneOfTwo":      {2, 1, nil, "", "; _MEM0 of n0m, n1m; _PROC0 of n0, n1; choose"},
		"ThisOne":       {2, 1, given{"_PROC0": "n1"}, "1", ""},
		"TwoOfThree":    {3, 2, given{"_PROC0": "n0", "_PROC1": "n2"}, "02", ""},
		"BothOnOne":     {3, 2, given{"_PROC0": "n1", "_PROC1": "n1"}, "", "the providers that are given with --provider"},
		"Many":          {6, 6, nil, "012345", ""},
		"TooMany":       {2, 3, nil, "", "no providers of host cn1 offer what it requests"},
	} {
		t.Run(name, func(t *testing.T) {
			b := cloudtest.New()
			b.Host("cn1", "")
			b.Server("server0", "cn1")
			f := &b.At("server0").Flavor
			f.VCPUs, f.RAM, f.Specs = int64(tc.cells), int64(256*tc.cells), given{"hw:numa_nodes": fmt.Sprint(tc.cells)}
			root := cloudtest.UUID("host cn1")
			i := slices.IndexFunc(b.Placement.Providers, func(p cloud.Provider) bool { return p.UUID == root })
			delete(b.Placement.Providers[i].Inventories, "VCPU")
			delete(b.Placement.Providers[i].Inventories, "MEMORY_MB")
			add := func(name, parent, class, trait string) string {
				id := cloudtest.UUID(name)
				b.Placement.Providers = append(b.Placement.Providers, cloud.Provider{
					UUID: id, Name: name, Parent: parent, Root: root, Traits: []string{trait},
					Inventories: map[string]cloud.Inventory{
						class: {Total: 8192, MinUnit: 1, MaxUnit: 8192, StepSize: 1, AllocationRatio: 1},
					},
				})
				return id
			}
			for n := range tc.nodes {
				node := add(fmt.Sprint("n", n), root, "VCPU", request.TraitNUMARoot)
				add(fmt.Sprintf("n%dm", n), node, "MEMORY_MB", request.TraitPageSize+"SMALL")
			}
			c := b.Done()
			c.Placement.Consumers = []cloud.Consumer{}
			cloudtest.Count(c)
			fc := newFakeCloud(t, c)
			plan := heal.New(index.New(fc.read()), heal.Options{Providers: tc.given})
			for _, r := range fc.apply(plan, -1) {
				if r.Outcome != heal.Done {
					t.Errorf("step %d: %s: %s", r.Step, r.Outcome, r.Text)
				}
			}
			got := ""
			has := index.New(fc.read()).Consumers[cloudtest.UUID("server server0")]
			for n := range tc.nodes {
				if has == nil {
					break
				}
				cpus := has.Allocations[cloudtest.UUID(fmt.Sprint("n", n))]["VCPU"]
				memory := has.Allocations[cloudtest.UUID(fmt.Sprintf("n%dm", n))]["MEMORY_MB"]
				if cpus == 1 && memory == 256 {
					got += fmt.Sprint(n)
				} else if cpus+memory != 0 {
					t.Errorf("node %d has %d CPUs and %d MB", n, cpus, memory)
				}
			}
			if text := fmt.Sprint(plan.Unhealed); got != tc.want || !strings.Contains(text, tc.says) {
				t.Errorf("the cells are on the nodes %q, want %q; unhealed is %s, want %q", got, tc.want, text, tc.says)
			}
		})
	}
}

// The disk of a server whose host has none is that of the provider that shares with it.
func TestSharedDisk(t *testing.T) {
	c := audittest.Whole().Done()
	shared := cloudtest.UUID("server shared")
	var before map[string]map[string]int64
	c.Placement.Consumers = slices.DeleteFunc(c.Placement.Consumers, func(c cloud.Consumer) bool {
		if c.UUID == shared {
			before = c.Allocations
		}
		return c.UUID == shared
	})
	cloudtest.Count(c)
	fc := newFakeCloud(t, c)
	fc.apply(heal.New(index.New(fc.read()), heal.Options{}), -1)
	i := slices.IndexFunc(fc.read().Placement.Consumers, func(c cloud.Consumer) bool { return c.UUID == shared })
	if i < 0 {
		t.Fatal("the server has no allocation")
	}
	if diff := cmp.Diff(before, fc.read().Placement.Consumers[i].Allocations); diff != "" || len(before) != 2 {
		t.Errorf("the allocation (-want +got):\n%s", diff)
	}
}
