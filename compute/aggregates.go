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
	return withMembers(rows, members), err
}

// withMembers returns aggregates in order of creation, with the hosts of their members, which are
// sorted.
func withMembers(rows []AggregateRow, members []MemberRow) []Aggregate {
	hosts := make(map[ID][]string, len(rows))
	for _, m := range members {
		hosts[m.Aggregate] = append(hosts[m.Aggregate], m.Host)
	}
	all := make([]Aggregate, len(rows))
	for i, row := range rows {
		all[i] = Aggregate{AggregateRow: row, Hosts: hosts[row.ID]}
	}
	slices.SortFunc(all, func(a, b Aggregate) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// ZonesByHost returns the availability zones of those hosts that are in one. No other rows are
// read: there may be thousands.
func ZonesByHost(r Reader, hosts ...string) (map[string]string, error) {
	members, err := Rows[MemberRow](r, Where(ByHost, hosts...))
	if err != nil || len(members) == 0 {
		return nil, err
	}
	ids := make([]ID, len(members))
	for i, m := range members {
		ids[i] = m.Aggregate
	}
	slices.Sort(ids)
	rows, err := Rows[AggregateRow](r, Where(ByID, slices.Compact(ids)...))
	return ZonesOf(withMembers(rows, members)), err
}

// ZonesOf returns the availability zones of the hosts of aggregates.
func ZonesOf(all []Aggregate) map[string]string {
	zones := map[string]string{}
	for _, a := range all {
		for _, h := range a.Hosts {
			if a.Zone() != "" {
				zones[h] = a.Zone()
			}
		}
	}
	return zones
}

// MirrorMembership stores a membership that placement does not have yet.
func (tx *Tx) MirrorMembership(a ID, host string, member bool) error {
	if _, err := tx.Remove(&MirrorRow{}, Where(ByAggregate, a), Where(ByHost, host)); err != nil {
		return err
	}
	return tx.Insert(&MirrorRow{Aggregate: a, Host: host, Member: member, Change: NewID(), CreatedAt: tx.At})
}
