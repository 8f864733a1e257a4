package migration

import (
	"fmt"
	"testing"

	"github.com/berthcloud/berth/internal/rest"
)

// hosts is how many hosts the cloud has. Each has two NUMA nodes, and the first
// of them a network device.
const hosts = 3

func host(n int) string     { return rest.UUID("b0", n) }
func numa(n, m int) string  { return rest.UUID("b1", 2*n+m) }
func nic(n int) string      { return rest.UUID("b2", n) }
func instance(n int) string { return rest.UUID("c0", n) }

var (
	disk  = rest.UUID("b3", 0) // shared by the hosts
	spare = rest.UUID("b3", 1) // nothing refers to it
	rack  = rest.UUID("d0", 0) // the aggregate of the hosts and the disk
	row   = rest.UUID("d0", 1)
)

// A cloud fills a service through its API with the writes of operators and Nova over years: by old
// and new microversions.
type cloud struct {
	t *testing.T
	c *rest.Client
}

func newCloud(t *testing.T, url string) cloud {
	t.Helper()
	c := rest.NewOneShot(url, rest.Newest)
	t.Cleanup(c.Close)
	return cloud{t, c}
}

func (w cloud) put(version, path string, body any) {
	w.t.Helper()
	w.c.At(version).Must(w.t, 200, "PUT", path, body)
}

func (w cloud) post(version, path string, body any) {
	w.t.Helper()
	w.c.At(version).Must(w.t, 200, "POST", path, body)
}

func (w cloud) delete(version, path string) {
	w.t.Helper()
	w.c.At(version).Must(w.t, 204, "DELETE", path, nil)
}

// fill builds the cloud in an empty service.
func (w cloud) fill() {
	w.t.Helper()
	w.put("1.7", "/resource_classes/CUSTOM_LICENSE", nil)
	w.post("1.2", "/resource_classes", rest.Object{"name": "CUSTOM_BAREMETAL_GOLD"})
	for _, trait := range []string{"CUSTOM_RAID", "CUSTOM_PHYSNET_1", "CUSTOM_UNUSED"} {
		w.put("1.6", "/traits/"+trait, nil)
	}
	for n := range hosts {
		w.addHost(n)
	}
	w.addSharing()
	w.c.AddProvider(w.t, spare, "", rest.Resources{"CUSTOM_BAREMETAL_GOLD": 1})
	w.claims()
}

func (w cloud) addHost(n int) {
	w.t.Helper()
	w.post("1.0", "/resource_providers", rest.Object{"name": fmt.Sprintf("Host-%d.example.org", n), "uuid": host(n)})
	w.put("1.19", "/resource_providers/"+host(n)+"/aggregates", rest.Object{
		"aggregates": []string{rack, row}[:1+n%2], "resource_provider_generation": 0,
	})
	w.put("1.6", "/resource_providers/"+host(n)+"/traits", rest.Object{
		"traits": []string{"HW_CPU_X86_VMX", "COMPUTE_VOLUME_EXTEND"}[:1+n%2], "resource_provider_generation": 1,
	})
	for m := range 2 {
		w.c.AddProvider(w.t, numa(n, m), host(n), nil)
		w.put("1.26", "/resource_providers/"+numa(n, m)+"/inventories", rest.Object{
			"resource_provider_generation": 0,
			"inventories": rest.Object{
				"VCPU": rest.Object{"total": 16, "allocation_ratio": 3.3, "reserved": 1},
				"MEMORY_MB": rest.Object{
					"total": 65536, "step_size": 256, "min_unit": 256, "max_unit": 32768, "allocation_ratio": 1.1,
				},
				"CUSTOM_LICENSE": rest.Object{"total": 4, "reserved": 4},
			},
		})
	}
	w.c.AddProvider(w.t, nic(n), numa(n, 0), rest.Resources{
		"NET_BW_EGR_KILOBIT_PER_SEC": 1000000, "NET_BW_IGR_KILOBIT_PER_SEC": 1000000,
	})
	w.put("1.39", "/resource_providers/"+nic(n)+"/traits", rest.Object{
		"traits": []string{"CUSTOM_PHYSNET_1", "CUSTOM_RAID"}, "resource_provider_generation": 1,
	})
}

func (w cloud) addSharing() {
	w.t.Helper()
	w.c.AddProvider(w.t, disk, "", rest.Resources{"DISK_GB": 10000})
	w.put("1.39", "/resource_providers/"+disk+"/traits", rest.Object{
		"traits": []string{"MISC_SHARES_VIA_AGGREGATE", "STORAGE_DISK_SSD"}, "resource_provider_generation": 1,
	})
	w.put("1.1", "/resource_providers/"+disk+"/aggregates", []string{rack})
}

// claims writes allocations as the clients of several releases do: without owner
// or generation, without a type, with one, and several at once.
func (w cloud) claims() {
	w.t.Helper()
	w.put("1.0", "/allocations/"+instance(0), rest.Object{"allocations": []rest.Object{
		{"resource_provider": rest.Object{"uuid": numa(0, 0)}, "resources": rest.Resources{"VCPU": 1, "MEMORY_MB": 512}},
	}})
	w.put("1.8", "/allocations/"+instance(1), rest.Object{
		"project_id": "project", "user_id": "user", "allocations": []rest.Object{
			{"resource_provider": rest.Object{"uuid": numa(0, 1)}, "resources": rest.Resources{"VCPU": 2}},
			{"resource_provider": rest.Object{"uuid": disk}, "resources": rest.Resources{"DISK_GB": 20}},
		},
	})
	w.put("1.28", "/allocations/"+instance(2), rest.Allocations(nil, map[string]rest.Resources{
		numa(1, 0): {"VCPU": 4, "MEMORY_MB": 4096}, nic(1): {"NET_BW_EGR_KILOBIT_PER_SEC": 10000},
	}))
	w.put("1.38", "/allocations/"+instance(3), rest.Claim(nil, map[string]rest.Resources{numa(2, 0): {"VCPU": 8}}))
	typed := rest.Claim(nil, map[string]rest.Resources{numa(2, 1): {"MEMORY_MB": 1024}})
	typed["consumer_type"], typed["project_id"] = "MIGRATION", "Another Project"
	w.put("1.38", "/allocations/"+instance(4), typed)
	w.post("1.13", "/allocations", rest.Object{
		instance(5): w.share(numa(1, 1), 3), instance(6): w.share(numa(1, 1), 5),
	})
}

