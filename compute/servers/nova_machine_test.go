package servers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/agent/node"
	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/osloconfig"
)

// A novaHost is a machine with an agent: files as a kernel shows them, and a nova.conf.
type novaHost struct {
	*fixture
	name    string
	dir     string
	conf    []novaSetting
	devices []inventory.Device // that its driver reports besides those that the agent finds
}

// A novaSetting is a setting of nova.conf: a list when it is there several times.
type novaSetting struct{ group, option, value string }

// novaHost returns a host with a machine of so many NUMA nodes, with sockets, cores and threads
// each, and so much memory: "nodes=2 sockets=1 cores=2 threads=2 memory=16384 2048=1024". The last
// are pages of 2048 kB of each node. CPUs are numbered node by node, and threads of a core in turn.
func (w *fixture) novaHost(name string, words []string) *novaHost {
	w.Helper()
	h := &novaHost{fixture: w, name: name, dir: w.TempDir()}
	has := map[string]int{"nodes": 2, "sockets": 1, "cores": 2, "threads": 2, "memory": 16384}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		has[key] = w.number(value)
	}
	cpus := has["sockets"] * has["cores"] * has["threads"] // of a node
	h.write("state/compute_id", string(computetest.ID(name))+"\n")
	h.write("machine/proc/meminfo", fmt.Sprintf("MemTotal: %d kB\n", has["memory"]*1024))
	h.write("machine/proc/cpuinfo", fmt.Sprintf("vendor_id : GenuineIntel\nphysical id : 0\nsiblings : %d\n"+
		"cpu cores : %d\nflags : fpu sse sse2 ht aes vmx\n", has["cores"]*has["threads"], has["cores"]))
	h.write("machine/sys/devices/system/cpu/online", fmt.Sprintf("0-%d\n", cpus*has["nodes"]-1))
	for id := range has["nodes"] {
		dir := fmt.Sprintf("machine/sys/devices/system/node/node%d/", id)
		h.write(dir+"cpulist", fmt.Sprintf("%d-%d\n", cpus*id, cpus*(id+1)-1))
		h.write(dir+"meminfo", fmt.Sprintf("Node %d MemTotal: %d kB\n", id, has["memory"]*1024/has["nodes"]))
		distances := slices.Repeat([]string{"20"}, has["nodes"])
		distances[id] = "10"
		h.write(dir+"distance", strings.Join(distances, " ")+"\n")
		for _, size := range []string{"2048", "1048576"} {
			if n, ok := has[size]; ok {
				h.write(dir+"hugepages/hugepages-"+size+"kB/nr_hugepages", fmt.Sprintln(n))
			}
		}
		for cpu := cpus * id; cpu < cpus*(id+1); cpu++ {
			first := cpu - cpu%has["threads"]
			dir := fmt.Sprintf("machine/sys/devices/system/cpu/cpu%d/topology/", cpu)
			h.write(dir+"physical_package_id", fmt.Sprintln(cpu/(has["cores"]*has["threads"])))
			h.write(dir+"thread_siblings_list", fmt.Sprintf("%d-%d\n", first, first+has["threads"]-1))
		}
	}
	return h
}

func (w *fixture) number(text string) int {
	w.Helper()
	n, err := strconv.Atoi(text)
	w.must(err)
	return n
}

func (h *novaHost) write(path, text string) {
	h.Helper()
	path = filepath.Join(h.dir, path)
	h.must(os.MkdirAll(filepath.Dir(path), 0o700))
	h.must(os.WriteFile(path, []byte(text), 0o600))
}

// pci adds a PCI device: "0000:81:00.1 8086:1515 of 0000:81:00.0", or "physical" for one that can
// have functions. "without 0000:81:00.1" removes one.
func (h *novaHost) pci(words []string) {
	h.Helper()
	const devices = "machine/sys/bus/pci/devices/"
	if words[0] == "without" {
		h.must(os.RemoveAll(filepath.Join(h.dir, devices, words[1])))
		return
	}
	dir := devices + words[0]
	vendor, product, _ := strings.Cut(words[1], ":")
	h.write(dir+"/vendor", "0x"+vendor+"\n")
	h.write(dir+"/device", "0x"+product+"\n")
	if len(words) > 3 {
		h.must(os.Symlink("../"+words[3], filepath.Join(h.dir, dir, "physfn")))
	} else if len(words) > 2 {
		h.write(dir+"/sriov_totalvfs", "8\n")
	}
}

// mdev says how many mediated devices of a type a card can have.
func (h *novaHost) mdev(card, kind, free string) {
	h.Helper()
	h.write("machine/sys/class/mdev_bus/"+card+"/mdev_supported_types/"+kind+"/available_instances", free+"\n")
}

// set sets an option of nova.conf: "[compute] cpu_dedicated_set = 0-7", with "add" in front one
// more value of it, and without a value none at all.
func (h *novaHost) set(line string) {
	h.Helper()
	line, added := strings.CutPrefix(line, "add ")
	name, value, _ := strings.Cut(line, " =")
	group, option, _ := strings.Cut(name, " ")
	if !added {
		h.conf = slices.DeleteFunc(h.conf, func(s novaSetting) bool { return s.group == group && s.option == option })
	}
	if value = strings.TrimSpace(value); value != "" {
		h.conf = append(h.conf, novaSetting{group, option, value})
	}
}

// report reads the host as its agent does.
func (h *novaHost) report() (node.Report, error) {
	h.Helper()
	text := ""
	for _, s := range h.conf {
		text += s.group + "\n" + s.option + " = " + s.value + "\n"
	}
	h.write("nova.conf", text)
	env := map[string]string{
		"OS_DEFAULT__STATE_PATH": filepath.Join(h.dir, "state"), "OS_DEFAULT__MY_IP": "192.0.2.1",
		"OS_COMPUTE__PROVIDER_CONFIG_LOCATION": filepath.Join(h.dir, "provider_config"),
	}
	set, _, err := node.Load(osloconfig.Sources{
		Files:     []string{filepath.Join(h.dir, "nova.conf")},
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}, settings.Names{Host: h.name, Canonical: h.name})
	if err != nil {
		return node.Report{}, err
	}
	return set.Report(node.Machine{
		Root: filepath.Join(h.dir, "machine"), Arch: "x86_64", PageKB: 4,
		Disk: func(string) (int64, error) { return 1028 << 30, nil },
	})
}

// start has the host report, as its agent does when it starts, or later. Units are what it says of
// its servers. The error is why it cannot serve.
func (h *novaHost) start(units map[string][]inventory.Unit, starting bool) (warnings []string, err error) {
	h.Helper()
	r, err := h.report()
	if err != nil {
		return nil, err
	}
	r.Host.Devices = append(r.Host.Devices, h.devices...)
	r.Host.Units = units
	row := compute.NodeRow{
		ID: compute.ID(r.Host.ID.String()), Name: h.name, Type: r.Type, Version: r.Version, Address: r.Address,
		VCPUs: r.Host.VCPU.Total + r.Host.PCPU.Total, MemoryMB: r.Host.MemoryMB.Total, DiskGB: r.Host.DiskGB.Total,
		CPU: r.CPUInfo,
	}
	if r.Topology != nil {
		row.Topology, err = json.Marshal(r.Topology)
		h.must(err)
	}
	h.must(h.Report(ctx, compute.Report{
		Host: h.name, Version: 66, Node: row, Inventory: &r.Host, Starting: starting,
	}))
	synced, err := h.SyncTree(ctx, h.name, r.Host, starting)
	return append(r.Warnings, synced...), err
}
