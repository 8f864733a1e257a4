package servers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/sweep"
)

// A segmented is a network service that keeps segments of routed networks in placement and compute,
// with two hosts on a physical network.
type segmented struct {
	*testing.T
	places, nets, computes *rest.Client // past the ways
	networking             *server.Server
	ways                   *ways
	halted                 *halt // the next halt, nil after it
	killed                 bool
}

func newSegmented(t *testing.T) *segmented {
	t.Helper()
	placement := server.StartBerth(t, server.Options{})
	nowhere := serve(t, http.NotFoundHandler())
	compute := server.StartCompute(t, placement.URL(), nowhere, nowhere, server.Options{})
	s := &segmented{T: t, ways: &ways{}}
	s.networking = server.StartNetwork(t, s.ways.way(t, "network", "placement", placement.URL()).url(),
		server.Options{Config: map[string]map[string]string{
			"DEFAULT":       {"service_plugins": "segments,placement"},
			"ml2":           {"extension_drivers": "port_security"},
			"ml2_type_vlan": {"network_vlan_ranges": "physnet0"},
			"nova": {
				"auth_type":         "none",
				"endpoint_override": s.ways.way(t, "network", "compute", compute.URL()).url() + "/v2.1",
			},
		}})
	s.places, s.nets = rest.New(placement.URL(), "1.36"), rest.New(s.networking.URL(), "")
	s.computes = rest.New(compute.URL()+"/v2.1", "compute 2.72")
	hosts := &fakehosts.Services{
		Placement: placement.URL(), Network: s.networking.URL(), Compute: compute.URL(),
		Client: &http.Client{Timeout: time.Minute}, Again: 20 * time.Millisecond,
	}
	for i := range 2 {
		h := &fakehosts.Host{
			Name: fmt.Sprint("host", i), ID: rest.UUID("ab", i), VCPUs: 64, MemoryMB: 65536, DiskGB: 1000,
			Bridges: map[string]int{"physnet0": room},
		}
		if err := hosts.Introduce(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, c := range []*rest.Client{s.places, s.nets, s.computes} {
			c.Close()
		}
	})
	return s
}

// make creates an object of the network service and returns its id.
func (s *segmented) make(path, kind string, object rest.Object) string {
	s.Helper()
	return (&cloud{T: s.T}).makeAt(s.nets, path, kind, object)
}

// state says what placement and compute have of a segment.
func (s *segmented) state(segment string) string {
	s.Helper()
	var words []string
	var all struct {
		Inventories map[string]struct{ Total, Reserved int }
	}
	var joined struct{ Aggregates []string }
	read := func(part string, v any) (exists bool) { // the provider may be removed between two requests
		s.Helper()
		a, err := s.places.Do("GET", "/resource_providers/"+segment+part, nil)
		if err != nil {
			s.Fatal(err)
		}
		if a.Status == http.StatusNotFound {
			return false
		}
		if err := json.Unmarshal(a.Body, v); err != nil || a.Status != http.StatusOK {
			s.Fatalf("placement answered %d %s, %v", a.Status, a.Body, err)
		}
		return true
	}
	if read("/inventories", &all) && read("/aggregates", &joined) {
		words = append(words, fmt.Sprintf("%d-%d", all.Inventories["IPV4_ADDRESS"].Total,
			all.Inventories["IPV4_ADDRESS"].Reserved))
	}
	var aggregates struct {
		Aggregates []struct {
			Name, UUID string
			Hosts      []string
		}
	}
	s.computes.Read(s, "/os-aggregates", &aggregates)
	for _, one := range aggregates.Aggregates {
		if one.Name != "Neutron segment id "+segment {
			words = append(words, "another aggregate "+one.Name)
			continue
		}
		slices.Sort(one.Hosts)
		words = append(words, one.Hosts...)
		if slices.Contains(joined.Aggregates, one.UUID) {
			words = append(words, "joined")
		}
	}
	return strings.Join(words, " ")
}

// becomes waits until placement and compute have of a segment what is wanted. When the service
// comes to the halt meanwhile, it is killed and starts again.
func (s *segmented) becomes(segment, want string) {
	s.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(soon)
	for {
		got := s.state(segment)
		if got == want {
			return
		}
		var came chan string
		if s.halted != nil {
			came = s.halted.came
		}
		select {
		case <-tick.C:
		case <-came:
			s.networking.Kill()
			s.halted.goOn <- false
			s.ways.haltNever()
			s.networking.Restart()
			s.halted, s.killed = nil, true
		case <-end:
			s.Fatalf("placement and compute have %q of the segment, want %q", got, want)
		}
	}
}

// TestKilledSegmentSyncs kills the network service at each of its requests to placement and compute
// for a segment of a routed network, before the request arrives and before the answer returns: a
// subnet is created, a port reserves an address and is deleted, and so is the network. After a
// restart the service finishes what it has begun. A sample has every fourth request.
func TestKilledSegmentSyncs(t *testing.T) {
	t.Parallel()
	s := newSegmented(t)
	first, step := sweep.Every(t, 4)
	for number := 1 + first; ; number += step {
		for _, after := range []bool{false, true} {
			network := s.make("/v2.0/networks", "network", rest.Object{
				"provider:network_type": "vlan", "provider:physical_network": "physnet0", "provider:segmentation_id": 7,
			})
			var segments struct{ Segments []struct{ ID string } }
			s.nets.Read(s, "/v2.0/segments?network_id="+network, &segments)
			segment := segments.Segments[0].ID
			s.halted, s.killed = s.ways.haltAt("", number, after), false
			subnet := s.make("/v2.0/subnets", "subnet", rest.Object{
				"network_id": network, "segment_id": segment, "ip_version": 4, "cidr": "10.9.0.0/28",
			})
			s.becomes(segment, "14-2 host0 host1 joined")
			port := s.make("/v2.0/ports", "port", rest.Object{
				"network_id": network, "fixed_ips": []rest.Object{{"subnet_id": subnet}},
			})
			s.becomes(segment, "14-3 host0 host1 joined")
			s.nets.Must(s, 200, "DELETE", "/v2.0/ports/"+port, nil)
			s.becomes(segment, "14-2 host0 host1 joined")
			s.nets.Must(s, 200, "DELETE", "/v2.0/networks/"+network, nil)
			s.becomes(segment, "")
			if s.halted != nil {
				s.ways.haltNever()
			}
			if !s.killed && number == 1+first {
				t.Error("the network service has sent too few requests")
			}
		}
		if !s.killed {
			break
		}
	}
}
