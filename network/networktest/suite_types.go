package networktest

import (
	"context"
	"reflect"

	"github.com/berthcloud/berth/network"
)

// eachType calls a function for each type of rows with the rows of some samples.
func eachType(c *storeCase, check func(c *storeCase, t rowType, rows []any), fixtures ...*fixture) {
	for i, t := range rowTypes {
		var rows []any
		for _, w := range fixtures {
			rows = append(rows, w.Rows()[i])
		}
		check(c, t, rows)
	}
}

// A rowType is how the suite reads rows of a type.
type rowType struct {
	name string
	// read returns pointers to the rows that match.
	read  func(r network.Reader, where ...network.Match) ([]any, error)
	count func(r network.Reader, where ...network.Match) (int64, error)
	// by are the fields that select rows of the type, with their values in a sample.
	by func(w *fixture) map[network.Field]any
}

func typeOf[T network.Row](by func(w *fixture) map[network.Field]any) rowType {
	return rowType{
		name: reflect.TypeFor[T]().Name(), by: by, count: network.Count[T],
		read: func(r network.Reader, where ...network.Match) (all []any, err error) {
			rows, err := network.Rows[T](r, where...)
			for i := range rows {
				all = append(all, &rows[i])
			}
			return all, err
		},
	}
}

// commonBy are the fields of rows with a Common.
func commonBy(row network.Common, more map[network.Field]any) map[network.Field]any {
	more[network.ByID], more[network.ByProject], more[network.ByName] = row.ID, row.Project, row.Name
	return more
}

type fields = map[network.Field]any

// rowTypes are all types, in the order of fixture.Rows.
var rowTypes = []rowType{
	typeOf[network.PolicyRow](func(w *fixture) fields {
		return commonBy(w.policy.Common, fields{network.ByOpenTo: w.policy.OpenTo()})
	}),
	typeOf[network.RuleRow](func(w *fixture) fields {
		return fields{network.ByID: w.rule.ID, network.ByPolicy: w.rule.Policy}
	}),
	typeOf[network.NetworkRow](func(w *fixture) fields {
		return commonBy(w.network.Common, fields{network.ByPolicy: w.network.Policy, network.ByOpenTo: w.network.OpenTo()})
	}),
	typeOf[network.SegmentRow](func(w *fixture) fields {
		return commonBy(w.segment.Common, fields{
			network.ByNetwork: w.segment.Network, network.ByPhysical: w.segment.PhysicalNetwork,
		})
	}),
	typeOf[network.SubnetRow](func(w *fixture) fields {
		return commonBy(w.subnet.Common, fields{network.ByNetwork: w.subnet.Network, network.BySegment: w.subnet.Segment})
	}),
	typeOf[network.PortRow](func(w *fixture) fields {
		return commonBy(w.port.Common, fields{
			network.ByNetwork: w.port.Network, network.ByMAC: w.port.MAC, network.ByDevice: w.port.DeviceID,
			network.ByPolicy: w.port.Policy,
		})
	}),
	typeOf[network.AddressRow](func(w *fixture) fields {
		return fields{network.ByPort: w.address.Port, network.BySubnet: w.address.Subnet, network.ByIP: w.address.IP}
	}),
	typeOf[network.BindingRow](func(w *fixture) fields {
		return fields{network.ByPort: w.binding.Port, network.ByHost: w.binding.Host, network.BySegment: w.binding.Segment}
	}),
	typeOf[network.TrunkRow](func(w *fixture) fields {
		return commonBy(w.trunk.Common, fields{network.ByPort: w.trunk.Port})
	}),
	typeOf[network.SubportRow](func(w *fixture) fields {
		return fields{network.ByPort: w.subport.Port, network.ByTrunk: w.subport.Trunk}
	}),
	typeOf[network.SecurityGroupRow](func(w *fixture) fields { return commonBy(w.group.Common, fields{}) }),
	typeOf[network.PortGroupRow](func(w *fixture) fields {
		return fields{network.ByPort: w.member.Port, network.ByGroup: w.member.Group}
	}),
	typeOf[network.SecurityRuleRow](func(w *fixture) fields {
		return commonBy(w.allow.Common, fields{network.ByGroup: w.allow.Group, network.ByRemoteGroup: w.allow.RemoteGroup})
	}),
	typeOf[network.AgentRow](func(w *fixture) fields {
		return fields{network.ByID: w.agent.ID, network.ByHost: w.agent.Host, network.ByAgentType: w.agent.Type}
	}),
	typeOf[network.QuotaRow](func(w *fixture) fields {
		return fields{network.ByProject: w.quota.Project, network.ByResource: w.quota.Resource}
	}),
	typeOf[network.IntentRow](func(w *fixture) fields {
		return fields{network.ByID: w.intent.ID, network.ByIntentsAbout: w.intent.About}
	}),
	typeOf[network.SegmentSyncRow](func(w *fixture) fields { return fields{network.BySegment: w.sync.Segment} }),
}

// allFields are what rows of some type are found by.
var allFields = []network.Field{
	network.ByID, network.ByProject, network.ByName, network.ByNetwork, network.BySegment, network.ByPhysical,
	network.ByPort, network.BySubnet, network.ByIP, network.ByMAC, network.ByDevice, network.ByHost, network.ByPolicy,
	network.ByAgentType, network.ByTrunk, network.ByGroup, network.ByRemoteGroup, network.ByResource,
	network.ByIntentsAbout, network.ByOpenTo,
}

// rows returns what matches, as the last store sees it.
func (c *storeCase) rows(t rowType, where ...network.Match) (rows []any, err error) {
	err = c.other.View(context.Background(), func(r network.Reader) error {
		rows, err = t.read(r, where...)
		return err
	})
	return rows, err
}

// count returns how many rows match, as the last store counts them.
func (c *storeCase) count(t rowType, where ...network.Match) (n int64, err error) {
	err = c.other.View(context.Background(), func(r network.Reader) error {
		n, err = t.count(r, where...)
		return err
	})
	return n, err
}
