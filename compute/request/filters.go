package request

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/placement"
)

// Settings are what an operator decides about requests, with Nova's options.
type Settings struct {
	// Release is the release of Nova whose query it is, 0 for the newest one.
	Release Release
	// MaxResults is [scheduler] max_placement_results.
	MaxResults int
	// LimitTenants is [scheduler] limit_tenants_to_placement_aggregate, and
	// TenantsNeedAggregate placement_aggregate_required_for_tenants.
	LimitTenants, TenantsNeedAggregate bool
	// Zones is [scheduler] query_placement_for_availability_zone. Releases since Bobcat do not read
	// it: they always do.
	Zones bool
	// ImageTypes is [scheduler] query_placement_for_image_type_support.
	ImageTypes bool
	// IsolateAggregates is [scheduler] enable_isolated_aggregate_filtering.
	IsolateAggregates bool
	// ImageMetadata is [scheduler] image_metadata_prefilter.
	ImageMetadata bool
	// RoutedNetworks is [scheduler] query_placement_for_routed_network_aggregates.
	RoutedNetworks bool
	// Off are filters that are always on with Nova and are off here, by their Filters.
	Off []string
	// Owner wants hosts that say that they are compute's. It may be set once all
	// of them do.
	Owner bool
	// PCI are the aliases of [pci] alias, where [filter_scheduler] pci_in_placement is on; nil where
	// it is off. Releases before Antelope do not have it.
	PCI map[string]Alias
	// DisableFallbackPCPU is [workarounds] disable_fallback_pcpu_query.
	DisableFallbackPCPU bool
	// NUMA says that some host has its NUMA nodes as providers, and NonNUMA that some host has the
	// trait TraitNonNUMA. While neither does, all queries are Nova's.
	NUMA, NonNUMA bool
	// Topologies says that some host has reported its NUMA topology to the compute service, with nodes
	// as providers or without: it can have servers whose flavor or image has cells or pages.
	Topologies bool
	// NoSocketAffinity says that no host has COMPUTE_SOCKET_PCI_NUMA_AFFINITY: a server with the PCI
	// NUMA affinity policy socket has no host, and the reason is that.
	NoSocketAffinity bool
}

// DefaultSettings are Nova's.
func DefaultSettings() Settings { return Settings{MaxResults: 1000, Zones: true} }

// A filtering is what the filters make of a spec.
type filtering struct {
	Spec
	Settings
	aggregates []Aggregate

	root        map[string]bool // traits: required, or forbidden when false
	memberOf    [][]placement.UUID
	notMemberOf []placement.UUID
}

// TraitTPMSecret is the beginning of the traits of hosts that keep the secrets of TPMs; hosts of
// releases of Nova before 2026.1 have none of them.
const TraitTPMSecret = "COMPUTE_SECURITY_TPM_SECRET_SECURITY_"

// The filters that Settings.Off may have.
const (
	DisabledComputes = "disabled_computes"
	Accelerators     = "accelerators"
	PackedVirtqueue  = "packed_virtqueue"
	RemoteManaged    = "remote_managed_ports"
	Encryption       = "ephemeral_encryption"
	VirtioSound      = "virtio_sound"
	TPMSecrets       = "tpm_secret_security"
)

