package heal

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// boundKeys are what the compute service writes into a binding profile when it binds a port.
var boundKeys = []string{
	"pci_vendor_info", "pci_slot", "physical_network", "card_serial_number", "pf_mac_address", "vf_num",
	"device_mac_address",
}

// ports corrects ports that have nothing to do with an allocation, or no longer have.
func (p *planner) ports(findings []audit.Finding) {
	order, groups := byFirst(findings)
	for _, id := range order {
		port := p.Ports[id]
		// A port whose key an earlier step replaces gets it in today's format there.
		if i := slices.IndexFunc(p.plan.Steps, func(s Step) bool { return s.Request.Path == "/ports/"+id }); i >= 0 {
			for _, f := range groups[id] {
				p.also(i+1, f)
			}
			continue
		}
		changed, profile := object{}, maps.Clone(port.Profile)
		if profile == nil {
			profile = map[string]any{}
		}
		next := port.Allocation
		var checks []Check
		s := p.Servers[port.Device]
		if s != nil {
			checks = append(checks, sameServer(s))
		}
		for _, f := range groups[id] {
			switch f.Code {
			case audit.PortOfDeletedServer:
				checks = append(checks, noServer(port.Device))
				changed["device_id"], changed["device_owner"], changed["binding:host_id"] = "", "", ""
				for _, name := range boundKeys {
					delete(profile, name)
				}
				changed["binding:profile"] = profile
				next = nil
			case audit.KeyOfUnboundPort, audit.KeyWithoutRequest:
				next = nil
			case audit.KeyFormatOld:
				next = map[string]string{}
				for _, g := range port.Request.Groups {
					if provider := index.NamedProvider(port, g); provider != "" {
						next[g.ID] = provider
					}
				}
			}
		}
		if !maps.Equal(next, port.Allocation) {
			changed["binding:profile"] = profile
		}
		if len(next) > 0 {
			profile["allocation"] = key(next)
		}
		p.setPort(Step{
			Codes: codes(groups[id]), About: groups[id][0].About, Why: reasons(groups[id]), Checks: checks,
		}, port, changed)
	}
}

// setPort adds the step that changes a port. It is refused when the port has changed: by its
// revision, or where it has none by reading it before.
func (p *planner) setPort(s Step, port *cloud.Port, changed object) int {
	s.Request = cloud.Request{
		Service: Network, Method: "PUT", Path: "/ports/" + port.UUID, Body: text(object{"port": changed}),
	}
	if port.Revision > 0 {
		s.Request.Headers = map[string]string{"If-Match": fmt.Sprintf("revision_number=%d", port.Revision)}
	} else {
		s.Checks = append(s.Checks, samePort(port))
	}
	return p.add(s)
}
