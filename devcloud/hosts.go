package devcloud

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/agent/host"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/berthclient"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/numa"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/daemon/hostagent"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/network"
)

// guideUUID is the UUID of the guide's host, as the guide prints it. It is constant, so that the
// host keeps its provider after a restart.
const guideUUID = "3b36d91e-bf60-460f-b1f8-3322dee5cdfd"

// hostName is the name of a host of "berth up".
func hostName(n int) string { return fmt.Sprintf("devstack%d", n) }

// upHost returns the resources of a host, and its topology: two NUMA nodes. Those of the first are
// the guide's. A host that reports its nodes to placement has half of their CPUs for servers with
// dedicated ones, and a part of their memory in huge pages.
func upHost(n int, nodes bool) (inventory.Host, numa.Topology, error) {
	id, err := guarantee.ParseUUID(guideUUID)
	h := inventory.Host{
		ID: id, Name: guideHost,
		VCPU:     inventory.Amount{Total: 8, Initial: 16},
		MemoryMB: inventory.Amount{Total: 16384, Reserved: 512, Initial: 1.5},
		DiskGB:   inventory.Amount{Total: 100, Initial: 1},
		Traits:   append(inventory.ImageTypes(nil), "COMPUTE_NET_ATTACH_INTERFACE", "HW_CPU_X86_VMX", "OWNER_NOVA"),
		KnowsCPU: true,
	}
	if n > 0 {
		h.Name = hostName(n)
		h.ID = id.Derive(h.Name)
	}
	const count, cpus, memoryMB, ordinaryKB, hugeKB = 2, 4, 8192, 4, 2048
	t := numa.Topology{Reported: nodes, CPURatio: h.VCPU.Initial, MemoryRatio: h.MemoryMB.Initial}
	for id := range count {
		node := numa.Node{ID: id, Socket: id, MemoryMB: memoryMB, Distances: []int{10, 20}}
		if id > 0 {
			slices.Reverse(node.Distances)
		}
		for cpu := id * cpus; cpu < (id+1)*cpus; cpu++ {
			node.CPUs, node.Cores = append(node.CPUs, cpu), append(node.Cores, []int{cpu})
		}
		node.Shared = node.CPUs
		var hugeMB int64
		if nodes {
			node.Shared, node.Dedicated, hugeMB = node.CPUs[:cpus/2], node.CPUs[cpus/2:], memoryMB/8
			h.Nodes = append(h.Nodes, inventory.Node{
				ID: id, VCPU: inventory.Amount{Total: cpus / 2, Initial: h.VCPU.Initial},
				PCPU: inventory.Amount{Total: cpus / 2, Initial: 1},
				Pages: []inventory.Pages{{
					SizeKB: ordinaryKB, Small: true, Amount: inventory.Amount{
						Total: memoryMB - hugeMB, Reserved: h.MemoryMB.Reserved / count, Initial: h.MemoryMB.Initial,
					},
				}, {SizeKB: hugeKB, Amount: inventory.Amount{Total: hugeMB, Initial: 1}}},
			})
		}
		node.Pages = []numa.Pages{
			{SizeKB: ordinaryKB, Total: (memoryMB - hugeMB) * 1024 / ordinaryKB},
			{SizeKB: hugeKB, Total: hugeMB * 1024 / hugeKB},
		}
		t.Nodes = append(t.Nodes, node)
	}
	return h, t, err
}

const (
	// reportInterval is how often a host reports.
	reportInterval = 10 * time.Second
	// buildsAtOnce is Nova's max_concurrent_builds.
	buildsAtOnce = 10
)

// guidePhysicalNetwork is the physical network that the devices of hosts are connected to.
const guidePhysicalNetwork = "physnet0"

// hostReport returns what a host reports of itself. A NIC accepts ports of the VNIC type direct, as
// many as it has virtual functions.
func hostReport(has *inventory.Host, t numa.Topology, nic bool) (compute.Report, error) {
	topology, err := json.Marshal(t)
	if err != nil {
		return compute.Report{}, err
	}
	node := compute.NodeRow{
		ID: compute.ID(has.ID.String()), Name: has.Name, Type: "fake", Version: 1, Address: "127.0.0.1",
		VCPUs: has.VCPU.Total, MemoryMB: has.MemoryMB.Total, DiskGB: has.DiskGB.Total, CPU: []byte("{}"),
		Topology: topology,
	}
	if nic {
		node.Devices, err = json.Marshal([]compute.Device{{PhysicalNetwork: guidePhysicalNetwork, Parent: guideNIC}})
		if err != nil {
			return compute.Report{}, err
		}
	}
	return compute.Report{Host: has.Name, Version: hostagent.ServiceVersion, Node: node, Inventory: has}, nil
}

