package servers

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute"
)

// A ServerFilter narrows a list of servers. What is empty does not.
type ServerFilter struct {
	Project  string
	User     string
	IDs      []compute.ID
	Name     *regexp.Regexp // that is found in it
	Hostname *regexp.Regexp
	// Description and the others of their kind are found in what they are of.
	Description, KeyName, Node, Reservation, AccessIPv4, AccessIPv6 *regexp.Regexp
	// Power and Progress are found in the numbers, and times in "2006-01-02 15:04:05" of UTC.
	Power, Progress, Created, Launched, Terminated *regexp.Regexp

	Zone       *regexp.Regexp // found in the zone of its host, or the requested one while it has none
	IPv4, IPv6 *regexp.Regexp // found in one of its addresses
	Host       string
	Image      compute.ID
	Flavor     compute.ID
	States     []string // vm_state
	Tasks      []string // task_state, "" for none
	Locked     *bool
	// ConfigDrive is found in "True", or in "true", which servers with one are said to have.
	ConfigDrive *regexp.Regexp
	// ChangedSince and ChangedBefore bound the time of the last change, both
	// included.
	ChangedSince, ChangedBefore time.Time
	// Tags wants all of them, AnyTags one at least; NotTags not all of them, NotAnyTags
	// none.
	Tags, AnyTags, NotTags, NotAnyTags []string
	// Metadata must be among its metadata.
	Metadata map[string]string
}

// A Page is a part of a list.
type Page struct {
	Marker compute.ID // the last one of the page before, "" for the first page
	// Project is the only one whose servers may be the marker, "" for any.
	Project string
	Limit   int
	// Sort is what it is sorted by, the newest first without any.
	Sort []SortKey
}

// A SortKey is something to sort by, as Nova's API calls it.
type SortKey struct {
	Key        string
	Descending bool
}

// Servers returns a page of the servers that match a filter; a Limit below 1 means all. Unknown
// sort keys are ignored. A marker that is none of the servers is a fault, MarkerNotFound.
func (s *Service) Servers(ctx context.Context, f ServerFilter, p Page) (all []Server, err error) {
	err = s.store.View(ctx, func(r compute.Reader) error {
		all, err = s.listServers(ctx, r, f, p)
		return err
	})
	return all, err
}

