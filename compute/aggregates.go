package compute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
)

// An Aggregate is a host aggregate with its hosts.
type Aggregate struct {
	AggregateRow
	Hosts []string // sorted
}

// zoneKey is the metadata that makes an aggregate an availability zone.
const zoneKey = "availability_zone"

// Zone returns the availability zone that the aggregate is, "" for none.
func (a Aggregate) Zone() string { return a.Metadata[zoneKey] }

func noAggregate(number int64) error {
	return notFound("AggregateNotFound", "Aggregate %d could not be found.", number)
}

// Aggregates returns all host aggregates in order of creation.
func (s *Service) Aggregates(ctx context.Context) (all []Aggregate, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		all, err = aggregates(r)
		return err
	})
	return all, err
}

// Aggregate returns the host aggregate of a number. Fault: AggregateNotFound.
func (s *Service) Aggregate(ctx context.Context, number int64) (a Aggregate, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		a, err = aggregate(r, number)
		return err
	})
	return a, err
}

func aggregates(r Reader) ([]Aggregate, error) {
	rows, err := Rows[AggregateRow](r)
	if err != nil {
		return nil, err
	}
	members, err := Rows[MemberRow](r)
	all := make([]Aggregate, len(rows))
	for i, row := range rows {
		all[i].AggregateRow = row
		for _, m := range members {
			if m.Aggregate == row.ID {
				all[i].Hosts = append(all[i].Hosts, m.Host)
			}
		}
	}
	slices.SortFunc(all, func(a, b Aggregate) int { return cmp.Compare(a.Number, b.Number) })
	return all, err
}

func aggregate(r Reader, number int64) (Aggregate, error) {
	all, err := aggregates(r)
	if err != nil {
		return Aggregate{}, err
	}
	if i := slices.IndexFunc(all, func(a Aggregate) bool { return a.Number == number }); i >= 0 {
		return all[i], nil
	}
	return Aggregate{}, noAggregate(number)
}

// CreateAggregate makes a host aggregate, which is an availability zone unless that is
// empty. Fault: AggregateNameExists.
func (s *Service) CreateAggregate(ctx context.Context, name, zone string) (a Aggregate, err error) {
	err = s.update(ctx, func(c *change) error {
		a = Aggregate{AggregateRow: AggregateRow{ID: NewID(), Name: strings.TrimSpace(name), CreatedAt: c.At}}
		if zone = strings.TrimSpace(zone); zone != "" {
			a.Metadata = map[string]string{zoneKey: zone}
		}
		if a.Number, err = c.NextNumber("aggregates"); err != nil {
			return err
		}
		return named(c.Insert(&a.AggregateRow), a.Name)
	})
	return a, err
}

// named says that an aggregate's name is taken.
func named(err error, name string) error {
	if errors.Is(err, ErrTaken) {
		return conflict("AggregateNameExists", "Aggregate %s already exists.", name)
	}
	return err
}

// changeAggregate changes a host aggregate.
func (s *Service) changeAggregate(ctx context.Context, number int64, fn func(*change, *Aggregate) error) (a Aggregate, err error) {
	err = s.update(ctx, func(c *change) error {
		if a, err = aggregate(c, number); err != nil {
			return err
		}
		a.Metadata = maps.Clone(a.Metadata)
		if err := fn(c, &a); err != nil {
			return err
		}
		a.UpdatedAt = c.At
		return named(c.Replace(&a.AggregateRow), a.Name)
	})
	return a, err
}

// UpdateAggregate changes the name or the availability zone of a host aggregate; nil changes
// nothing. Faults: AggregateNotFound, AggregateNameExists, InvalidAggregateActionUpdate.
func (s *Service) UpdateAggregate(ctx context.Context, number int64, name, zone *string) (Aggregate, error) {
	return s.changeAggregate(ctx, number, func(c *change, a *Aggregate) error {
		if name != nil {
			a.Name = strings.TrimSpace(*name)
		}
		if zone == nil {
			return nil
		}
		if err := c.rezone(*a, *zone, a.Hosts, true, "InvalidAggregateActionUpdate", "update aggregate"); err != nil {
			return err
		}
		a.set(map[string]*string{zoneKey: zone})
		return nil
	})
}

// SetAggregateMetadata changes metadata of a host aggregate; nil removes a key. Faults:
// AggregateNotFound, InvalidAggregateActionUpdateMeta.
func (s *Service) SetAggregateMetadata(ctx context.Context, number int64, metadata map[string]*string) (Aggregate, error) {
	return s.changeAggregate(ctx, number, func(c *change, a *Aggregate) error {
		if zone, ok := metadata[zoneKey]; ok {
			to := ""
			if zone != nil {
				to = *zone
			}
			if err := c.rezone(*a, to, a.Hosts, true, "InvalidAggregateActionUpdateMeta", "update metadata of aggregate"); err != nil {
				return err
			}
		}
		a.set(metadata)
		return nil
	})
}

