package request_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/internal/novatest"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/placement"
)

//go:embed testdata/nova.py
var novaScript string

// novaRelease returns the release of the Nova that Python finds: Debian's is Zed, and a newer one
// in PYTHONPATH says so with BERTH_TEST_NOVA_RELEASE, such as 34.
func novaRelease(t *testing.T) request.Release {
	text, other := os.LookupEnv("BERTH_TEST_NOVA_RELEASE")
	if !other {
		return request.Zed
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return request.Release(n)
}

// TestNova compares queries with those of Nova's scheduler: of random flavors, images,
// ports, aggregates and settings.
func TestNova(t *testing.T) {
	racetest.Skip(t)
	release := novaRelease(t)
	r := rand.New(rand.NewPCG(2, 72))
	var requested []*question
	var wire []map[string]any
	for len(requested) < 3000 {
		a := random(r, release)
		if extraspecs.Check(a.spec.Flavor, a.spec.Image) != nil {
			continue // Nova's API refuses it before
		}
		requested, wire = append(requested, a), append(wire, a.wire())
	}
	var answers []json.RawMessage
	novatest.Run(t, novaScript, wire, &answers)
	refused := 0
	for i, a := range requested {
		want, skip := novaSays(t, a, answers[i])
		got := berthSays(a)
		if skip {
			continue
		}
		if len(want) == 1 && strings.HasPrefix(want[0], "error ") {
			refused++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			text, _ := json.Marshal(wire[i])
			t.Fatalf("%s\n(-nova +berth):\n%s", text, diff)
		}
	}
	t.Logf("%d requests, %d of them refused", len(requested), refused)
}

// novaSays is Nova's answer in the form of berthSays.
func novaSays(t *testing.T, a *question, answer json.RawMessage) (lines []string, skip bool) {
	var text string
	if json.Unmarshal(answer, &text) == nil {
		return []string{"error " + text}, false
	}
	var queries [][]string
	if err := json.Unmarshal(answer, &queries); err != nil {
		t.Fatal(err)
	}
	for i, q := range queries {
		suffixed := 0
		for _, p := range q {
			if strings.HasPrefix(p, "resources") && !strings.HasPrefix(p, "resources=") {
				suffixed++
			}
		}
		policy := slices.IndexFunc(q, func(p string) bool { return strings.HasPrefix(p, "group_policy=") })
		switch {
		case suffixed > 1 && policy < 0:
			// Placement refuses this, which is a host that is not there.
			return []string{"error No valid host was found. "}, false
		case suffixed < 2 && policy >= 0:
			q = slices.Delete(q, policy, policy+1)
		}
		for _, p := range q {
			// Nova lists the traits of a group without resources with none,
			// which placement refuses; without them it may be answered.
			if name, value, _ := strings.Cut(p, "="); value == "" && strings.HasPrefix(name, "resources") {
				skip = true
			}
			lines = append(lines, fmt.Sprint(i, " ", p))
		}
	}
	return lines, skip
}

func berthSays(a *question) []string {
	r, err := a.request()
	if err != nil {
		return []string{"error " + err.Error()}
	}
	queries := append([]placement.Query{r.Query}, r.Fallbacks()...)
	var lines []string
	for i, q := range queries {
		for _, p := range params(q) {
			lines = append(lines, fmt.Sprint(i, " ", p))
		}
	}
	return lines
}

// wire is a request as testdata/nova.py reads it.
func (a *question) wire() map[string]any {
	f := a.spec.Flavor
	aggregates, ports, on := []any{}, []any{}, []string{}
	for _, one := range a.aggregates {
		aggregates = append(aggregates, map[string]any{"uuid": one.UUID, "metadata": one.Metadata})
	}
	for _, p := range a.spec.Ports {
		groups := []any{}
		for _, g := range p.Groups {
			groups = append(groups, map[string]any{"id": g.ID, "resources": g.Resources, "required": g.Required})
		}
		ports = append(ports, map[string]any{
			"id": p.ID, "old": p.LegacyFormat, "groups": groups, "same_subtree": p.SameSubtree,
		})
	}
	for field, cur := range map[string]bool{
		"LimitTenants": a.settings.LimitTenants, "TenantsNeedAggregate": a.settings.TenantsNeedAggregate,
		"Zones": a.settings.Zones, "ImageTypes": a.settings.ImageTypes, "IsolateAggregates": a.settings.IsolateAggregates,
		"ImageMetadata": a.settings.ImageMetadata, "Owner": a.settings.Owner,
	} {
		if cur {
			on = append(on, field)
		}
	}
	return map[string]any{
		"flavor": map[string]any{
			"vcpus": f.VCPUs, "memory_mb": f.MemoryMB, "root_gb": f.RootGB, "ephemeral_gb": f.EphemeralGB, "swap": f.SwapMB,
		},
		"specs": f.Specs, "format": a.spec.Image.DiskFormat, "properties": a.spec.Image.Properties, "project": a.spec.Project,
		"zone": a.spec.Zone, "volume": a.spec.FromVolume, "unlimited": a.spec.Unlimited, "in_tree": a.spec.InTree,
		"ports": ports, "aggregates": aggregates, "on": on, "aliases": a.aliases,
	}
}

// Extra specs and properties to choose from, as in scenarios.
var (
	someSpecs = strings.Fields(`resources:VCPU=2 resources:VCPU=0 resources:MEMORY_MB=0 resources:DISK_GB=7 resources:CUSTOM_GOLD=3 resources:GOLD=1
		resources:VGPU=-1 resources:VGPU=x resources1:VGPU=1 resources1:VGPU=0 resources2:VGPU=2 resources_A-b:VGPU=1 resources1:VCPU=2 resources1:DISK_GB=2
		trait:CUSTOM_A=required trait:CUSTOM_A=forbidden trait:CUSTOM_B=forbidden trait1:CUSTOM_C=required trait2:CUSTOM_A=forbidden trait:X=odd
		group_policy=none group_policy=isolate group_policy=odd hw:cpu_policy=dedicated hw:cpu_policy=mixed hw:cpu_dedicated_mask=^0
		hw:cpu_thread_policy=isolate hw:cpu_thread_policy=require hw:emulator_threads_policy=isolate resources:PCPU=4 hw:cpu_realtime=yes
		hw:cpu_realtime_mask=^0 trait:HW_CPU_HYPERTHREADING=required hw:mem_encryption=yes hw:pmem=a,a,b--c hw:tpm_version=1.2 hw:tpm_version=2.0
		os:secure_boot=required hw:pci_numa_affinity_policy=socket hw:pci_numa_affinity_policy=legacy accel:device_profile=fpga
		hw:ephemeral_encryption=yes hw:ephemeral_encryption=no hw:ephemeral_encryption_format=luks`)
	someProperties = strings.Fields(`trait:CUSTOM_A=required trait:CUSTOM_D=required trait:CUSTOM_E=forbidden hw_cpu_policy=dedicated hw_cpu_policy=shared
		hw_cpu_thread_policy=prefer hw_firmware_type=uefi hw_mem_encryption=yes hw_tpm_version=2.0 hw_tpm_version=1.2 os_secure_boot=disabled
		os_secure_boot=required hw_pci_numa_affinity_policy=socket hw_ephemeral_encryption=yes hw_ephemeral_encryption_format=plain
		hw_disk_bus=virtio hw_disk_bus=uml hw_cdrom_bus=sata hw_video_model=qxl hw_vif_model=spapr-vlan hw_vif_model=lan9118 architecture=amd64
		hw_emulation_architecture=ppc64 hw_architecture=lm32`)
	newSpecs = strings.Fields(`hw:mem_encryption=yes hw:mem_encryption_model=amd-sev-es hw:mem_encryption_model=intel-tdx hw:maxphysaddr_mode=emulate
		hw:maxphysaddr_mode=passthrough hw:tpm_model=tpm-crb hw:tpm_model=tpm-tis hw:virtio_packed_ring=yes hw:sound_model=virtio hw:tpm_secret_security=host`)
	newProperties = strings.Fields(`hw_mem_encryption_model=amd-sev-snp hw_mem_encryption_model=amd-sev-es hw_firmware_stateless=yes hw_firmware_type=uefi
		hw_firmware_type=uefi hw_maxphysaddr_mode=emulate hw_tpm_model=tpm-crb hw_video_model=none hw_sound_model=virtio`)
	// someAliases are values of [pci] alias.
	someAliases = []string{
		`{"name": "nic", "vendor_id": "8086", "product_id": "10ca", "device_type": "type-VF"}`,
		`{"name": "gpu", "resource_class": "fast gpu", "traits": "HW_GPU_API_VULKAN,purple--rain,custom_b"}`,
	}
	someMetadata = strings.Fields(`availability_zone=az1 availability_zone=az2 filter_tenant_id=blue filter_tenant_id7=blue filter_tenant_id=red other=green
		trait:CUSTOM_A=required trait:CUSTOM_D=required trait:CUSTOM_D=forbidden trait:HW_CPU_HYPERTHREADING=required trait:CUSTOM_PHYSNET_0=required`)
)

// some picks so many words at most, as names and values.
func some(r *rand.Rand, words []string, most int) map[string]string {
	m := map[string]string{}
	for range r.IntN(most + 1) {
		name, v, _ := strings.Cut(words[r.IntN(len(words))], "=")
		m[name] = v
	}
	return m
}

func random(r *rand.Rand, release request.Release) *question {
	coin := func() bool { return r.IntN(3) == 0 }
	specs, properties := someSpecs, someProperties
	if release >= request.Hibiscus {
		specs, properties = slices.Concat(specs, newSpecs), slices.Concat(properties, newProperties)
	}
	a := &question{settings: request.Settings{
		Release:    release,
		MaxResults: 1000, LimitTenants: coin(), TenantsNeedAggregate: coin(), Zones: coin(), ImageTypes: coin(),
		IsolateAggregates: coin(), ImageMetadata: coin(), Owner: release >= request.Hibiscus && coin(),
	}}
	a.spec = request.Spec{
		Flavor: extraspecs.Flavor{
			Name: "m1", VCPUs: 1 + r.Int64N(4), MemoryMB: r.Int64N(3) * 256, RootGB: r.Int64N(3), EphemeralGB: r.Int64N(2),
			SwapMB: r.Int64N(2) * 1025, Specs: some(r, specs, 7),
		},
		Image: extraspecs.Image{
			ID: "i", Name: "cirros", DiskFormat: []string{"qcow2", "raw", "docker"}[r.IntN(3)],
			Properties: some(r, properties, 4),
		},
		FromVolume: coin(), Project: "blue", Unlimited: coin(),
	}
	if release >= request.Antelope && coin() {
		a.aliases = someAliases
		var err error
		if a.settings.PCI, err = request.ParseAliases(someAliases); err != nil {
			panic(err) // they are above
		}
		if coin() {
			a.spec.Flavor.Specs["pci_passthrough:alias"] = []string{
				"nic:1", "nic:2", "gpu:1,nic:1", "gpu:1, gpu:1", "none:1", "nic:0",
			}[r.IntN(6)]
		}
	}
	if coin() {
		a.spec.Zone = "az1"
	}
	if coin() {
		a.spec.InTree = "cn1"
	}
	for i := range r.IntN(4) {
		a.aggregates = append(a.aggregates, request.Aggregate{
			UUID: placement.UUID(fmt.Sprint("agg", i)), Metadata: some(r, someMetadata, 3),
		})
	}
	for i := range r.IntN(3) {
		a.spec.Ports = append(a.spec.Ports, randomPort(r, fmt.Sprint("port", i)))
	}
	return a
}

func randomPort(r *rand.Rand, id string) request.Port {
	p := request.Port{ID: id, VNIC: "normal", LegacyFormat: r.IntN(3) == 0, SameSubtree: []string{}}
	groups := 1 + r.IntN(2)
	if p.LegacyFormat {
		groups = 1
	}
	for i := range groups {
		g := request.Group{
			ID: fmt.Sprint(id, "g", i), Resources: map[string]int64{"NET_BW_EGR_KILOBIT_PER_SEC": 1 + r.Int64N(1000)},
			Required: []string{"CUSTOM_PHYSNET_0"},
		}
		if p.LegacyFormat {
			g.ID = id
		} else {
			p.SameSubtree = append(p.SameSubtree, g.ID)
		}
		p.Groups = append(p.Groups, g)
	}
	return p
}
