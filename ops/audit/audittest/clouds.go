package audittest

import (
	"bytes"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
)

// Whole is a cloud with all that the rules are about, in which all services agree.
func Whole() *cloudtest.Builder {
	b := cloudtest.New()
	b.Sharing("nfs")
	for _, host := range []string{"cn1", "cn2", "cn3", "cn6"} {
		b.Host(host, "")
	}
	b.Host("cn4", "nfs")
	b.Host("cn5", "")
	b.Agent("cn1", guarantee.OpenVSwitch, 1000, "net0", "net1")
	b.Agent("cn1", guarantee.SRIOV, 0, "net0")
	b.Agent("cn2", guarantee.OpenVSwitch, 1000, "net0", "net1")
	b.Agent("cn3", guarantee.OpenVSwitch, 0, "net0")
	b.Agent("cn3", guarantee.OVN, 0, "net0")
	b.Aggregate("fast", "cn1", "cn2", "cn3")
	b.Disable("cn3")

	b.Server("normal", "cn1")
	b.Port("groups", "normal", "net0", guarantee.OpenVSwitch, 1000, 10, true)
	b.Port("same", "normal", "net0", guarantee.OpenVSwitch, 3000, 0, true)
	b.Plain("plain", "normal")
	b.Server("older", "cn1")
	b.Port("old", "older", "net0", guarantee.SRIOV, 2000, 0, false)
	b.Server("single", "cn2")
	b.Port("one", "single", "net0", guarantee.OpenVSwitch, 1000, 0, true)
	b.Server("without", "cn1")
	b.Server("lonely", "cn6")
	b.Server("shared", "cn4")
	b.Server("shelved", "cn2")
	b.At("shelved").Status = "SHELVED"
	b.Server("offloaded", "cn2")
	b.Port("waiting", "offloaded", "net1", guarantee.OpenVSwitch, 500, 0, true)
	b.Offloaded("offloaded")
	// Nova offloads a server and leaves its ports as they were, up to the key; unshelving binds
	// them again.
	b.Server("left", "cn2")
	b.Port("stays", "left", "net1", guarantee.OpenVSwitch, 500, 0, true)
	port := b.Network.Ports[len(b.Network.Ports)-1]
	b.Offloaded("left")
	b.Network.Ports[len(b.Network.Ports)-1] = port
	b.Server("failed", "cn2")
	b.Failed("failed")
	b.Server("resized", "cn2")
	b.Port("moved", "resized", "net1", guarantee.OpenVSwitch, 700, 0, true)
	b.Resized("resized", "cn1")
	b.Server("alike", "cn2")
	b.Resized("alike", "cn2")
	b.Server("moving", "cn1")
	b.Port("underway", "moving", "net0", guarantee.OpenVSwitch, 100, 0, true)
	b.Moving("moving", "cn2")
	b.Server("evacuated", "cn2")
	b.Evacuated("evacuated", "cn3")
	return b
}

// Clouds are random clouds in which all services agree.
var Clouds = rapid.Custom(func(t *rapid.T) *cloud.Cloud {
	b := cloudtest.New()
	b.Sharing("nfs")
	hosts := rapid.IntRange(2, 6).Draw(t, "hosts")
	nets := map[string][]string{}
	for i := range hosts {
		host := fmt.Sprintf("cn%d", i)
		disk := "nfs" // which must have a host that uses it
		if i > 0 {
			disk = rapid.SampledFrom([]string{"", "", "nfs"}).Draw(t, "disk")
		}
		b.Host(host, disk)
		if rapid.Bool().Draw(t, "agent") {
			nets[host] = []string{"net0", "net1"}[:rapid.IntRange(1, 2).Draw(t, "nets")]
			b.Agent(host, guarantee.OpenVSwitch, rapid.SampledFrom([]int64{0, 1000}).Draw(t, "packets"), nets[host]...)
		}
	}
	at := rapid.IntRange(0, hosts-1)
	name := func() string { return fmt.Sprintf("cn%d", at.Draw(t, "host")) }
	for i := range rapid.IntRange(0, 2).Draw(t, "aggregates") {
		members := slices.Compact(slices.Sorted(slices.Values([]string{name(), name(), name()})))
		b.Aggregate(fmt.Sprintf("aggregate%d", i), members...)
	}
	if rapid.Bool().Draw(t, "disabled") {
		b.Disable(name())
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "servers") {
		host, server := name(), fmt.Sprintf("server%d", i)
		b.Server(server, host)
		for k := range rapid.IntRange(0, 2).Draw(t, "ports") {
			if len(nets[host]) == 0 {
				b.Plain(fmt.Sprintf("port%d-%d", i, k), server)
				continue
			}
			b.Port(fmt.Sprintf("port%d-%d", i, k), server, rapid.SampledFrom(nets[host]).Draw(t, "net"), guarantee.OpenVSwitch,
				rapid.Int64Range(1, 100000).Draw(t, "kbps"), 0, rapid.Bool().Draw(t, "groups"))
		}
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			b.Resized(server, name())
		case 1:
			b.Offloaded(server)
		case 2:
			b.Failed(server)
		case 3:
			b.At(server).Status = "SHELVED"
		case 4:
			if to := name(); to != host {
				b.Moving(server, to)
			}
		case 5:
			if from := name(); from != host {
				b.Evacuated(server, from)
			}
		}
	}
	return b.Done()
})

// Copied returns records as they come back from a file.
func Copied(c *cloud.Cloud) *cloud.Cloud {
	var file bytes.Buffer
	if err := cloud.Write(&file, c); err != nil {
		panic(err)
	}
	again, err := cloud.Read(&file)
	if err != nil {
		panic(err)
	}
	return again
}
