package servers

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/fakehosts"
	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
)

// TestTraitsThatPlacementDoesNotKnow has a host with the distribution's Placement that reports
// traits of a later os-traits. Placement gets the others, the host gets servers, and the log of the
// compute service names the trait.
func TestTraitsThatPlacementDoesNotKnow(t *testing.T) {
	t.Parallel()
	const unknown = "HW_CPU_OF_A_LATER_RELEASE"
	upstream := inTurn(t, server.StartUpstream(t, server.Options{}).URL())
	places := rest.New(upstream, "1.36")
	defer places.Close()
	// No server has a port: nothing is sent to the network service.
	compute := server.StartCompute(t, upstream, "http://127.0.0.1:1", serve(t, fakehosts.Images()), server.Options{})
	services := &fakehosts.Services{
		Placement: upstream, Compute: compute.URL(), ReportInterval: 100 * time.Millisecond, Inventories: true,
		Reported: []string{"COMPUTE_NET_ATTACH_INTERFACE", "HW_CPU_X86_VMX", unknown},
		Client:   &http.Client{Timeout: time.Minute},
	}
	host := &fakehosts.Host{
		Name: "cn1", ID: "3b36d91e-bf60-460f-b1f8-3322dee5cdfd", VCPUs: 6, MemoryMB: 4096, DiskGB: 50,
	}
	if err := services.Introduce(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	const warning = "the standard traits " + unknown
	for end := time.Now().Add(soon); !strings.Contains(compute.Log(), warning) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond) // the log arrives after the answer
	}
	if text := compute.Log(); strings.Count(text, warning) != 1 || strings.Contains(text, "could not be synced") {
		t.Errorf("the compute service logs this, want one warning of %s and no failure:\n%s", unknown, text)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		services.Run(ctx, host)
	}()
	defer func() { cancel(); <-done }()

	var has struct{ Traits []string }
	places.Read(t, "/resource_providers/"+host.ID+"/traits", &has)
	slices.Sort(has.Traits)
	want := []string{"COMPUTE_NET_ATTACH_INTERFACE", "COMPUTE_NODE", "HW_CPU_X86_VMX"}
	if diff := cmp.Diff(want, has.Traits); diff != "" {
		t.Errorf("the traits of the host in placement (-want +got):\n%s", diff)
	}

	address := rest.New(compute.URL()+"/v2.1", "compute 2.72")
	defer address.Close()
	address.Must(t, 200, "POST", "/flavors", rest.Object{
		"flavor": rest.Object{"id": "c1", "name": "c1", "vcpus": 1, "ram": 64, "disk": 1},
	})
	address.Must(t, 200, "POST", "/flavors/c1/os-extra_specs", rest.Object{
		"extra_specs": rest.Object{"trait:HW_CPU_X86_VMX": "required"},
	})
	var s struct{ Server struct{ ID, Status string } }
	booted := address.Must(t, 202, "POST", "/servers", rest.Object{"server": rest.Object{
		"name": "vm", "flavorRef": "c1", "imageRef": fakehosts.Image, "networks": "none",
	}})
	if err := json.Unmarshal(booted.Body, &s); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		address.Read(t, "/servers/"+s.Server.ID, &s)
		if s.Server.Status != "BUILD" || time.Now().After(end) {
			break
		}
	}
	if s.Server.Status != "ACTIVE" {
		t.Errorf("a server on a host with a trait that placement knows is %s, want ACTIVE", s.Server.Status)
	}
}
