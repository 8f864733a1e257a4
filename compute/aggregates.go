package compute

import (
	"cmp"
	"slices"
)

// An Aggregate is a host aggregate with its hosts.
type Aggregate struct {
	AggregateRow
	Hosts []string // sorted
}

// ZoneKey is the metadata that makes an aggregate an availability zone.
const ZoneKey = "availability_zone"

// Zone returns the availability zone that the aggregate is, "" for none.
func (a Aggregate) Zone() string { return a.Metadata[ZoneKey] }

// ReadAggregates returns all host aggregates in order of creation.
func ReadAggregates(r Reader) ([]Aggregate, error) {
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

// ZonesByHost returns the availability zones of hosts that are in one.
func ZonesByHost(r Reader) (map[string]string, error) {
	all, err := ReadAggregates(r)
	zones := map[string]string{}
	for _, a := range all {
		for _, h := range a.Hosts {
			if a.Zone() != "" {
				zones[h] = a.Zone()
			}
		}
	}
	return zones, err
}

// MirrorMembership stores a membership that placement does not have yet.
func (tx *Tx) MirrorMembership(a ID, host string, member bool) error {
	if _, err := tx.Remove(&MirrorRow{}, Where(ByAggregate, a), Where(ByHost, host)); err != nil {
		return err
	}
	return tx.Insert(&MirrorRow{Aggregate: a, Host: host, Member: member, Change: NewID(), CreatedAt: tx.At})
}
