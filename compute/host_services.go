package compute

import (
	"cmp"
	"errors"
	"maps"
	"slices"
)

// A HostService is the compute service of a host, with what follows from its reports.
type HostService struct {
	ServiceRow
	Up   bool // it has reported lately, and serves
	Zone string
}

// HostServices returns the compute services that match conditions, in the order of their numbers.
func (rules Rules) HostServices(r Reader, where ...Match) ([]HostService, error) {
	rows, err := Rows[ServiceRow](r, where...)
	if err != nil {
		return nil, err
	}
	zones, err := zonesOfServices(r, rows, len(where) == 0)
	all := make([]HostService, len(rows))
	for i, row := range rows {
		all[i] = HostService{
			ServiceRow: row, Up: rules.Serves(row), Zone: cmp.Or(zones[row.Host], rules.Settings.DefaultZone),
		}
	}
	slices.SortFunc(all, func(a, b HostService) int { return cmp.Compare(a.Number, b.Number) })
	return all, err
}

// zonesOfServices returns the availability zones of the hosts of services, which may be all that
// there are.
func zonesOfServices(r Reader, services []ServiceRow, all bool) (map[string]string, error) {
	if all {
		aggregates, err := ReadAggregates(r)
		return ZonesOf(aggregates), err
	}
	hosts := make([]string, len(services))
	for i, row := range services {
		hosts[i] = row.Host
	}
	return ZonesByHost(r, hosts...)
}

// IsUp reports whether a service has reported lately. A report from the future was made before the
// clock was set back, and says nothing of now.
func (rules Rules) IsUp(row ServiceRow) bool {
	last := row.ReportedAt
	if last.IsZero() {
		last = row.CreatedAt
	}
	return !row.ForcedDown && rules.Now().Sub(last).Abs() <= rules.Settings.ServiceDownTime
}

// Serves reports whether a service is up, and can get servers: see ServiceRow.StartError.
func (rules Rules) Serves(row ServiceRow) bool { return rules.IsUp(row) && row.StartError == "" }

// HostIsUp reports whether a host has reported lately.
func (rules Rules) HostIsUp(r Reader, host string) (bool, error) {
	services, err := Rows[ServiceRow](r, Where(ByHost, host))
	return len(services) > 0 && rules.IsUp(services[0]), err
}

// HostServes reports whether a host is up, and can get servers.
func (rules Rules) HostServes(r Reader, host string) (bool, error) {
	services, err := Rows[ServiceRow](r, Where(ByHost, host))
	return len(services) > 0 && rules.Serves(services[0]), err
}

// A Zone is an availability zone.
type Zone struct {
	Name      string
	Available bool
	Services  []HostService // that are enabled, when it is available
}

// Zones returns the availability zones of the services: those with one that is enabled
// first, each part in the order of their names.
func (rules Rules) Zones(r Reader) ([]Zone, error) {
	services, err := rules.HostServices(r)
	if err != nil {
		return nil, err
	}
	byName := map[string]*Zone{}
	for _, h := range services {
		if byName[h.Zone] == nil {
			byName[h.Zone] = &Zone{Name: h.Zone}
		}
		if z := byName[h.Zone]; !h.Disabled {
			z.Available, z.Services = true, append(z.Services, h)
		}
	}
	var all []Zone
	for _, available := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			if byName[name].Available == available {
				all = append(all, *byName[name])
			}
		}
	}
	return all, nil
}

// IdleHost refuses a host that has servers, or that some move from or to.
func IdleHost(r Reader, host string) error {
	servers, err := Count[ServerRow](r, Where(ByHost, host))
	if err == nil && servers > 0 {
		err = Conflict("HTTPConflict",
			"Unable to delete compute service that is hosting instances. Migrate or delete the instances first.")
	}
	if err != nil {
		return err
	}
	moves, err := Rows[MigrationRow](r, Where(ByStatus, migrationsUnderWay...))
	for _, m := range moves {
		if m.Source == host || m.Dest == host {
			return Conflict("HTTPConflict", "Unable to delete compute service that has in-progress migrations. "+
				"Complete the migrations or delete the instances first.")
		}
	}
	return err
}

// Reported refuses a host that has never reported: it may have been renamed, or query the compute
// service of another cloud.
func Reported(r Reader, host string) error {
	_, err := One[ServiceRow](r, Where(ByHost, host))
	if errors.Is(err, ErrNoRow) {
		return NotFound("ComputeHostNotFound", "Compute host %s could not be found.", host)
	}
	return err
}
