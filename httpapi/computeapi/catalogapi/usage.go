package catalogapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/view"
)

func usageRoutes(a *wire.API) []httpapi.Route {
	const all = "/os-simple-tenant-usage"
	return []httpapi.Route{
		a.List(all, 1, listUsages),
		a.List(all+"/{project}", 1, showUsage),
	}
}

var (
	usagesQuery = wire.NewQuery(false, "start", wire.Repeated(wire.StringPart), "end", wire.Repeated(wire.StringPart),
		"detailed", wire.Repeated(wire.StringPart))
	usagesQuery2_40 = wire.NewQuery(false, "start", wire.Repeated(wire.StringPart), "end", wire.Repeated(wire.StringPart),
		"detailed", wire.Repeated(wire.StringPart),
		"limit", wire.Repeated(wire.CountPart), "marker", wire.Repeated(wire.StringPart))
	usageQuery     = wire.NewQuery(false, "start", wire.Repeated(wire.StringPart), "end", wire.Repeated(wire.StringPart))
	usageQuery2_40 = wire.NewQuery(false, "start", wire.Repeated(wire.StringPart), "end", wire.Repeated(wire.StringPart),
		"limit", wire.Repeated(wire.CountPart), "marker", wire.Repeated(wire.StringPart))
)

// checkUsageQuery checks the query: pages came with 2.40.
func checkUsageQuery(q *wire.Request, before, since wire.QuerySchema) error {
	if q.Minor < 40 {
		return q.CheckQuery(before)
	}
	return q.CheckQuery(since)
}

// A projectUsage is what the servers of a project used in a period.
type projectUsage struct {
	project string
	servers []catalog.ServerUsage
}

func listUsages(q *wire.Request) error {
	if err := checkUsageQuery(q, usagesQuery, usagesQuery2_40); err != nil {
		return err
	}
	if err := q.Can("os-simple-tenant-usage:list", wire.CloudTarget); err != nil {
		return err
	}
	f, err := usageFilter(q)
	if err != nil {
		return err
	}
	all, err := q.API.Catalog.Usages(q.Context(), f)
	if err != nil {
		return err
	}
	var projects []projectUsage
	for _, u := range all { // by project
		if n := len(projects); n == 0 || projects[n-1].project != u.Project {
			projects = append(projects, projectUsage{project: u.Project})
		}
		last := &projects[len(projects)-1]
		last.servers = append(last.servers, u)
	}
	detailed := first(q, "detailed") == "1"
	shown := view.List("tenant_usages", projects, func(p projectUsage) view.Object { return p.view(f, detailed) })
	return q.Respond(http.StatusOK,
		append(view.Object{shown}, usageLink(q, "tenant_usages_links", "os-simple-tenant-usage", all)...))
}

func showUsage(q *wire.Request) error {
	if err := checkUsageQuery(q, usageQuery, usageQuery2_40); err != nil {
		return err
	}
	project := q.Param("project")
	if err := q.Can("os-simple-tenant-usage:show", wire.OfProject(project)); err != nil {
		return err
	}
	f, err := usageFilter(q)
	if err != nil {
		return err
	}
	f.Project = project
	all, err := q.API.Catalog.Usages(q.Context(), f)
	if err != nil {
		return err
	}
	var shown view.Object
	if len(all) > 0 {
		shown = projectUsage{project, all}.view(f, true)
	}
	return q.Respond(http.StatusOK, append(wire.Single("tenant_usage", shown),
		usageLink(q, "tenant_usage_links", "os-simple-tenant-usage/"+project, all)...))
}

func usageLink(q *wire.Request, name, collection string, all []catalog.ServerUsage) []view.Member {
	if n := len(all); n > 0 && q.Minor >= 40 {
		return q.NextLink(name, collection, n, string(all[n-1].ID))
	}
	return nil
}

// first is the first value of a parameter that is not empty, which is how Nova reads these.
func first(q *wire.Request, name string) string {
	for _, value := range q.Query[name] {
		if value != "" {
			return value
		}
	}
	return ""
}

// usageFilter is the period and the page in the query.
func usageFilter(q *wire.Request) (f catalog.UsageFilter, err error) {
	current := q.API.Catalog.Now()
	f.Start, f.End = current.Add(-time.Microsecond), current
	for name, to := range map[string]*time.Time{"start": &f.Start, "end": &f.End} {
		if text := first(q, name); text != "" {
			var ok bool
			if *to, ok = parsePeriod(text); !ok {
				return f, wire.BadRequest("Invalid datetime string: Datetime is in invalid format")
			}
		}
	}
	if !f.Start.Before(f.End) {
		return f, wire.BadRequest("Invalid start time. The start time cannot occur after the end time.")
	}
	if f.End.After(current) {
		f.End = current
	}
	p := wire.Page{Limit: q.API.Limit()}
	if q.Minor >= 40 {
		p = q.Page()
	}
	f.Limit, f.Marker = p.Limit, compute.ID(p.Marker)
	return f, nil
}

// parsePeriod reads a time in one of the forms that Nova takes here: with a T the fraction of
// the second is optional, with a blank it is required.
func parsePeriod(text string) (time.Time, bool) {
	whole, fraction, given := strings.Cut(text, ".")
	if given && (fraction == "" || len(fraction) > 6) {
		return time.Time{}, false
	}
	layout := "2006-1-2T15:4:5"
	if given && !strings.Contains(whole, "T") {
		layout = "2006-1-2 15:4:5"
	}
	t, err := time.Parse(layout, text) // which reads a fraction too
	return t, err == nil
}

// view is what a project used, with its servers if it is to be detailed.
func (p projectUsage) view(f catalog.UsageFilter, detailed bool) view.Object {
	var hours, vcpus, memory, disk float64
	for _, u := range p.servers {
		h := u.Used.Hours()
		hours += h
		vcpus += h * float64(u.Flavor.VCPUs)
		memory += h * float64(u.Flavor.MemoryMB)
		disk += h * float64(u.Flavor.RootGB+u.Flavor.EphemeralGB)
	}
	return append(
		view.Object{view.Text("tenant_id", p.project)}.If(detailed, view.List("server_usages", p.servers, serverUsage)),
		view.Float("total_local_gb_usage", disk), view.Float("total_vcpus_usage", vcpus),
		view.Float("total_memory_mb_usage", memory),
		view.Float("total_hours", hours), wire.Time("start", f.Start), wire.Time("stop", f.End))
}

func serverUsage(u catalog.ServerUsage) view.Object {
	return view.Object{
		view.Float("hours", u.Used.Hours()), view.Text("flavor", u.Flavor.Name), view.Text("instance_id", u.ID),
		view.Text("name", u.Name),
		view.Text("tenant_id", u.Project), view.Int("memory_mb", u.Flavor.MemoryMB),
		view.Int("local_gb", u.Flavor.RootGB+u.Flavor.EphemeralGB), view.Int("vcpus", u.Flavor.VCPUs),
		wire.Time("started_at", u.LaunchedAt), wire.Time("ended_at", u.TerminatedAt), view.Text("state", u.State),
		view.Int("uptime", int64(u.Uptime/time.Second)),
	}
}
