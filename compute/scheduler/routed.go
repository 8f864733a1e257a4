package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/placement"
)

// routed are, for each port in a network with segments of its own, the aggregates of the hosts that
// reach one that it can be in. Neutron keeps a provider for each segment, in the aggregate of these
// hosts. The error is a *Failure when there is none.
func (s *Scheduler) routed(ctx context.Context, ports []compute.Port) (all [][]placement.UUID, err error) {
	if !s.rules.Settings.Requests.RoutedNetworks {
		return nil, nil
	}
	for _, p := range ports {
		segments, err := s.network.Segments(ctx, p)
		if err != nil {
			return nil, err
		}
		var reach []placement.UUID
		for _, segment := range segments {
			aggregates, err := s.placement.Aggregates(ctx, segment)
			if err != nil && !errors.Is(err, allocations.ErrNoProvider) {
				return nil, err
			}
			if len(aggregates) == 0 {
				return nil, unreached(p, segment)
			}
			reach = append(reach, aggregates...)
		}
		if len(reach) > 0 {
			all = append(all, reach)
		}
	}
	return all, nil
}

// unreached is the failure of servers with a port in a segment whose hosts placement does not know.
func unreached(p compute.Port, segment compute.ID) *compute.Failure {
	where := fmt.Sprintf("network %s", p.Network)
	if len(p.Addresses) > 0 {
		where = fmt.Sprintf("subnet %s", p.Addresses[0].Subnet)
	}
	return &compute.Failure{
		Code: 500, Message: "No valid host was found. Scheduling failed: Aggregates not found for the " + where,
		Details: fmt.Sprintf("port %s: placement has no provider for segment %s, or that is in no aggregate", p.ID, segment),
	}
}