func (a *Aggregate) set(metadata map[string]*string) {
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
func (c *change) rezone(a Aggregate, zone string, hosts []string, changes bool, code fault.Code, what string) error {
	refuse := func(format string, args ...any) error {
		return invalid(code, "Cannot %s %d. Reason: %s.", what, a.Number, fmt.Sprintf(format, args...))
	}
	if zone == "" {
		return refuse("Aggregate %s does not support empty named availability zone", a.Name)
	}
	all, err := aggregates(c)
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
	servers, err := Count[ServerRow](c, Where(ByHost, hosts...))
	if err == nil && servers > 0 {
		err = refuse("One or more hosts contain instances in this zone")
	}
	return err
}

// DeleteAggregate removes a host aggregate that has no hosts. Faults:
// AggregateNotFound, InvalidAggregateActionDelete.
func (s *Service) DeleteAggregate(ctx context.Context, number int64) error {
	return s.update(ctx, func(c *change) error {
		a, err := aggregate(c, number)
		if err == nil && len(a.Hosts) > 0 {
			err = invalid("InvalidAggregateActionDelete", "Cannot remove host from aggregate %d. Reason: Host aggregate is not empty.", number)
		}
		if err != nil {
			return err
		}
		_, err = c.Remove(&AggregateRow{}, Where(ByID, a.ID))
		return err
	})
}

// AddHost adds a host to an aggregate, and to the one in placement: at once, or later when that
// fails. Faults: ComputeHostNotFound, AggregateNotFound, AggregateHostExists,
// InvalidAggregateActionAdd, which is a conflict here.
func (s *Service) AddHost(ctx context.Context, number int64, host string) (Aggregate, error) {
	return s.changeHosts(ctx, number, host, func(c *change, a *Aggregate) error {
		if a.Zone() != "" {
			err := c.rezone(*a, a.Zone(), []string{host}, false, "InvalidAggregateActionAdd", "add host to aggregate")
			if f, ok := fault.Find(err); ok {
				err = conflict("InvalidAggregateActionAdd", "%s", f.Error())
			}
			if err != nil {
				return err
			}
		}
		if slices.Contains(a.Hosts, host) {
			return conflict("AggregateHostExists", "Aggregate %d already has host %s.", number, host)
		}
		a.Hosts = append(a.Hosts, host)
		slices.Sort(a.Hosts)
		if err := c.Insert(&MemberRow{Aggregate: a.ID, Host: host}); err != nil {
			return err
		}
		return c.mirror(a.ID, host, true)
	})
}

// RemoveHost removes a host from an aggregate, and from the one in placement: at once, or later
// when that fails. Faults: ComputeHostNotFound, AggregateNotFound, AggregateHostNotFound.
func (s *Service) RemoveHost(ctx context.Context, number int64, host string) (Aggregate, error) {
	return s.changeHosts(ctx, number, host, func(c *change, a *Aggregate) error {
		n, err := c.Remove(&MemberRow{}, Where(ByAggregate, a.ID), Where(ByHost, host))
		if err == nil && n == 0 {
			err = notFound("AggregateHostNotFound", "Aggregate %d has no host %s.", number, host)
		}
		if err != nil {
			return err
		}
		a.Hosts = slices.DeleteFunc(a.Hosts, func(h string) bool { return h == host })
		return c.mirror(a.ID, host, false)
	})
}

// changeHosts changes the hosts of an aggregate; the host must be one of compute's.
func (s *Service) changeHosts(ctx context.Context, number int64, host string, fn func(*change, *Aggregate) error) (a Aggregate, err error) {
	err = s.update(ctx, func(c *change) error {
		if services, err := Rows[ServiceRow](c, Where(ByHost, host)); err != nil || len(services) == 0 {
			return cmp.Or(err, notFound("ComputeHostNotFound", "Compute host %s could not be found.", host))
		}
		if a, err = aggregate(c, number); err != nil {
			return err
		}
		return fn(c, &a)
	})
	if err == nil {
		s.mirrorNow(ctx, a.ID, host)
	}
	return a, err
}

// mirror stores a membership that placement does not have yet.
func (c *change) mirror(a ID, host string, member bool) error {
	if _, err := c.Remove(&MirrorRow{}, Where(ByAggregate, a), Where(ByHost, host)); err != nil {
		return err
	}
	return c.Insert(&MirrorRow{Aggregate: a, Host: host, Member: member, Change: NewID(), CreatedAt: c.At})
}
