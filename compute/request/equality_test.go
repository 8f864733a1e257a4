package request_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/placement"
)

// TestAlike: servers that request the same have the same query, whatever the ids of their ports
// are, and each can find its groups in the answer; what differs otherwise is requested separately.
func TestAlike(t *testing.T) {
	port := func(id string, rate int64, groups ...string) request.Port {
		p := request.Port{ID: id, VNIC: "normal", SameSubtree: groups}
		for _, g := range groups {
			p.Groups = append(p.Groups, request.Group{
				ID: g, Resources: map[string]int64{"NET_BW_EGR_KILOBIT_PER_SEC": rate}, Required: []string{"CUSTOM_PHYSNET_0"},
			})
		}
		return p
	}
	query := func(specs map[string]string, ports ...request.Port) (placement.Query, map[string]string) {
		t.Helper()
		r, err := request.New(request.Spec{Flavor: extraspecs.Flavor{VCPUs: 1, MemoryMB: 128, Specs: specs}, Ports: ports},
			request.DefaultSettings(), nil)
		if err != nil {
			t.Fatal(err)
		}
		before := cmp.Diff(r.Query, placement.Query{})
		q, own := r.Alike(r.Query)
		if diff := cmp.Diff(before, cmp.Diff(r.Query, placement.Query{})); diff != "" {
			t.Errorf("the request's own query was changed:\n%s", diff)
		}
		return q, own
	}
	one, own := query(nil, port("p1", 5, "z1", "y1"), port("p2", 7, "x1"))
	two, others := query(nil, port("q1", 5, "a2", "b2"), port("q2", 7, "c2"))
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("the queries differ:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"_port0": "z1", "_port1": "y1", "_port2": "x1"}, own); diff != "" {
		t.Errorf("suffixes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"_port0": "a2", "_port1": "b2", "_port2": "c2"}, others); diff != "" {
		t.Errorf("suffixes (-want +got):\n%s", diff)
	}
	if three, _ := query(nil, port("q1", 5, "a2", "b2"), port("q2", 8, "c2")); cmp.Diff(one, three) == "" {
		t.Error("the queries for other rates are the same")
	}
	q, own := query(map[string]string{"resources_port0:CUSTOM_THING": "1"}, port("p1", 5, "z1"))
	if len(own) > 0 || q.Groups[len(q.Groups)-1].Suffix != "z1" {
		t.Errorf("a flavor that has the suffix _port0 itself: %+v, %v", q, own)
	}
}
