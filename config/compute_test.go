package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/config"
)

func TestNoComputeFilesAreDefault(t *testing.T) {
	got, warnings, err := config.LoadCompute(nil, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("LoadCompute = %v, warnings %q", err, warnings)
	}
	want := config.DefaultCompute()
	want.Berth.Listen = "127.0.0.1:8774"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("LoadCompute without files (-default +got):\n%s", diff)
	}
}

// novaFile is the nova.conf of a controller with Debian's packages.
const novaFile = `[DEFAULT]
my_ip = 10.0.0.1
pybasedir = /opt/nova
transport_url = rabbit://openstack:hunter2@controller
enabled_apis = osapi_compute,metadata
osapi_compute_listen = $my_ip
service_down_time = 120
rpc_response_timeout = 180
migrate_max_retries = 2
default_availability_zone = here
default_schedule_zone = here
instance_name_template = vm-%08x
osapi_compute_unique_server_name_scope = global
osapi_max_limit = 500
quota_instances = 7
resume_guests_state_on_host_boot = true
initial_ram_allocation_ratio = 1.0
[api]
vendordata_jsonfile_path = /etc/nova/vendor_data.json
[api_database]
connection = mysql+pymysql://nova:hunter3@controller/nova_api
max_pool_size = 3
[cinder]
os_region_name = one
[database]
connection = mysql+pymysql://berth:s%40crt@controller/berth_compute
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
available_filters = mine.filters.Mine
enabled_filters = AvailabilityZoneFilter,ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,PciPassthroughFilter
host_subset_size = 4
shuffle_best_same_weighed_hosts = true
ram_weight_multiplier = -2.5
soft_affinity_weight_multiplier = 0
[glance]
api_servers = http://controller:9292,http://other:9292
verify_glance_signatures = true
[keystone_authtoken]
auth_url = http://controller:5000
auth_type = password
username = nova
password = hunter4
[libvirt]
virt_type = kvm
[neutron]
auth_type = password
auth_url = http://controller:5000
username = neutron
password = hunter5
cafile = /etc/ssl/cloud.pem
valid_interfaces = admin
service_metadata_proxy = true
metadata_proxy_shared_secret = hunter6
[placement]
auth_section = nova_auth
region_name = one
timeout = 70
[nova_auth]
auth_type = v3applicationcredential
application_credential_id = id
[quota]
cores = -1
ram = 1000
[scheduler]
max_attempts = 5
max_placement_results = 20
query_placement_for_routed_network_aggregates = yes
limit_tenants_to_placement_aggregate = yes
placement_aggregate_required_for_tenants = yes
query_placement_for_availability_zone = no
query_placement_for_image_type_support = yes
enable_isolated_aggregate_filtering = yes
image_metadata_prefilter = yes
discover_hosts_in_cells_interval = 300
[service_user]
send_service_user_token = true
[workarounds]
disable_fallback_pcpu_query = true
[berth]
boot_in_guaranteed_networks = true
attach_guaranteed_ports = false
guaranteed_operations = boot, delete, live-migrate
owned_hosts_only = true
candidates_per_host = 3
takeover_time = 65
history_days = 90
request_filters_off = accelerators, virtio_sound
`

