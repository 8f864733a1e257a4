package cloudapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthcloud/berth/ops/cloud"
)

// readNetwork reads the records of the network service. An extension that the service does not have
// is an empty list, or an absent field. What it says of trunks that it may not read is added to the
// sentences of r.
func (c *Client) readNetwork(ctx context.Context, r *cloud.Cloud, m *meter) (*cloud.Network, error) {
	s, err := c.network()
	if err != nil {
		return nil, err
	}
	records := &cloud.Network{}
	done := m.begin("lists of the network service", 5)
	listed, hidden := map[string]bool{}, 0
	onTrunk := map[string][]*cloud.TrunkPort{} // by port
	for _, list := range []struct {
		path string
		read func() error
	}{
		{"agents", func() error {
			return pages(ctx, s, "agents", nil, "agents", func(a *cloud.Agent) string {
				records.Agents = append(records.Agents, *a)
				return a.UUID
			})
		}},
		{"trunks", func() error {
			trunks, err := readTrunks(ctx, s)
			var refused *refusal
			if errors.As(err, &refused) && refused.status != http.StatusNotFound {
				r.Unread = append(r.Unread, sentence(err.Error()))
				return nil
			}
			records.Trunks = trunks
			for i := range trunks {
				t := &trunks[i]
				onTrunk[t.Parent.UUID] = append(onTrunk[t.Parent.UUID], &t.Parent)
				for k := range t.Subports {
					onTrunk[t.Subports[k].UUID] = append(onTrunk[t.Subports[k].UUID], &t.Subports[k])
				}
			}
			return err
		}},
		{"ports", func() error {
			return pages(ctx, s, "ports", nil, "ports", func(p *port) string {
				for _, trunkPort := range onTrunk[p.UUID] {
					trunkPort.Name, trunkPort.Policy, trunkPort.NetworkPolicy = p.Name, p.Policy, p.NetworkPolicy
				}
				if p.Binding == nil {
					hidden++
				}
				if p.Device != "" || len(p.Profile.allocation) > 0 {
					records.Ports = append(records.Ports, p.record())
				}
				return p.UUID
			})
		}},
		{"networks", func() error {
			return pages(ctx, s, "networks", nil, "networks", func(n *network) string {
				records.Networks = append(records.Networks, n.record())
				return n.UUID
			})
		}},
		{"qos/policies", func() error { return readPolicies(ctx, s, records) }},
	} {
		err := list.read()
		if err != nil && (list.path == "ports" || list.path == "networks" || !isStatus(err, http.StatusNotFound)) {
			return nil, err
		}
		listed[list.path] = err == nil
		done()
	}
	// Who may not see agents gets an empty list of them, and of ports and networks those of a
	// project.
	if listed["agents"] && len(records.Agents) == 0 && c.login().MaySeePart() {
		return nil, &refusal{"the network service shows this user no agents, " +
			"and maybe the ports and networks of one project only; take an administrator", http.StatusForbidden}
	}
	if hidden > 0 {
		return nil, &refusal{
			"the network service does not show this user where ports are bound; take an administrator", http.StatusForbidden,
		}
	}
	return records, nil
}

// readTrunks reads the trunks. There are none, with the error, where the service does not have the
// extension.
func readTrunks(ctx context.Context, s *gophercloud.ServiceClient) ([]cloud.Trunk, error) {
	all := []cloud.Trunk{}
	err := pages(ctx, s, "trunks", nil, "trunks", func(t *struct {
		cloud.Trunk
		Parent string `json:"port_id"`
	},
	) string {
		t.Trunk.Parent = cloud.TrunkPort{UUID: t.Parent}
		all = append(all, t.Trunk)
		return t.UUID
	})
	return all, err
}

func readPolicies(ctx context.Context, s *gophercloud.ServiceClient, records *cloud.Network) error {
	return pages(ctx, s, "qos/policies", nil, "policies", func(p *cloud.QoSPolicy) string {
		keepGuarantees(p)
		records.Policies = append(records.Policies, *p)
		return p.UUID
	})
}

// keepGuarantees leaves of the rules of a policy those that guarantee something.
func keepGuarantees(p *cloud.QoSPolicy) {
	p.Rules = slices.DeleteFunc(p.Rules, func(r cloud.QoSRule) bool { return !strings.HasPrefix(r.Type, "minimum_") })
}

// A port is a port as the API has it.
type port struct {
	cloud.Port
	Binding  *string  `json:"binding:host_id"`
	Profile  profile  `json:"binding:profile"`
	Request  *request `json:"resource_request"`
	FixedIPs []struct {
		Subnet string `json:"subnet_id"`
	} `json:"fixed_ips"`
}

func (p *port) record() cloud.Port {
	r := p.Port
	if p.Binding != nil {
		r.Host = *p.Binding
	}
	r.Allocation, r.Profile, r.Request = p.Profile.allocation, p.Profile.rest, nil
	if len(p.FixedIPs) > 0 {
		r.Subnet = p.FixedIPs[0].Subnet
	}
	if p.Request != nil {
		r.Request = &p.Request.PortRequest
	}
	return r
}

// A profile is a binding profile: its key allocation, and the others, nil for none.
type profile struct {
	allocation allocation
	rest       map[string]any
}

func (p *profile) UnmarshalJSON(text []byte) error {
	var binding struct{ Allocation allocation }
	if err := json.Unmarshal(text, &binding); err != nil {
		return err
	}
	p.allocation = binding.Allocation
	if err := json.Unmarshal(text, &p.rest); err != nil {
		return err
	}
	delete(p.rest, "allocation")
	if len(p.rest) == 0 {
		p.rest = nil
	}
	return nil
}

// An allocation is the key of a binding profile: providers by the group, or one provider, as
// Neutron had it before Yoga.
type allocation map[string]string

func (a *allocation) UnmarshalJSON(text []byte) error {
	var provider string
	if json.Unmarshal(text, &provider) == nil {
		*a = allocation{"": provider}
		return nil
	}
	return json.Unmarshal(text, (*map[string]string)(a))
}

// A request is a port's request, with groups or, as Neutron had it before Yoga, with one.
type request struct{ cloud.PortRequest }

func (r *request) UnmarshalJSON(text []byte) error {
	var old cloud.PortGroup
	if err := json.Unmarshal(text, &old); err != nil {
		return fmt.Errorf("resource_request: %w", err)
	}
	if old.Resources != nil {
		r.Groups = []cloud.PortGroup{old}
		return nil
	}
	return json.Unmarshal(text, &r.PortRequest)
}

// A network is a network as the API has it.
type network struct {
	cloud.NetworkOf
	Segments []struct {
		Physical string `json:"provider:physical_network"`
	} `json:"segments"`
}

func (n *network) record() cloud.NetworkOf {
	r := n.NetworkOf
	for _, s := range n.Segments {
		if s.Physical != "" {
			r.Segments = append(r.Segments, s.Physical)
		}
	}
	return r
}
