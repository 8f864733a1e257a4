package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
)

func noAggregate(number int64) error {
	return compute.NotFound("AggregateNotFound", "Aggregate %d could not be found.", number)
}

// Aggregates returns all host aggregates in order of creation.
func (s *Service) Aggregates(ctx context.Context) (all []compute.Aggregate, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		all, err = compute.ReadAggregates(r)
		return err
	})
	return all, err
}

// Aggregate returns the host aggregate of a number. Fault: AggregateNotFound.
func (s *Service) Aggregate(ctx context.Context, number int64) (a compute.Aggregate, err error) {
	err = s.db.View(ctx, func(r compute.Reader) error {
		a, err = aggregate(r, number)
		return err
	})
	return a, err
}

func aggregate(r compute.Reader, number int64) (compute.Aggregate, error) {
	all, err := compute.ReadAggregates(r)
	if err != nil {
		return compute.Aggregate{}, err
	}
	if i := slices.IndexFunc(all, func(a compute.Aggregate) bool { return a.Number == number }); i >= 0 {
		return all[i], nil
	}
	return compute.Aggregate{}, noAggregate(number)
}

// CreateAggregate makes a host aggregate, which is an availability zone unless that is
// empty. Fault: AggregateNameExists.
func (s *Service) CreateAggregate(ctx context.Context, name, zone string) (a compute.Aggregate, err error) {
	err = s.db.Update(ctx, func(tx *compute.Tx) error {
		a = compute.Aggregate{
			AggregateRow: compute.AggregateRow{ID: compute.NewID(), Name: strings.TrimSpace(name), CreatedAt: tx.At},
		}
		if zone = strings.TrimSpace(zone); zone != "" {
			a.Metadata = map[string]string{compute.ZoneKey: zone}
		}
		if a.Number, err = tx.NextNumber("aggregates"); err != nil {
			return err
		}
		return named(tx.Insert(&a.AggregateRow), a.Name)
	})
	return a, err
}

// named says that an aggregate's name is taken.
func named(err error, name string) error {
	if errors.Is(err, compute.ErrTaken) {
		return compute.Conflict("AggregateNameExists", "Aggregate %s already exists.", name)
	}
	return err
}

// changeAggregate changes a host aggregate.
func (s *Service) changeAggregate(
	ctx context.Context, number int64, fn func(*compute.Tx, *compute.Aggregate) error,
) (a compute.Aggregate, err error) {
	err = s.db.Update(ctx, func(tx *compute.Tx) error {
		if a, err = aggregate(tx, number); err != nil {
			return err
		}
		a.Metadata = maps.Clone(a.Metadata)
		if err := fn(tx, &a); err != nil {
			return err
		}
		a.UpdatedAt = tx.At
		return named(tx.Replace(&a.AggregateRow), a.Name)
	})
	return a, err
}

// UpdateAggregate changes the name or the availability zone of a host aggregate; nil changes
// nothing. Faults: AggregateNotFound, AggregateNameExists, InvalidAggregateActionUpdate.
func (s *Service) UpdateAggregate(ctx context.Context, number int64, name, zone *string) (compute.Aggregate, error) {
	return s.changeAggregate(ctx, number, func(tx *compute.Tx, a *compute.Aggregate) error {
		if name != nil {
			a.Name = strings.TrimSpace(*name)
		}
		if zone == nil {
			return nil
		}
		if err := rezone(tx, *a, *zone, a.Hosts, true, "InvalidAggregateActionUpdate", "update aggregate"); err != nil {
			return err
		}
		setMetadata(a, map[string]*string{compute.ZoneKey: zone})
		return nil
	})
}

// SetAggregateMetadata changes metadata of a host aggregate; nil removes a key. Faults:
// AggregateNotFound, InvalidAggregateActionUpdateMeta.
func (s *Service) SetAggregateMetadata(
	ctx context.Context, number int64, metadata map[string]*string,
) (compute.Aggregate, error) {
	return s.changeAggregate(ctx, number, func(tx *compute.Tx, a *compute.Aggregate) error {
		if zone, ok := metadata[compute.ZoneKey]; ok {
			to := ""
			if zone != nil {
				to = *zone
			}
			if err := rezone(tx, *a, to, a.Hosts, true, "InvalidAggregateActionUpdateMeta",
				"update metadata of aggregate"); err != nil {
				return err
			}
		}
		setMetadata(a, metadata)
		return nil
	})
}

func setMetadata(a *compute.Aggregate, metadata map[string]*string) {
	if a.Metadata == nil {
		a.Metadata = map[string]string{}
	}
	for key, v := range metadata {
		if v == nil {
			delete(a.Metadata, key)
		} else {
			a.Metadata[key] = *v
		}
	}
}