// reportPorts returns a function that reports ports of a host as plugged in to the network service,
// as a network agent of the host would.
func (c *cloud) reportPorts(host string) func(context.Context, []string) error {
	return func(ctx context.Context, ports []string) error {
		ids := make([]network.ID, len(ports))
		for i, id := range ports {
			ids[i] = network.ID(id)
		}
		return c.network.Network().SetPortsUp(ctx, host, ids, true)
	}
}

// hostKey returns the key of a host, for its requests.
func (c *cloud) hostKey(host string) func() (string, error) {
	return func() (string, error) { return c.hostKeys.Key(host), nil }
}

// startHost starts a host, and returns when the compute service and placement have it. end ends it.
func (c *cloud) startHost(ctx context.Context, n int) (end func(), err error) {
	has, topology, err := upHost(n, n >= c.opts.Hosts-c.opts.NUMAHosts)
	if err != nil {
		return nil, err
	}
	report, err := hostReport(&has, topology, has.Name == guideHost || c.lab != nil)
	if err != nil {
		return nil, err
	}
	log := c.output.Logger(daemon.AgentLog).With("host", has.Name)
	report.Starting = true
	var last berthclient.ReportAnswer // reports are sent one after the other
	service := berthclient.NewHost(client.Options{
		Access: c.login(upAgent, func() string { return c.url(&c.compute.Server) }), HostKey: c.hostKey(has.Name), Log: log,
	}, berthclient.HostReporter{
		Name:   has.Name,
		Report: func() (compute.Report, error) { return report, nil },
		OnAnswer: func(answer berthclient.ReportAnswer) {
			if answer.SyncError != "" && answer.SyncError != last.SyncError {
				log.Error("the resources of the host are not up to date in placement", "error", answer.SyncError)
			}
			last, report.Starting = answer, report.Starting && answer.SyncError != ""
		},
	})
	defer func() {
		if err != nil {
			service.Close()
			err = fmt.Errorf("host %s: %w", has.Name, err)
		}
	}()
	if err := service.Report(ctx, nil); err != nil {
		return nil, err
	}
	if last.SyncError != "" {
		return nil, fmt.Errorf("its resources are not in placement: %s", last.SyncError)
	}
	d, endDriver, err := c.openDriver(has.Name, log)
	if err != nil {
		return nil, err
	}
	h := &host.Host{Service: service, Driver: d, Log: log, ReportInterval: reportInterval, Concurrency: buildsAtOnce}
	stop := daemon.Background(h.Run)
	return func() { stop(); service.Close(); endDriver() }, nil
}

// openDriver returns the driver of a host's servers, and a function that closes it.
func (c *cloud) openDriver(name string, log *slog.Logger) (driver.Driver, func(), error) {
	if c.lab == nil {
		return &driver.Reporting{Driver: &driver.Fake{}, Report: c.reportPorts(name)}, func() {}, nil
	}
	d, err := c.newNetns(name, log)
	if err != nil {
		return nil, nil, err
	}
	c.servers[name] = d
	if c.opts.Reset {
		destroyAll(d, log) // of a process that was killed: the new database does not list them
	}
	return d, func() { destroyAll(d, log) }, nil
}

// upFlavor is the flavor that the guide boots its server with.
var upFlavor = compute.FlavorRow{ID: "c1", Name: "cirros256", VCPUs: 1, MemoryMB: 256, RootGB: 1, RxTx: 1, Public: true}

// loadFlavor creates the flavor, if there is no flavor yet.
func (c *cloud) loadFlavor(ctx context.Context) error {
	all, err := c.compute.Catalog().Flavors(ctx, compute.Viewer{Admin: true}, catalog.FlavorFilter{})
	if err != nil || len(all) > 0 {
		return err
	}
	_, err = c.compute.Catalog().CreateFlavor(ctx, upFlavor)
	return err
}
