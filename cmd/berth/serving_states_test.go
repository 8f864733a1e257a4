package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The metrics of each service have its contents: units of each resource class in placement, agents
// in the network service, hosts in compute, and those that no longer report.
func TestMetricsOfWhatThereIs(t *testing.T) {
	dir := t.TempDir()
	ops := func(service string) string { return filepath.Join(dir, service) }
	shows := func(service string, lines ...string) func() bool {
		connection := overUnix(ops(service))
		return func() bool {
			_, body := call(t, connection, "GET", "http://h/metrics", "")
			for _, line := range lines {
				if !strings.Contains(body, "\n"+line+"\n") {
					return false
				}
			}
			return true
		}
	}
	places := start(t, t.TempDir(), "placement", "serve", "--listen", "127.0.0.1:0", "--config",
		settings(t, databaseOf("sqlite://"), "[berth]\nmetrics_listen = unix:"+ops("placement")))
	networks := start(t, t.TempDir(), "network", "serve", "--listen", "127.0.0.1:0", "--config",
		neutronConf(t, "service_plugins = placement\nagent_down_time = 3", networkDatabaseAt("sqlite://"),
			"[placement]\nauth_type = none\nendpoint_override = "+places.url,
			"[ml2]\nmechanism_drivers = openvswitch,sriovnicswitch\n[berth]\nmetrics_listen = unix:"+ops("network")))
	nova := novaConf(t, places)
	more := filepath.Join(dir, "more.conf")
	rewrite(t, more, "[DEFAULT]\nservice_down_time = 3\n[berth]\nmetrics_listen = unix:"+ops("compute")+"\n")
	h := &hostedCompute{
		compute: start(t, t.TempDir(), "compute", "serve", "--listen", "127.0.0.1:0", "--config", nova, "--config", more),
	}
	wait(t, "there is no host and no agent", func() bool {
		return shows("network", `berth_network_agents{state="alive"} 0`, `berth_network_agents{state="unsynced"} 0`,
			`berth_network_agents{state="dead"} 0`)() &&
			shows("compute", `berth_compute_hosts{state="up"} 0`, `berth_compute_operations 0`,
				`berth_compute_oldest_operation_seconds 0`)()
	})

	file := filepath.Join(dir, "nova.conf")
	rewrite(t, file, h.hostText(t.TempDir()))
	host := launch(t, nil, nil, "agent", "--compute-config", file)
	agent := launch(t, nil, nil, "agent", "--config",
		agentFile(t, "[berth]", "network_urls = "+networks.url, "network_token = admin"))
	wait(t, "the host is up", shows("compute", `berth_compute_hosts{state="up"} 1`, `berth_compute_hosts{state="down"} 0`))
	wait(t, "the agents of both kinds are without a provider of their host",
		shows("network", `berth_network_agents{state="unsynced"} 2`, `berth_network_agents{state="dead"} 0`))
	wait(t, "placement has the host's units", shows("placement",
		`berth_capacity_total_units{resource_class="VCPU"} 6`, `berth_capacity_usable_units{resource_class="VCPU"} 24`,
		`berth_capacity_total_units{resource_class="MEMORY_MB"} 4096`,
		`berth_capacity_reserved_units{resource_class="MEMORY_MB"} 64`,
		`berth_capacity_used_units{resource_class="MEMORY_MB"} 0`, `berth_capacity_providers{resource_class="DISK_GB"} 1`))
	request(t, places, "POST", "/resource_providers", `{"name": "devstack0"}`)
	wait(t, "the agents' devices are in placement",
		shows("network", `berth_network_agents{state="alive"} 2`, `berth_network_agents{state="unsynced"} 0`))

	for _, r := range []*running{host, agent} {
		r.signal(syscall.SIGKILL)
		_ = r.cmd.Wait()
	}
	wait(t, "the host is down",
		shows("compute", `berth_compute_hosts{state="up"} 0`, `berth_compute_hosts{state="down"} 1`))
	wait(t, "the agents are dead",
		shows("network", `berth_network_agents{state="alive"} 0`, `berth_network_agents{state="dead"} 2`))
}
