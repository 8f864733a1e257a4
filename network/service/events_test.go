package service_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/internal/logtest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/network/agents"
	"github.com/berthcloud/berth/network/ports"
	"github.com/berthcloud/berth/network/service"
	"github.com/berthcloud/berth/network/topology"
)

// An eventRecorder is a compute service that keeps its events.
type eventRecorder struct{ events []network.ServerEvent }

func (e *eventRecorder) SendEvents(_ context.Context, events []network.ServerEvent) error {
	e.events = append(e.events, events...)
	return nil
}

// Compute gets events about its servers' ports: when they are plugged in or out, however that
// comes about, changed or removed; of both or one of the two.
func TestComputeGetsEventsOfPorts(t *testing.T) {
	for name, selection := range map[string]network.Events{
		"All": {Status: true, Data: true}, "Status": {Status: true}, "Data": {Data: true}, "Nothing": {},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { sendEvents(t, selection) }) })
	}
}

func sendEvents(t *testing.T, selection network.Events) {
	ctx, heard := t.Context(), &eventRecorder{}
	set := network.DefaultSettings()
	set.Events, set.Drivers = selection, guarantee.Drivers()
	s := service.New(newStore(t), set, service.Peers{Compute: heard, Log: logtest.Logger()})
	running, stop := context.WithCancel(ctx)
	defer stop()
	go s.RunEvents(running)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	nets, err := s.CreateNetworks(ctx, []topology.NetworkSpec{{
		NetworkRow: network.NetworkRow{Common: network.Common{Project: "p"}, AdminStateUp: true},
		Segments:   []topology.SegmentSpec{{Type: network.Flat, PhysicalNetwork: "physnet0", SegmentationID: -1}},
	}})
	must(err)
	for _, host := range []string{"h1", "h2"} {
		_, _, err = s.Beat(ctx, agents.Heartbeat{
			Type: guarantee.OpenVSwitch.AgentType, Host: host,
			Configurations: []byte(`{"bridge_mappings": {"physnet0": "br-ex"}}`),
		})
		must(err)
	}
	boot := func(vnic, owner, host string) network.ID {
		created, err := s.CreatePorts(ctx, []ports.Spec{{
			PortRow: network.PortRow{
				Common: network.Common{Project: "p"}, Network: nets[0].ID, DeviceOwner: owner,
				DeviceID: "server",
			}, VNIC: vnic, Host: host,
			AnyIPs: true, AnyGroups: true, AnyPortSecurity: true,
		}})
		must(err)
		return created[0].ID
	}
	port, whole, nobodys := boot("normal", "compute:nova", "h1"), boot("direct-physical", "compute:nova",
		""), boot("normal", "network:dhcp", "h1")
	on := func(id network.ID, host string) func() error {
		return func() error {
			_, err := s.UpdatePort(ctx, id, func(p *ports.Spec) error {
				p.Host, p.Rebind = host, true
				return nil
			})
			return err
		}
	}
	wired := func(id network.ID, up bool) func() error {
		return func() error { return s.SetPortsUp(ctx, "h1", []network.ID{id}, up) }
	}
	const plugged, unplugged, changed, deleted = "network-vif-plugged", "network-vif-unplugged", "network-changed",
		"network-vif-deleted"
	for _, act := range []struct {
		what   string
		do     func() error
		id     network.ID
		status string
		data   string
	}{
		{"plugged in", wired(port, true), port, plugged, ""},
		{"plugged in again", wired(port, true), port, "", ""},
		{"unplugged", wired(port, false), port, unplugged, ""},
		{"plugged in once more", wired(port, true), port, plugged, ""},
		{"bound elsewhere", on(port, "h2"), port, unplugged, changed},
		{"bound back", on(port, "h1"), port, "", changed},
		{"plugged in there", wired(port, true), port, plugged, ""},
		{"bound there too", func() error {
			_, err := s.CreateBinding(ctx, port, ports.BindingSpec{Host: "h2", VNIC: "normal"})
			return err
		}, port, "", ""},
		{"activated there", func() error {
			_, err := s.ActivateBinding(ctx, port, "h2")
			return err
		}, port, unplugged, ""},
		{"a whole device is bound", on(whole, "h1"), whole, plugged, changed},
		{"it is unbound", on(whole, ""), whole, unplugged, changed},
		{"nobody's is plugged in", wired(nobodys, true), nobodys, "", ""},
		{"removed", func() error { return s.DeletePort(ctx, port) }, port, "", deleted},
		{"nobody's is removed", func() error { return s.DeletePort(ctx, nobodys) }, nobodys, "", ""},
	} {
		heard.events = nil
		must(act.do())
		synctest.Wait()
		var want []network.ServerEvent
		if act.status != "" && selection.Status {
			want = append(want,
				network.ServerEvent{Name: act.status, Server: "server", Tag: string(act.id), Status: "completed"})
		}
		if act.data != "" && selection.Data {
			e := network.ServerEvent{Name: act.data, Server: "server", Tag: string(act.id)}
			if act.data == deleted {
				e.Status = "completed"
			}
			want = append(want, e)
		}
		if diff := cmp.Diff(want, heard.events); diff != "" {
			t.Errorf("%s: compute hears (-want +got)\n%s", act.what, diff)
		}
	}
}