func (s *Service) listServers(ctx context.Context, r compute.Reader, f ServerFilter, p Page) ([]Server, error) {
	entries, err := compute.Rows[compute.ServerEntry](r, f.where()...)
	if err != nil {
		return nil, err
	}
	rows := make([]compute.ServerRow, len(entries))
	for i, e := range entries {
		rows[i] = e.ServerRow
	}
	tagged := f.tagged()
	if rows, err = keep(ctx, rows, func(row compute.ServerRow) bool {
		return f.passes(row) && tagged(row.Tags)
	}); err != nil {
		return nil, err
	}
	if f.Zone != nil {
		byHost, err := servicesOf(s.rules, r, rows)
		if err != nil {
			return nil, err
		}
		rows, err = keep(ctx, rows, func(row compute.ServerRow) bool {
			zone := inZone(s.rules, row, byHost)
			return zone != "" && f.Zone.MatchString(zone)
		})
		if err != nil {
			return nil, err
		}
	}
	if f.IPv4 != nil || f.IPv6 != nil {
		ports, err := compute.PortsOf(r, rows)
		if err != nil {
			return nil, err
		}
		if rows, err = keep(ctx, rows, func(row compute.ServerRow) bool { return f.reaches(ports[row.ID]) }); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(rows, p.compare)
	if p.Marker != "" {
		absent := compute.NotFound("MarkerNotFound", "Marker %s could not be found.", p.Marker)
		marker, err := compute.OneOr[compute.ServerRow](r, absent, compute.Where(compute.ByID, p.Marker))
		if err == nil && p.Project != "" && marker.Project != p.Project {
			err = absent
		}
		if err != nil {
			return nil, err
		}
		rows = slices.DeleteFunc(rows, func(row compute.ServerRow) bool { return p.compare(row, marker) <= 0 })
	}
	if p.Limit > 0 && len(rows) > p.Limit {
		rows = rows[:p.Limit]
	}
	if rows, err = whole(r, rows); err != nil {
		return nil, err
	}
	return completeServers(s.rules, r, rows)
}

// keep returns the rows that match. Expressions take time: it ends when ctx does.
func keep(
	ctx context.Context, rows []compute.ServerRow, match func(compute.ServerRow) bool,
) ([]compute.ServerRow, error) {
	rows = slices.DeleteFunc(rows, func(row compute.ServerRow) bool { return ctx.Err() != nil || !match(row) })
	return rows, ctx.Err()
}

// whole returns the rows of servers of which entries were read, in their order.
func whole(r compute.Reader, rows []compute.ServerRow) ([]compute.ServerRow, error) {
	ids, at := make([]compute.ID, len(rows)), make(map[compute.ID]int, len(rows))
	for i, row := range rows {
		ids[i], at[row.ID] = row.ID, i
	}
	all, err := compute.Rows[compute.ServerRow](r, compute.Where(compute.ByID, ids...))
	for _, row := range all {
		rows[at[row.ID]] = row
	}
	return rows, err
}

// where is what of the filter the store can do.
func (f ServerFilter) where() (all []compute.Match) {
	if f.Project != "" {
		all = append(all, compute.Where(compute.ByProject, f.Project))
	}
	if f.Host != "" {
		all = append(all, compute.Where(compute.ByHost, f.Host))
	}
	if f.Flavor != "" {
		all = append(all, compute.Where(compute.ByFlavor, f.Flavor))
	}
	if f.IDs != nil {
		all = append(all, compute.Where(compute.ByID, f.IDs...))
	}
	return all
}

// passes looks at the row of a server. An expression is not found in what a server does not have.
func (f ServerFilter) passes(s compute.ServerRow) bool {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.DateTime)
	}
	for _, p := range []struct {
		pattern *regexp.Regexp
		text    string
	}{
		{f.Name, s.Name},
		{f.Hostname, s.Hostname},
		{f.Description, s.Description},
		{f.KeyName, s.KeyName},
		{f.Node, s.Node},
		{f.Reservation, s.Reservation},
		{f.AccessIPv4, s.AccessIPv4},
		{f.AccessIPv6, s.AccessIPv6},
		{f.Power, strconv.Itoa(int(s.Power))},
		{f.Progress, strconv.Itoa(s.Progress)},
		{f.Created, at(s.CreatedAt)},
		{f.Launched, at(s.LaunchedAt)},
		{f.Terminated, at(s.TerminatedAt)},
	} {
		if p.pattern != nil && (p.text == "" || !p.pattern.MatchString(p.text)) {
			return false
		}
	}
	for key, v := range f.Metadata {
		if has, ok := s.Metadata[key]; !ok || has != v {
			return false
		}
	}
	return f.is(s)
}

// is looks at what is equal or is not.
func (f ServerFilter) is(s compute.ServerRow) bool {
	changed := changedAt(s)
	switch {
	case f.User != "" && s.User != f.User,
		f.Image != "" && s.Image != f.Image,
		f.States != nil && !slices.Contains(f.States, s.State),
		f.Tasks != nil && !slices.Contains(f.Tasks, s.Task),
		f.Locked != nil && *f.Locked != (s.Locked != ""),
		f.ConfigDrive != nil && !(s.ConfigDrive && (f.ConfigDrive.MatchString("True") || f.ConfigDrive.MatchString("true"))),
		!f.ChangedSince.IsZero() && changed.Before(f.ChangedSince),
		!f.ChangedBefore.IsZero() && changed.After(f.ChangedBefore):
		return false
	}
	return true
}

func changedAt(s compute.ServerRow) time.Time {
	if s.UpdatedAt.IsZero() {
		return s.CreatedAt
	}
	return s.UpdatedAt
}

