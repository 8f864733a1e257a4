package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/audit/audittest"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// Names by which a finding could be selected are known, all others are not.
func TestUnknown(t *testing.T) {
	deleted := cloudtest.UUID("deleted")
	c := audittest.Whole().Done()
	c.Placement.Consumers = append(c.Placement.Consumers, cloud.Consumer{UUID: deleted})
	c.Network.Ports[0].Device = cloudtest.UUID("device")
	if list := audit.Unknown(index.New(c), audit.Options{
		Servers: []string{
			"normal", cloudtest.UUID("server normal"), deleted, c.Compute.Migrations[0].UUID, c.Network.Ports[0].Device,
		},
		Ports: []string{"groups", c.Network.Ports[0].UUID}, Hosts: []string{"cn1", "CN1", "nfs"},
	}); len(list) > 0 {
		t.Errorf("unknown are %v", list)
	}
	want := []audit.Subject{
		{Kind: "server", ID: "groups"},
		{Kind: "server", ID: cloudtest.UUID("host cn1")},
		{Kind: "server"},
		{Kind: "port", ID: "normal"},
		{Kind: "port"},
		{Kind: "host", ID: "cn"},
		{Kind: "host"},
	}
	if diff := cmp.Diff(want, audit.Unknown(index.New(c), audit.Options{
		Servers: []string{"groups", cloudtest.UUID("host cn1"), ""}, Ports: []string{"normal", ""}, Hosts: []string{"cn", ""},
	})); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
	for _, p := range audittest.Faults {
		c := audittest.Copied(audittest.Whole().Done())
		if !p.InjectInto(c) {
			continue
		}
		for _, f := range audit.Check(index.New(c), audit.Options{}).Findings {
			for _, s := range f.About {
				var o audit.Options
				switch s.Kind {
				case "server", "consumer", "migration":
					o.Servers = []string{s.ID}
				case "port":
					o.Ports = []string{s.ID}
				case "host":
					o.Hosts = []string{s.ID}
				}
				if list := audit.Unknown(index.New(c), o); len(list) > 0 {
					t.Errorf("%s is about %v, which is unknown", f.Code, list)
				}
			}
		}
	}
}