// share is one consumer's part of POST /allocations before 1.28.
func (w cloud) share(provider string, vcpu int) rest.Object {
	return rest.Object{
		"project_id": "project", "user_id": "another user",
		"allocations": rest.Object{provider: rest.Object{"resources": rest.Resources{"VCPU": vcpu}}},
	}
}

// change writes to the cloud that another service filled: one of each write, on existing objects
// and new ones.
func (w cloud) change() {
	w.t.Helper()
	w.changeProviders()
	w.changeClaims()
	w.changeNames()
	w.reshape()
}

func (w cloud) changeProviders() {
	w.t.Helper()
	w.c.AddProvider(w.t, rest.UUID("b4", 0), host(0), rest.Resources{"PGPU": 4})
	w.c.AddProvider(w.t, rest.UUID("b4", 1), "", rest.Resources{"VCPU": 64, "MEMORY_MB": 1024})
	w.put("1.39", "/resource_providers/"+rest.UUID("b4", 1), rest.Object{
		"name": "the new host", "parent_provider_uuid": host(2),
	})
	w.put("1.39", "/resource_providers/"+numa(0, 0)+"/inventories/VCPU", rest.Object{
		"resource_provider_generation": w.c.Generation(w.t, numa(0, 0)), "total": 24, "allocation_ratio": 2.7,
	})
	w.delete("1.39", "/resource_providers/"+numa(0, 1)+"/inventories/CUSTOM_LICENSE")
	w.put("1.39", "/resource_providers/"+host(1)+"/traits", rest.Object{
		"resource_provider_generation": w.c.Generation(w.t, host(1)), "traits": []string{"CUSTOM_RAID", "HW_CPU_X86_AVX"},
	})
	w.put("1.39", "/resource_providers/"+host(2)+"/aggregates", rest.Object{
		"resource_provider_generation": w.c.Generation(w.t, host(2)), "aggregates": []string{row, rest.UUID("d0", 2)},
	})
	w.delete("1.39", "/resource_providers/"+spare)
}

func (w cloud) changeClaims() {
	w.t.Helper()
	w.put("1.38", "/allocations/"+instance(2),
		rest.Claim(w.consumer(instance(2)), map[string]rest.Resources{numa(2, 1): {"VCPU": 5}}))
	w.delete("1.0", "/allocations/"+instance(5))
	w.put("1.38", "/allocations/"+instance(7), rest.Claim(nil, map[string]rest.Resources{
		disk: {"DISK_GB": 100}, rest.UUID("b4", 1): {"VCPU": 1},
	}))
	fresh := rest.Claim(nil, map[string]rest.Resources{rest.UUID("b4", 0): {"PGPU": 1}})
	fresh["consumer_type"], fresh["user_id"] = "NEW_TYPE", "USER" // "user" is another one
	w.put("1.38", "/allocations/"+instance(8), fresh)
	w.put("1.28", "/allocations/"+instance(9), rest.Allocations(nil, map[string]rest.Resources{numa(1, 0): {"VCPU": 2}}))
}

func (w cloud) changeNames() {
	w.t.Helper()
	w.put("1.39", "/resource_classes/CUSTOM_NEW_CLASS", nil)
	w.put("1.39", "/traits/CUSTOM_NEW_TRAIT", nil)
	w.delete("1.39", "/traits/CUSTOM_UNUSED")
	w.delete("1.39", "/resource_classes/CUSTOM_BAREMETAL_GOLD")
}

// reshape moves the memory of a NUMA node with a server's allocation to another one.
func (w cloud) reshape() {
	w.t.Helper()
	allocated := rest.Claim(w.consumer(instance(0)), map[string]rest.Resources{
		numa(0, 0): {"VCPU": 1}, rest.UUID("b4", 0): {"MEMORY_MB": 512},
	})
	w.post("1.38", "/reshaper", rest.Object{
		"inventories": rest.Object{
			numa(0, 0): rest.Inventories(w.c.Generation(w.t, numa(0, 0)), rest.Resources{"VCPU": 24}),
			rest.UUID("b4", 0): rest.Inventories(w.c.Generation(w.t, rest.UUID("b4", 0)), rest.Resources{
				"PGPU": 4, "MEMORY_MB": 65536,
			}),
		},
		"allocations": rest.Object{instance(0): allocated},
	})
}

// consumer returns the generation of a consumer with allocations.
func (w cloud) consumer(uuid string) int {
	w.t.Helper()
	var allocated struct {
		Generation *int `json:"consumer_generation"`
	}
	w.c.Read(w.t, "/allocations/"+uuid, &allocated)
	if allocated.Generation == nil {
		w.t.Fatalf("%s holds nothing", uuid)
	}
	return *allocated.Generation
}