// tagged returns what looks at the tags of a server, each of which it has once.
func (f ServerFilter) tagged() func(tags []string) bool {
	all, some, notAll, none := set(f.Tags), set(f.AnyTags), set(f.NotTags), set(f.NotAnyTags)
	return func(tags []string) bool {
		has := func(members map[string]bool) (n int) {
			for _, t := range tags {
				if members[t] {
					n++
				}
			}
			return n
		}
		return has(all) == len(all) && (len(some) == 0 || has(some) > 0) && (len(notAll) == 0 || has(notAll) < len(notAll)) &&
			has(none) == 0
	}
}

func set(words []string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// reaches reports whether an address of ports matches.
func (f ServerFilter) reaches(ports []compute.ServerPort) bool {
	for _, p := range ports {
		for _, a := range p.Shown.Addresses {
			six := strings.Contains(a.IP, ":")
			if six && f.IPv6 != nil && f.IPv6.MatchString(a.IP) || !six && f.IPv4 != nil && f.IPv4.MatchString(a.IP) {
				return true
			}
		}
	}
	return false
}

// sortKeys are what servers can be sorted by.
var sortKeys = map[string]func(a, b compute.ServerRow) int{
	"access_ip_v4":      by(func(s compute.ServerRow) string { return s.AccessIPv4 }),
	"access_ip_v6":      by(func(s compute.ServerRow) string { return s.AccessIPv6 }),
	"availability_zone": by(func(s compute.ServerRow) string { return s.Zone }),
	"config_drive":      by(func(s compute.ServerRow) int { return map[bool]int{true: 1}[s.ConfigDrive] }),
	"created_at":        func(a, b compute.ServerRow) int { return a.CreatedAt.Compare(b.CreatedAt) },
	"display_name":      by(func(s compute.ServerRow) string { return s.Name }),
	"host":              by(func(s compute.ServerRow) string { return s.Host }),
	"hostname":          by(func(s compute.ServerRow) string { return s.Hostname }),
	"image_ref":         by(func(s compute.ServerRow) compute.ID { return s.Image }),
	"instance_type_id":  by(func(s compute.ServerRow) compute.ID { return s.FlavorID }),
	"key_name":          by(func(s compute.ServerRow) string { return s.KeyName }),
	"launch_index":      by(func(s compute.ServerRow) int { return s.Index }),
	"launched_at":       func(a, b compute.ServerRow) int { return a.LaunchedAt.Compare(b.LaunchedAt) },
	"locked":            by(func(s compute.ServerRow) int { return map[bool]int{true: 1}[s.Locked != ""] }),
	"node":              by(func(s compute.ServerRow) string { return s.Node }),
	"power_state":       by(func(s compute.ServerRow) compute.Power { return s.Power }),
	"progress":          by(func(s compute.ServerRow) int { return s.Progress }),
	"project_id":        by(func(s compute.ServerRow) string { return s.Project }),
	"task_state":        by(func(s compute.ServerRow) string { return s.Task }),
	"terminated_at":     func(a, b compute.ServerRow) int { return a.TerminatedAt.Compare(b.TerminatedAt) },
	"updated_at":        func(a, b compute.ServerRow) int { return changedAt(a).Compare(changedAt(b)) },
	"user_id":           by(func(s compute.ServerRow) string { return s.User }),
	"uuid":              by(func(s compute.ServerRow) compute.ID { return s.ID }),
	"vm_state":          by(func(s compute.ServerRow) string { return s.State }),
}

func by[T cmp.Ordered](key func(compute.ServerRow) T) func(a, b compute.ServerRow) int {
	return func(a, b compute.ServerRow) int { return cmp.Compare(key(a), key(b)) }
}

// compare is the order of a page. Servers that are alike come in that of their making.
func (p Page) compare(a, b compute.ServerRow) int {
	keys := p.Sort
	if len(keys) == 0 {
		keys = []SortKey{{"created_at", true}}
	}
	for _, k := range keys {
		compare, ok := sortKeys[k.Key]
		if !ok {
			continue
		}
		if d := compare(a, b); d != 0 && k.Descending {
			return -d
		} else if d != 0 {
			return d
		}
	}
	d := cmp.Compare(a.Number, b.Number)
	if keys[0].Descending {
		d = -d
	}
	return cmp.Or(d, cmp.Compare(a.ID, b.ID))
}
