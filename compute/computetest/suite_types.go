package computetest

import (
	"reflect"

	"github.com/berthcloud/berth/compute"
)

// A rowType is how the suite reads rows of a type.
type rowType struct {
	name string
	// read returns pointers to the rows that match.
	read  func(r compute.Reader, where ...compute.Match) ([]any, error)
	count func(r compute.Reader, where ...compute.Match) (int64, error)
	// by are the fields that select rows of the type, with their values in a sample.
	by func(w *fixture) fields
}

type fields = map[compute.Field]any

func typeOf[T compute.Row](by func(w *fixture) fields) rowType {
	return rowType{
		name: reflect.TypeFor[T]().Name(), by: by, count: compute.Count[T],
		read: func(r compute.Reader, where ...compute.Match) (all []any, err error) {
			rows, err := compute.Rows[T](r, where...)
			for i := range rows {
				all = append(all, &rows[i])
			}
			return all, err
		},
	}
}

// rowTypes are all types, in the order of fixture.Rows.
var rowTypes = []rowType{
	typeOf[compute.FlavorRow](func(w *fixture) fields {
		return fields{compute.ByID: w.flavor.ID, compute.ByName: w.flavor.Name}
	}),
	typeOf[compute.FlavorAccessRow](func(w *fixture) fields {
		return fields{compute.ByFlavor: w.access.Flavor, compute.ByProject: w.access.Project}
	}),
	typeOf[compute.KeypairRow](func(w *fixture) fields {
		return fields{compute.ByUser: w.keypair.User, compute.ByName: w.keypair.Name}
	}),
	typeOf[compute.GroupRow](func(w *fixture) fields {
		return fields{compute.ByID: w.group.ID, compute.ByProject: w.group.Project}
	}),
	typeOf[compute.AggregateRow](func(w *fixture) fields {
		return fields{compute.ByID: w.aggregate.ID, compute.ByName: w.aggregate.Name}
	}),
	typeOf[compute.MemberRow](func(w *fixture) fields {
		return fields{compute.ByAggregate: w.member.Aggregate, compute.ByHost: w.member.Host}
	}),
	typeOf[compute.MirrorRow](func(w *fixture) fields {
		return fields{compute.ByAggregate: w.mirror.Aggregate, compute.ByHost: w.mirror.Host}
	}),
	typeOf[compute.ServiceRow](func(w *fixture) fields {
		return fields{compute.ByID: w.service.ID, compute.ByHost: w.service.Host}
	}),
	typeOf[compute.NodeRow](func(w *fixture) fields {
		return fields{compute.ByID: w.node.ID, compute.ByHost: w.node.Host, compute.ByName: w.node.Name}
	}),
	typeOf[compute.QuotaRow](func(w *fixture) fields {
		return fields{compute.ByProject: w.quota.Project, compute.ByUser: w.quota.User, compute.ByResource: w.quota.Resource}
	}),
	typeOf[compute.CounterRow](func(w *fixture) fields { return fields{compute.ByName: w.counter.Name} }),
	typeOf[compute.ServerRow](func(w *fixture) fields {
		return fields{
			compute.ByID: w.server.ID, compute.ByProject: w.server.Project, compute.ByUser: w.server.User,
			compute.ByHost: w.server.Host, compute.ByFlavor: w.server.FlavorID, compute.ByGroup: w.server.Group,
			compute.ByBusyHost: w.server.BusyHost(), compute.ByHostname: w.server.LowerHostname(),
		}
	}),
	typeOf[compute.PortRow](func(w *fixture) fields {
		return fields{compute.ByPort: w.port.Port, compute.ByServer: w.port.Server}
	}),
	typeOf[compute.ActionRow](func(w *fixture) fields {
		return fields{compute.ByID: w.action.ID, compute.ByServer: w.action.Server, compute.ByRequest: w.action.Request}
	}),
	typeOf[compute.EventRow](func(w *fixture) fields {
		return fields{compute.ByID: w.event.ID, compute.ByAction: w.event.Action}
	}),
	typeOf[compute.MigrationRow](func(w *fixture) fields {
		return fields{
			compute.ByID: w.migration.ID, compute.ByServer: w.migration.Server, compute.ByStatus: w.migration.Status,
		}
	}),
	typeOf[compute.OperationRow](func(w *fixture) fields {
		return fields{
			compute.ByID: w.operation.ID, compute.ByServer: w.operation.Server, compute.ByHost: w.operation.ClaimHost(),
			compute.ByReservation: w.operation.Reservation, compute.ByReady: w.operation.Ready(),
		}
	}),
	typeOf[compute.DeletedRow](func(w *fixture) fields {
		return fields{compute.ByID: w.gone.ID, compute.ByProject: w.gone.Project}
	}),
	typeOf[compute.HostedRow](func(w *fixture) fields {
		return fields{compute.ByServer: w.hosted.Server, compute.ByHost: w.hosted.Host}
	}),
}

// allFields are what rows of some type are found by.
var allFields = []compute.Field{
	compute.ByID, compute.ByProject, compute.ByUser, compute.ByName, compute.ByFlavor, compute.ByAggregate, compute.ByHost,
	compute.ByGroup, compute.ByServer, compute.ByPort, compute.ByRequest, compute.ByAction, compute.ByResource,
	compute.ByBusyHost, compute.ByHostname, compute.ByReservation, compute.ByReady, compute.ByStatus,
}
