package audit_test

import (
	"fmt"
	"testing"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// BenchmarkCheck compares the records of 10,000 hosts, each with an agent and two bridges, in 100
// host aggregates, with 20,000 servers that have a guaranteed port each. Every hundredth server
// holds too much.
func BenchmarkCheck(b *testing.B) {
	const hosts, servers = 10_000, 20_000
	builder := cloudtest.New()
	var members [100][]string
	for i := range hosts {
		host := fmt.Sprintf("cn%d", i)
		builder.Host(host, "")
		builder.Agent(host, guarantee.OpenVSwitch, 0, "net0", "net1")
		members[i%len(members)] = append(members[i%len(members)], host)
	}
	for i := range servers {
		server, host := fmt.Sprintf("server%d", i), fmt.Sprintf("cn%d", i%hosts)
		builder.Server(server, host)
		builder.Port(fmt.Sprintf("port%d", i), server, "net0", guarantee.OpenVSwitch, 1000, 0, true)
		if i%100 == 0 {
			builder.Add(cloudtest.UUID("server "+server), cloudtest.UUID("host "+host), map[string]int64{"MEMORY_MB": 1})
		}
	}
	for i, hosts := range members {
		builder.Aggregate(fmt.Sprintf("aggregate%d", i), hosts...)
	}
	c := builder.Done()
	for b.Loop() {
		if r := audit.Check(index.New(c), audit.Options{}); len(r.Findings) != servers/100 || len(r.Unchecked) > 0 {
			b.Fatalf("%d findings, unchecked %v", len(r.Findings), r.Unchecked)
		}
	}
}