func TestComputeFile(t *testing.T) {
	paths := files(t, novaFile)
	got, warnings, err := config.LoadCompute(paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantWarnings := []string{
		paths[0] + ":14: [DEFAULT] osapi_max_limit is an older name of [api] max_limit",
		paths[0] + ":15: [DEFAULT] quota_instances is an older name of [quota] instances",
		`[filter_scheduler] enabled_filters: Berth does not have "PciPassthroughFilter"`,
		"[api_database] connection is passed over: all is in the database of [database]",
		"[berth] takeover_time = 65: requests may take longer, by [placement] timeout = 70",
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(novaSettings(paths), got); diff != "" {
		t.Errorf("LoadCompute (-want +got):\n%s", diff)
	}
	if shown := fmt.Sprintf("%v %+v %#v", *got, *got, *got); strings.Contains(shown, "hunter") ||
		strings.Contains(shown, "s%40crt") {
		t.Errorf("a secret shows when the settings are printed: %s", shown)
	}
}

// novaSettings are the values in novaFile.
func novaSettings(paths []string) *config.Compute {
	want := config.DefaultCompute()
	want.Files = paths
	want.Paths = config.Paths{PyBaseDir: "/opt/nova", StatePath: "/opt/nova"}
	want.Berth.Listen = "10.0.0.1:8774"
	n := &want.Nova
	n.MyIP, n.Listen, n.DefaultZone = "10.0.0.1", "10.0.0.1", "here"
	n.ServiceDownTime, n.ResponseTimeout, n.LiveRetries = 120, 180, 2
	n.NameTemplate, n.UniqueNames, n.MaxLimit = "vm-%08x", config.UniqueEverywhere, 500
	n.ImageServers = []string{"http://controller:9292", "http://other:9292"}
	want.Database.Connection = "mysql+pymysql://berth:s%40crt@controller/berth_compute"
	want.Keystone.AuthType = "password"
	want.Keystone.Auth = config.Auth{AuthURL: "http://controller:5000", Username: "nova", Password: "hunter4"}
	want.Neutron.AuthType, want.Neutron.ValidInterfaces = "password", []string{"admin"}
	want.Neutron.CAFile = "/etc/ssl/cloud.pem"
	want.Neutron.Auth = config.Auth{AuthURL: "http://controller:5000", Username: "neutron", Password: "hunter5"}
	want.Placement.AuthSection = "nova_auth"
	want.Placement.AuthType, want.Placement.RegionName = "v3applicationcredential", "one"
	want.Placement.Auth.ApplicationCredentialID = "id"
	want.Quota.Instances, want.Quota.Cores, want.Quota.RAM = 7, -1, 1000
	s := &want.Scheduler
	s.MaxAttempts, s.MaxPlacementResults = 5, 20
	s.RoutedNetworks, s.LimitTenants, s.TenantsNeedAggregate, s.Zones = true, true, true, false
	s.ImageTypes, s.IsolateAggregates, s.ImageMetadata, s.DisableFallbackPCPU = true, true, true, true
	s.EnabledFilters = []string{
		"AvailabilityZoneFilter", "ComputeFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter",
		"PciPassthroughFilter",
	}
	s.SubsetSize, s.ShuffleBest, s.Weights.RAM, s.Weights.SoftAffinity = 4, true, -2.5, 0
	want.Boots = config.Boots{
		AllowNetworkQoS: true, OwnedHosts: true, CandidatesPerHost: 3, TakeoverTime: 65, HistoryDays: 90,
		FiltersOff: []string{"accelerators", "virtio_sound"}, Guaranteed: []string{"boot", "delete", "live-migrate"},
	}
	want.Placement.Timeout = new(70)
	want.Ignored = []string{
		"[DEFAULT] default_schedule_zone", "[DEFAULT] enabled_apis", "[DEFAULT] initial_ram_allocation_ratio",
		"[DEFAULT] resume_guests_state_on_host_boot", "[DEFAULT] transport_url", "[api] vendordata_jsonfile_path",
		"[neutron] metadata_proxy_shared_secret", "[neutron] service_metadata_proxy",
		"[glance] verify_glance_signatures", "[scheduler] discover_hosts_in_cells_interval",
		"[filter_scheduler] available_filters", "[api_database] connection",
	}
	return want
}

func TestComputeAddressAndTLS(t *testing.T) {
	const tls = "[wsgi]\nssl_cert_file = c\nssl_key_file = k\nssl_ca_file = a\n"
	for text, want := range map[string][4]string{
		"[DEFAULT]\nosapi_compute_listen = ::\nosapi_compute_listen_port = 9":       {"[::]:9"},
		"[DEFAULT]\nosapi_compute_listen = 10.0.0.1\n[berth]\nlisten = 127.0.0.1:1": {"127.0.0.1:1"},
		"[DEFAULT]\nenabled_ssl_apis = osapi_compute\n" + tls: {
			"127.0.0.1:8774", "c", "k", "a",
		},
		"[DEFAULT]\nenabled_ssl_apis = metadata\n" + tls:                                        {"127.0.0.1:8774"},
		"[DEFAULT]\nenabled_ssl_apis = osapi_compute\n[berth]\ntls_cert_file=b\ntls_key_file=l": {"127.0.0.1:8774", "b", "l"},
	} {
		c, _, err := config.LoadCompute(files(t, text), nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := [4]string{c.Berth.Listen, c.Berth.TLSCertFile, c.Berth.TLSKeyFile, c.Berth.TLSClientCAFile}; got != want {
			t.Errorf("with %q: address, certificate, key and authorities are %q, want %q", text, got, want)
		}
	}
}

func TestNameTemplates(t *testing.T) {
	for template, trouble := range map[string]string{
		"i-%08x":           "",
		"%s":               "",
		"%%-%(id)d":        "",
		"%(uuid)s":         "",
		"%(hostname)-20s!": "",
		"vm":               "want one conversion of the number, or conversions with names",
		"%d-%d":            "want one conversion of the number, or conversions with names",
		"%d-%(uuid)s":      "want one conversion of the number, or conversions with names",
		"100%":             "a % that begins no conversion is written %%",
		"%(uuid)x":         "%(uuid)x is not for what it stands for",
		"%f":               "%f is not for what it stands for",
		"%(cell_name)s":    "want one of id, uuid, hostname, display_name, project_id, user_id, not cell_name",
	} {
		_, _, err := config.LoadCompute(files(t, "[DEFAULT]\ninstance_name_template = "+template+"\n"), nil)
		if trouble == "" && err != nil || trouble != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+trouble)) {
			t.Errorf("%s: %v, want %q", template, err, trouble)
		}
	}
}

func TestWrongComputeValuesAreReportedAtOnce(t *testing.T) {
	paths := files(t, `[DEFAULT]
osapi_compute_listen = $my_ip
osapi_compute_unique_server_name_scope = world
enabled_ssl_apis = osapi_compute
service_down_time = 0
maximum_instance_delete_attempt = 3
[api]
auth_strategy = noauth
max_limit = 0
[filter_scheduler]
ram_weight_multiplier = inf
cpu_weight_multiplier = nan
soft_anti_affinity_weight_multiplier = -1
disk_weight_multiplier = much
[quota]
cores = -2
[scheduler]
max_attempts = 0
[berth]
request_filters_off = accelerators, all
guaranteed_operations = boot, livemigrate
[placement]
auth_typ = password
`)
	c, warnings, err := config.LoadCompute(paths, nil)
	if c != nil || err == nil {
		t.Fatalf("LoadCompute = %v, %v, want an error and nothing else", c, err)
	}
	want := map[string]bool{}
	for _, line := range []string{
		`:2: [DEFAULT] osapi_compute_listen = "$my_ip": want an address; set my_ip when it is $my_ip`,
		`:3: [DEFAULT] osapi_compute_unique_server_name_scope = "world": want project, global`,
		`:5: [DEFAULT] service_down_time = "0": want an integer from 1 to 2147483647`,
		`:8: [api] auth_strategy = "noauth": want one of keystone, noauth2`,
		`:9: [api] max_limit = "0": want an integer of at least 1`,
		`:11: [filter_scheduler] ram_weight_multiplier = "inf": want a finite number`,
		`:12: [filter_scheduler] cpu_weight_multiplier = "nan": want a finite number`,
		`:13: [filter_scheduler] soft_anti_affinity_weight_multiplier = "-1": want a number from 0 on`,
		`:14: [filter_scheduler] disk_weight_multiplier = "much": want a number`,
		`:16: [quota] cores = "-2": want an integer of at least -1`,
		`:18: [scheduler] max_attempts = "0": want an integer of at least 1`,
		`:20: [berth] request_filters_off = "accelerators, all": want disabled_computes, accelerators, packed_virtqueue, ` +
			`remote_managed_ports, ephemeral_encryption, virtio_sound, tpm_secret_security, not "all"`,
		`:21: [berth] guaranteed_operations = "boot, livemigrate": want boot, delete, attach, detach, resize, migrate, ` +
			`live-migrate, evacuate, unshelve, not "livemigrate"`,
		`[DEFAULT] enabled_ssl_apis has osapi_compute: set [wsgi] ssl_cert_file and ssl_key_file too`,
	} {
		want[line] = true
	}
	got := map[string]bool{}
	for line := range strings.SplitSeq(strings.ReplaceAll(err.Error(), paths[0], ""), "\n") {
		got[line] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	wantWarnings := []string{
		paths[0] +
			":6: there is no option [DEFAULT] maximum_instance_delete_attempt; did you mean maximum_instance_delete_attempts?",
		paths[0] + ":23: there is no option [placement] auth_typ; did you mean auth_type?",
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestCredentialsForGlance(t *testing.T) {
	const (
		own       = "[glance]\nauth_type = password\nusername = g\ncafile = gca\nendpoint = http://g\n"
		neutron   = "[neutron]\nauth_type = password\nusername = n\ncafile = nca\nregion_name = there\nendpoint = http://n\n"
		placement = "[placement]\nauth_type = admin_token\ntoken = t\nendpoint = http://p\n"
		elsewhere = "[neutron]\nauth_section = more\n[more]\nauth_type = password\nusername = m\n"
	)
	for text, want := range map[string]config.Peer{
		"": {},
		own + neutron + placement: {
			AuthType: "password", Auth: config.Auth{Username: "g"}, Endpoint: "http://g", CAFile: "gca",
		},
		neutron + placement: {
			AuthType: "password", Auth: config.Auth{Username: "n"}, AuthSection: "neutron", CAFile: "nca",
		},
		elsewhere: {AuthType: "password", Auth: config.Auth{Username: "m"}, AuthSection: "more"},
		placement + "[glance]\ncafile = gca\nendpoint_override = http://g\n": {
			AuthType: "admin_token", Token: "t", AuthSection: "placement", CAFile: "gca", EndpointOverride: "http://g",
		},
		"[glance]\nendpoint_override = http://g\napi_servers = http://a,http://b\n": {EndpointOverride: "http://a"},
	} {
		c, _, err := config.LoadCompute(files(t, text), nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		want.EndpointType, want.ValidInterfaces = "internal", []string{"internal", "public"}
		if diff := cmp.Diff(want, c.ImageService()); diff != "" {
			t.Errorf("ImageService with %q (-want +got):\n%s", text, diff)
		}
	}
}

// TestCredentialsOfSkippedGroups reads credentials from groups that are passed over
// otherwise, and that another part reads too.
func TestCredentialsOfSkippedGroups(t *testing.T) {
	c, warnings, err := config.LoadCompute(files(t, `[neutron]
auth_section = service_user
[service_user]
send_service_user_token = true
auth_type = password
username = s
[placement]
auth_section = keystone_authtoken
valid_interfaces =
[keystone_authtoken]
auth_type = password
username = k
timeout = 4
`), nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("LoadCompute = %v, warnings %q", err, warnings)
	}
	got := [3]string{c.Neutron.Auth.Username, c.Placement.Auth.Username, c.Keystone.Auth.Username}
	if got != [3]string{"s", "k", "k"} {
		t.Errorf("users of [neutron], [placement] and [keystone_authtoken] are %q", got)
	}
	if diff := cmp.Diff([]string{"internal"}, c.Placement.Interfaces()); diff != "" {
		t.Errorf("interfaces when none is named (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"internal", "public"}, c.Neutron.Interfaces()); diff != "" {
		t.Errorf("interfaces of an empty file (-want +got):\n%s", diff)
	}
}

// Of a nova.conf only the settings of requests are read, whatever else is in it, and what it leaves
// to Nova's defaults is named.
func TestLoadRequests(t *testing.T) {
	const text = "[DEFAULT]\nnonsense = 1\ndefault_schedule_zone = az1\n[database]\nconnection = mysql://secret\n" +
		"[scheduler]\n" +
		"limit_tenants_to_placement_aggregate = true\nmax_placement_results = 50\n" +
		"query_placement_for_availability_zone = $flag\nflag = off\n[berth]\nlisten = wrong\n"
	path := filepath.Join(t.TempDir(), "nova.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, _, err := config.LoadRequests(path); err == nil {
		t.Fatalf("a reference to an unknown option is taken: %+v", s)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(text, "$flag", "off", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s, assumed, err := config.LoadRequests(path)
	if err != nil || !s.Scheduler.LimitTenants || s.Scheduler.Zones || s.Scheduler.MaxPlacementResults != 50 ||
		s.Scheduler.ImageTypes || s.ScheduleZone != "az1" {
		t.Errorf("%+v, %v", s, err)
	}
	want := []string{
		"[scheduler] query_placement_for_routed_network_aggregates = false",
		"[scheduler] placement_aggregate_required_for_tenants = false",
		"[scheduler] query_placement_for_image_type_support = false",
		"[scheduler] enable_isolated_aggregate_filtering = false",
		"[scheduler] image_metadata_prefilter = false", "[filter_scheduler] pci_in_placement = false",
		"[workarounds] disable_fallback_pcpu_query = false",
		"[DEFAULT] default_availability_zone = nova",
	}
	if diff := cmp.Diff(want, assumed); diff != "" {
		t.Errorf("assumed (-want +got):\n%s", diff)
	}
	if s, assumed, err = config.LoadRequests(); err != nil || !s.Scheduler.Zones || s.ScheduleZone != "" ||
		len(assumed) != 12 {
		t.Errorf("without a file %+v, %q, %v", s, assumed, err)
	}
	const devices = "[pci]\nalias = {\"name\": \"a\"}\nalias = {\"name\": \"b\"}\n[filter_scheduler]\n" +
		"pci_in_placement = true\nhost_subset_size = wrong\n"
	if err := os.WriteFile(path, []byte(devices), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err = config.LoadRequests(path)
	if err != nil || !s.PCIInPlacement || !slices.Equal(s.Aliases, []string{`{"name": "a"}`, `{"name": "b"}`}) {
		t.Errorf("PCI devices: %+v, %v", s, err)
	}
	if _, _, err = config.LoadRequests("/nowhere/nova.conf"); err == nil {
		t.Error("a file that is not there is taken")
	}
}