// filters are all of them, in Nova's order, each with what switches it on.
var filters = []struct {
	on  func(*filtering) bool
	run func(*filtering) error
}{
	{func(f *filtering) bool { return f.LimitTenants }, (*filtering).tenants},
	{func(f *filtering) bool { return (f.Zones || f.Release >= Bobcat) && f.Zone != "" }, (*filtering).zone},
	{func(f *filtering) bool { return f.ImageTypes && !f.FromVolume }, (*filtering).imageType},
	{unless(DisabledComputes, Zed), (*filtering).enabled},
	{func(f *filtering) bool { return f.IsolateAggregates }, (*filtering).isolated},
	{func(f *filtering) bool { return f.ImageMetadata }, (*filtering).imageMetadata},
	{unless(Accelerators, Zed), (*filtering).accelerators},
	{unless(PackedVirtqueue, Caracal), (*filtering).packedRings},
	{func(f *filtering) bool { return f.RoutedNetworks }, (*filtering).routed},
	{unless(RemoteManaged, Zed), (*filtering).remoteManaged},
	{unless(Encryption, Zed), (*filtering).encryption},
	{unless(VirtioSound, Epoxy), (*filtering).sound},
	{unless(TPMSecrets, Gazpacho), (*filtering).tpmSecrets},
	{func(f *filtering) bool { return f.Owner && f.Release.Since(Hibiscus) }, (*filtering).owner},
}

// unless switches a filter on that is not off and that the release has.
func unless(name string, since Release) func(*filtering) bool {
	return func(f *filtering) bool { return f.Release.Since(since) && !slices.Contains(f.Off, name) }
}

func (f *filtering) run() error {
	f.root = map[string]bool{}
	for _, one := range filters {
		if !one.on(f) {
			continue
		}
		if err := one.run(f); err != nil {
			return err
		}
	}
	return nil
}

func (f *filtering) rootRequired() []string { return f.rootTraits(true) }

func (f *filtering) rootForbidden() []string { return f.rootTraits(false) }

func (f *filtering) rootTraits(required bool) []string {
	var all []string
	for _, t := range slices.Sorted(maps.Keys(f.root)) {
		if f.root[t] == required {
			all = append(all, t)
		}
	}
	return all
}

// within wants hosts in one of some aggregates.
func (f *filtering) within(aggregates []placement.UUID) {
	slices.Sort(aggregates)
	f.memberOf = append(f.memberOf, slices.Compact(aggregates))
}

// those returns the aggregates of which some metadata is so.
func (f *filtering) those(cur func(key, value string) bool) []placement.UUID {
	var all []placement.UUID
	for _, a := range f.aggregates {
		for key, v := range a.Metadata {
			if cur(key, v) {
				all = append(all, a.UUID)
				break
			}
		}
	}
	slices.Sort(all)
	return all
}

// tenants confines a project to the aggregates that are named for it. Nova also takes
// one that is named for another project when any other key has this one's id.
func (f *filtering) tenants() error {
	own := f.those(func(key, v string) bool { return strings.HasPrefix(key, "filter_tenant_id") && v == f.Project })
	switch {
	case len(own) > 0:
		f.within(own)
	case f.TenantsNeedAggregate:
		return &NoValidHost{
			Reason:  "Scheduling failed: No hosts available for tenant",
			Details: []string{fmt.Sprintf("no host aggregate has metadata filter_tenant_id for project %s", f.Project)},
		}
	}
	return nil
}

func (f *filtering) zone() error {
	if in := f.those(func(key, v string) bool { return key == "availability_zone" && v == f.Zone }); len(in) > 0 {
		f.within(in)
	}
	return nil
}

// imageType wants hosts that can run the image's format.
func (f *filtering) imageType() error {
	if t := "COMPUTE_IMAGE_TYPE_" + strings.ToUpper(f.Image.DiskFormat); standard(t) {
		f.root[t] = true
	}
	return nil
}

func standard(trait string) bool {
	_, ok := slices.BinarySearch(placement.StandardTraits, trait)
	return ok
}

// enabled excludes hosts whose service is disabled.
func (f *filtering) enabled() error {
	f.root["COMPUTE_STATUS_DISABLED"] = false
	return nil
}

// isolated keeps servers out of aggregates with traits that they do not require.
func (f *filtering) isolated() error {
	b, err := build(f.Spec, f.Settings, asUsual, extraspecs.NUMA{})
	if err != nil {
		return err
	}
	required := b.required()
	f.notMemberOf = f.those(func(key, v string) bool {
		t, ok := strings.CutPrefix(key, "trait:")
		return ok && v == "required" && !required[t]
	})
	return nil
}

