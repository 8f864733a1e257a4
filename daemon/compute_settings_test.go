package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/config/configtest"
)

// TestDefaultComputeSettings compares the settings of an empty file with the defaults of the
// service.
func TestDefaultComputeSettings(t *testing.T) {
	got, err := computeSettings(config.DefaultCompute())
	if diff := cmp.Diff(compute.DefaultSettings(), got); diff != "" || err != nil {
		t.Errorf("computeSettings (-of the service +of an empty file):\n%s", diff)
	}
}

// TestComputeSettings follows each setting to where it has an effect.
func TestComputeSettings(t *testing.T) {
	cfg := configtest.ReadCompute(t, `[DEFAULT]
service_down_time = 30
rpc_response_timeout = 40
instance_build_timeout = 50
allow_resize_to_same_host = yes
resize_confirm_window = 60
migrate_max_retries = 4
default_availability_zone = here
instance_name_template = vm-%08x
osapi_compute_unique_server_name_scope = global
[quota]
instances = 1
cores = 2
ram = 3
metadata_items = 4
injected_files = 5
injected_file_content_bytes = 6
injected_file_path_length = 7
key_pairs = 8
server_groups = 9
server_group_members = -1
[scheduler]
max_attempts = 11
max_placement_results = 12
query_placement_for_routed_network_aggregates = yes
limit_tenants_to_placement_aggregate = yes
placement_aggregate_required_for_tenants = yes
query_placement_for_availability_zone = no
query_placement_for_image_type_support = yes
enable_isolated_aggregate_filtering = yes
image_metadata_prefilter = yes
[filter_scheduler]
host_subset_size = 13
shuffle_best_same_weighed_hosts = yes
ram_weight_multiplier = 1.5
cpu_weight_multiplier = 2.5
disk_weight_multiplier = 3.5
io_ops_weight_multiplier = 4.5
build_failure_weight_multiplier = 5.5
soft_affinity_weight_multiplier = 6.5
soft_anti_affinity_weight_multiplier = 7.5
pci_in_placement = yes
[pci]
alias = {"name": "gpu", "resource_class": "PGPU", "live_migratable": "yes"}
[workarounds]
disable_fallback_pcpu_query = yes
[berth]
boot_in_guaranteed_networks = yes
attach_guaranteed_ports = no
guaranteed_operations = boot, attach
takeover_time = 70
history_days = 90
request_filters_off = disabled_computes, accelerators, packed_virtqueue, remote_managed_ports, ephemeral_encryption, virtio_sound, tpm_secret_security
owned_hosts_only = yes
candidates_per_host = 14
`)
	live := true
	want := compute.Settings{
		Quotas: compute.Quotas{
			compute.Instances: 1, compute.Cores: 2, compute.RAM: 3, compute.MetadataItems: 4, compute.InjectedFiles: 5,
			compute.InjectedBytes: 6, compute.InjectedPath: 7, compute.KeyPairs: 8, compute.ServerGroups: 9,
			compute.ServerGroupMembers: -1,
			compute.FixedIPs:           -1, compute.FloatingIPs: -1, compute.SecurityGroups: -1, compute.SecurityGroupRules: -1,
		},
		ServiceDownTime: 30 * time.Second,
		HostTime:        40 * time.Second,
		LeaseTime:       70 * time.Second,
		PortInterval:    time.Minute,
		History:         90 * 24 * time.Hour,
		BuildTime:       50 * time.Second,
		ResizeOnHost:    true,
		ConfirmWindow:   time.Minute,
		LiveRetries:     4,
		DefaultZone:     "here",
		NameTemplate:    "vm-%08x",
		UniqueNames:     compute.UniqueEverywhere,
		Requests: request.Settings{
			MaxResults: 12, LimitTenants: true, TenantsNeedAggregate: true, ImageTypes: true, IsolateAggregates: true,
			ImageMetadata: true, RoutedNetworks: true, Owner: true, DisableFallbackPCPU: true,
			PCI: map[string]request.Alias{"gpu": {Class: "PGPU", LiveMigratable: &live}},
			Off: []string{
				request.DisabledComputes, request.Accelerators, request.PackedVirtqueue, request.RemoteManaged, request.Encryption,
				request.VirtioSound,
				request.TPMSecrets,
			},
		},
		Selection: selection.Settings{
			Attempts: 11, Subset: 13, Shuffle: true, Candidates: 14,
			RAM: 1.5, CPU: 2.5, Disk: 3.5, IOOps: 4.5, BuildFailure: 5.5, SoftAffinity: 6.5, SoftAntiAffinity: 7.5,
		},
		AllowNetworkQoS: true, GuaranteedOperations: []string{compute.GuaranteedBoot, compute.GuaranteedAttach},
	}
	got, err := computeSettings(cfg)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("computeSettings (-want +got):\n%s%v", diff, err)
	}
	cfg.Aliases = []string{`{"name": "gpu", "vendor_id": "10de"}`}
	if _, err := computeSettings(cfg); err == nil || !strings.Contains(err.Error(), "[pci] alias: ") {
		t.Errorf("computeSettings of an alias that cannot be used: %v", err)
	}
	cfg.Scheduler.PCIInPlacement = false
	if _, err := computeSettings(cfg); err != nil {
		t.Errorf("computeSettings of aliases that have no effect: %v", err)
	}
}
