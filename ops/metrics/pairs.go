package metrics

import (
	"errors"
	"fmt"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/novaquery"
)

// A Pair is a flavor with the ports that its servers have, whose QoS policies guarantee something.
// Its free slots are counted under its own name.
type Pair struct {
	Name, Flavor string
	Ports        []PairedPort
}

// A PairedPort is a port of the servers of a pair. The network and the policy are named by their
// names or UUIDs; without a policy the port has that of its network.
type PairedPort struct{ Network, Policy, VNIC string }

// PairQueries returns Nova's queries for servers of pairs: those of their flavors, with ports that
// are new. For a pair whose flavor, network or policy does not exist, or is not unique, there is no
// query but an error, in the order of the pairs. Segments returns the UUIDs of the segments of a
// network; it is called for settings that request them only.
func PairQueries(
	c *cloud.Cloud, flavors []cloud.Flavor, pairs []Pair, settings request.Settings, zone, defaultZone string,
	segments func(network string) ([]string, error),
) (queries []Query, unknown []error) {
	settings = novaquery.Settings(c, settings)
	for _, pair := range pairs {
		s, err := pair.server(c, flavors)
		if err == nil && settings.RoutedNetworks {
			for i := range s.Ports {
				var reached []string
				if reached, err = segments(s.Ports[i].Network); err != nil {
					break
				}
				s.Segments = append(s.Segments, reached)
			}
		}
		if err != nil {
			unknown = append(unknown, fmt.Errorf("the flavor with ports %s: %w", pair.Name, err))
			continue
		}
		s.Zone, s.DefaultZone = zone, defaultZone
		r, err := novaquery.Request(s, c, settings)
		queries = append(queries, Query{Name: pair.Name, Query: r.Query, Refused: err, Flavor: true})
	}
	return queries, unknown
}

// server returns a server of a pair.
func (pair Pair) server(c *cloud.Cloud, flavors []cloud.Flavor) (s novaquery.Server, err error) {
	if s.Flavor, err = single(flavors, "flavor", pair.Flavor, func(f *cloud.Flavor) (string, string) {
		return "",
			f.Name
	}); err != nil {
		return s, err
	}
	if c.Network == nil {
		return s, errors.New("there are no records of the network service")
	}
	for i, p := range pair.Ports {
		n, err := single(c.Network.Networks, "network", p.Network, func(n *cloud.NetworkOf) (string, string) {
			return n.UUID, n.Name
		})
		if err != nil {
			return s, err
		}
		name := p.Policy
		if name == "" {
			name = n.Policy
		}
		var policy cloud.QoSPolicy
		if name != "" {
			policy, err = single(c.Network.Policies, "QoS policy", name, func(p *cloud.QoSPolicy) (string, string) {
				return p.UUID, p.Name
			})
			if err != nil {
				return s, err
			}
		}
		port, err := novaquery.NewPort(n, policy, p.VNIC, i)
		if err != nil {
			return s, err
		}
		s.Ports = append(s.Ports, port)
	}
	return s, nil
}

// single returns the record with a UUID, or else the only one with a name.
func single[T any](list []T, kind, word string, identify func(*T) (uuid, name string)) (match T, err error) {
	n := 0
	for i := range list {
		switch uuid, name := identify(&list[i]); word {
		case uuid:
			return list[i], nil
		case name:
			match = list[i]
			n++
		}
	}
	switch n {
	case 0:
		return match, fmt.Errorf("there is no %s %q", kind, word)
	case 1:
		return match, nil
	}
	return match, fmt.Errorf("%d records of the kind %s have the name %q; take the UUID of one", n, kind, word)
}