// models are properties of images, and what the traits for their values begin with.
var models = []struct{ property, prefix string }{
	{"hw_cdrom_bus", "COMPUTE_STORAGE_BUS_"},
	{"hw_disk_bus", "COMPUTE_STORAGE_BUS_"},
	{"hw_video_model", "COMPUTE_GRAPHICS_MODEL_"},
	{"hw_vif_model", "COMPUTE_NET_VIF_MODEL_"},
	{"hw_architecture", "HW_ARCH_"},
	{"hw_emulation_architecture", "COMPUTE_ARCH_"},
	{"hw_viommu_model", "COMPUTE_VIOMMU_MODEL_"},
}

// imageMetadata requires hosts with the traits of the image's properties. When one of the
// properties has no trait, none is required.
func (f *filtering) imageMetadata() error {
	var traits []string
	for _, m := range models {
		v := f.Image.Property(m.property)
		if v == "" {
			continue
		}
		t := m.prefix + strings.ToUpper(strings.ReplaceAll(v, "-", "_"))
		if !standard(t) {
			return nil
		}
		traits = append(traits, t)
	}
	for _, t := range traits {
		f.root[t] = true
	}
	return nil
}

func (f *filtering) accelerators() error {
	if f.Flavor.Specs["accel:device_profile"] != "" {
		f.root["COMPUTE_ACCELERATORS"] = true
	}
	return nil
}

// packedRings wants hosts that can do virtio's packed queues.
func (f *filtering) packedRings() error {
	flavor, _ := extraspecs.Bool(f.Flavor.Specs["hw:virtio_packed_ring"])
	image, _ := extraspecs.Bool(f.Image.Property("hw_virtio_packed_ring"))
	if flavor || image {
		f.root["COMPUTE_NET_VIRTIO_PACKED"] = true
	}
	return nil
}

// routed wants hosts that reach a segment of each network.
func (f *filtering) routed() error {
	for _, aggregates := range f.Routed {
		f.within(slices.Clone(aggregates))
	}
	return nil
}

func (f *filtering) remoteManaged() error {
	if slices.ContainsFunc(f.Ports, func(p Port) bool { return p.VNIC == "remote-managed" }) {
		f.root["COMPUTE_REMOTE_MANAGED_PORTS"] = true
	}
	return nil
}

func (f *filtering) encryption() error {
	on, format, err := extraspecs.Encryption(f.Flavor, f.Image)
	if on {
		f.root["COMPUTE_EPHEMERAL_ENCRYPTION"] = true
	}
	if format != "" {
		f.root["COMPUTE_EPHEMERAL_ENCRYPTION_"+strings.ToUpper(format)] = true
	}
	return err
}

// sound wants hosts that have virtio's sound card.
func (f *filtering) sound() error {
	model, err := extraspecs.SoundModel(f.Flavor, f.Image)
	if model == "virtio" {
		f.root["COMPUTE_SOUND_MODEL_VIRTIO"] = true
	}
	return err
}

// tpmSecrets wants hosts that keep the secret of the server's TPM as the flavor says, and without a
// word in the flavor as its user's. For a server without a TPM the flavor's word means nothing.
func (f *filtering) tpmSecrets() error {
	tpm, _, err := extraspecs.TPM(f.Flavor, f.Image)
	if err != nil || tpm == "" {
		return err
	}
	if t := TraitTPMSecret + strings.ToUpper(cmp.Or(f.Flavor.Specs["hw:tpm_secret_security"], "user")); standard(t) {
		f.root[t] = true
	}
	return nil
}

// ownerNova is the trait of what is Nova's in placement.
const ownerNova = "OWNER_NOVA"

// owner wants hosts and PCI devices that are Nova's.
func (f *filtering) owner() error {
	f.root[ownerNova] = true
	return nil
}
