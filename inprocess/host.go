package inprocess

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/berthcloud/berth/agent/driver"
	"github.com/berthcloud/berth/agent/host"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/inventory"
)

// A Host is a compute service from the view of one of its hosts. It may be used concurrently.
type Host struct {
	service *compute.Service
	report  compute.Report
	has     *inventory.Host
}

var _ host.Service = (*Host)(nil)

// NewHost returns a Host with the report r and the inventory has. With a nil inventory another
// process updates placement.
func NewHost(s *compute.Service, r compute.Report, has *inventory.Host) *Host {
	return &Host{s, r, has}
}

// Report is host.Service's. The warnings are the service's to log.
func (h *Host) Report(ctx context.Context, unknown []string) error {
	r := h.report
	for _, id := range unknown {
		r.Unknown = append(r.Unknown, compute.ID(id))
	}
	if err := h.service.Report(ctx, r); err != nil || h.has == nil {
		return told(err, nil)
	}
	if _, err := h.service.KeepTree(ctx, r.Host, *h.has); err != nil {
		return fmt.Errorf("%w: %w", host.ErrNotSynced, told(err, nil))
	}
	return nil
}

// Wanted implements host.Service.
func (h *Host) Wanted(ctx context.Context, known string, wait time.Duration) (host.Wants, error) {
	var wants host.Wants
	_, err := h.service.AwaitWanted(ctx, h.report.Host, wait, func(all []compute.Wanted) bool {
		wants = wantsOf(all)
		return wants.Revision != known
	})
	return wants, told(err, nil)
}

// wantsOf converts the desired state to the host's types. The revision is a digest of the content.
func wantsOf(all []compute.Wanted) host.Wants {
	w := host.Wants{Servers: make([]host.Wanted, len(all))}
	for i, one := range all {
		w.Servers[i] = wantedOf(one)
	}
	text, err := json.Marshal(w.Servers)
	if err != nil {
		panic("inprocess: " + err.Error()) // texts and numbers only
	}
	sum := sha256.Sum256(text)
	w.Revision = hex.EncodeToString(sum[:])
	return w
}

// wantedOf converts a server with its ports. The host gets the providers of a port's allocation,
// by which it chooses the device.
func wantedOf(w compute.Wanted) host.Wanted {
	s := host.Wanted{Deleted: w.Deleted, Event: string(w.Event), Server: driver.Server{
		ID: string(w.Server), Name: w.Name, VCPUs: w.Flavor.VCPUs, MemoryMB: w.Flavor.MemoryMB, DiskGB: w.Flavor.RootGB + w.Flavor.EphemeralGB,
		Image: string(w.Image), Running: w.Running, Boot: string(w.Boot), Hostname: w.Hostname, Metadata: w.Metadata, KeyData: w.KeyData,
		UserData: w.UserData, ConfigDrive: w.ConfigDrive,
	}}
	for _, p := range w.Ports {
		port := driver.Port{ID: string(p.ID), MAC: p.MAC, VNIC: p.VNIC, VIF: p.VIF, PhysicalNetwork: p.PhysicalNetwork, Slot: p.Slot}
		for _, id := range p.Allocation.Providers() {
			port.Providers = append(port.Providers, id.String())
		}
		for _, a := range p.Addresses {
			port.Addresses = append(port.Addresses, driver.Address(a.IP, a.Prefix))
		}
		s.Ports = append(s.Ports, port)
	}
	return s
}

// Done is host.Service's.
func (h *Host) Done(ctx context.Context, results []host.Result) error {
	all := make([]compute.Result, len(results))
	for i, r := range results {
		all[i] = compute.Result{Server: compute.ID(r.Server), Event: compute.ID(r.Event), Error: r.Error, Everywhere: r.Everywhere}
	}
	return told(h.service.Done(ctx, h.report.Host, all), nil)
}