// rezone refuses a zone for hosts of an aggregate: that has no name, that is another
// one than they are in already, or, when it is the aggregate's that changes, while
// they have servers.
func rezone(
	tx *compute.Tx, a compute.Aggregate, zone string, hosts []string, changes bool, code fault.Code, what string,
) error {
	refuse := func(format string, args ...any) error {
		return compute.Invalid(code, "Cannot %s %d. Reason: %s.", what, a.Number, fmt.Sprintf(format, args...))
	}
	if zone == "" {
		return refuse("Aggregate %s does not support empty named availability zone", a.Name)
	}
	all, err := compute.ReadAggregates(tx)
	if err != nil {
		return err
	}
	var others []string
	for _, o := range all {
		with := slices.ContainsFunc(o.Hosts, func(h string) bool { return slices.Contains(hosts, h) })
		if with && o.ID != a.ID && o.Zone() != "" && o.Zone() != zone {
			others = append(others, "'"+o.Zone()+"'")
		}
	}
	if len(others) > 0 {
		return refuse("One or more hosts already in availability zone(s) [%s]", strings.Join(others, ", "))
	}
	if !changes || a.Zone() == zone {
		return nil
	}
	servers, err := compute.Count[compute.ServerRow](tx, compute.Where(compute.ByHost, hosts...))
	if err == nil && servers > 0 {
		err = refuse("One or more hosts contain instances in this zone")
	}
	return err
}

// DeleteAggregate removes a host aggregate that has no hosts. Faults:
// AggregateNotFound, InvalidAggregateActionDelete.
func (s *Service) DeleteAggregate(ctx context.Context, number int64) error {
	return s.db.Update(ctx, func(tx *compute.Tx) error {
		a, err := aggregate(tx, number)
		if err == nil && len(a.Hosts) > 0 {
			err = compute.Invalid("InvalidAggregateActionDelete",
				"Cannot remove host from aggregate %d. Reason: Host aggregate is not empty.", number)
		}
		if err != nil {
			return err
		}
		_, err = tx.Remove(&compute.AggregateRow{}, compute.Where(compute.ByID, a.ID))
		return err
	})
}

// AddHost adds a host to an aggregate, and to the one in placement: at once, or later when that
// fails. Faults: ComputeHostNotFound, AggregateNotFound, AggregateHostExists,
// InvalidAggregateActionAdd, which is a conflict here.
func (s *Service) AddHost(ctx context.Context, number int64, host string) (compute.Aggregate, error) {
	return s.changeHosts(ctx, number, host, func(tx *compute.Tx, a *compute.Aggregate) error {
		if a.Zone() != "" {
			err := rezone(tx, *a, a.Zone(), []string{host}, false, "InvalidAggregateActionAdd", "add host to aggregate")
			if f, ok := fault.Find(err); ok {
				err = compute.Conflict("InvalidAggregateActionAdd", "%s", f.Error())
			}
			if err != nil {
				return err
			}
		}
		if slices.Contains(a.Hosts, host) {
			return compute.Conflict("AggregateHostExists", "Aggregate %d already has host %s.", number, host)
		}
		a.Hosts = append(a.Hosts, host)
		slices.Sort(a.Hosts)
		if err := tx.Insert(&compute.MemberRow{Aggregate: a.ID, Host: host}); err != nil {
			return err
		}
		return tx.MirrorMembership(a.ID, host, true)
	})
}

// RemoveHost removes a host from an aggregate, and from the one in placement: at once, or later
// when that fails. Faults: ComputeHostNotFound, AggregateNotFound, AggregateHostNotFound.
func (s *Service) RemoveHost(ctx context.Context, number int64, host string) (compute.Aggregate, error) {
	return s.changeHosts(ctx, number, host, func(tx *compute.Tx, a *compute.Aggregate) error {
		n, err := tx.Remove(&compute.MemberRow{}, compute.Where(compute.ByAggregate, a.ID),
			compute.Where(compute.ByHost, host))
		if err == nil && n == 0 {
			err = compute.NotFound("AggregateHostNotFound", "Aggregate %d has no host %s.", number, host)
		}
		if err != nil {
			return err
		}
		a.Hosts = slices.DeleteFunc(a.Hosts, func(h string) bool { return h == host })
		return tx.MirrorMembership(a.ID, host, false)
	})
}

// changeHosts changes the hosts of an aggregate; the host must be one of compute's.
func (s *Service) changeHosts(
	ctx context.Context, number int64, host string, fn func(*compute.Tx, *compute.Aggregate) error,
) (a compute.Aggregate, err error) {
	err = s.db.Update(ctx, func(tx *compute.Tx) error {
		if services, err := compute.Rows[compute.ServiceRow](tx, compute.Where(compute.ByHost, host)); err != nil ||
			len(services) == 0 {
			return cmp.Or(err, compute.NotFound("ComputeHostNotFound", "Compute host %s could not be found.", host))
		}
		if a, err = aggregate(tx, number); err != nil {
			return err
		}
		return fn(tx, &a)
	})
	if err == nil {
		s.mirrorNow(ctx, a.ID, host)
	}
	return a, err
}
