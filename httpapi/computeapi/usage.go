package computeapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) usageRoutes() []httpapi.Route {
	const all = "/os-simple-tenant-usage"
	return []httpapi.Route{
		a.list(all, 1, (*request).listUsages),
		a.list(all+"/{project}", 1, (*request).showUsage),
	}
}

var (
	usagesQuery     = newQuery(false, "start", many(stringPart), "end", many(stringPart), "detailed", many(stringPart))
	usagesQuery2_40 = newQuery(false, "start", many(stringPart), "end", many(stringPart), "detailed", many(stringPart),
		"limit", many(countPart), "marker", many(stringPart))
	usageQuery     = newQuery(false, "start", many(stringPart), "end", many(stringPart))
	usageQuery2_40 = newQuery(false, "start", many(stringPart), "end", many(stringPart), "limit", many(countPart), "marker", many(stringPart))
)

// checkUsageQuery checks the query: pages came with 2.40.
func (q *request) checkUsageQuery(before, since querySchema) error {
	if q.minor < 40 {
		return q.checkQuery(before)
	}
	return q.checkQuery(since)
}

// A projectUsage is what the servers of a project used in a period.
type projectUsage struct {
	project string
	servers []compute.ServerUsage
}

func (q *request) listUsages() error {
	if err := q.checkUsageQuery(usagesQuery, usagesQuery2_40); err != nil {
		return err
	}
	if err := q.can("os-simple-tenant-usage:list", nobodys); err != nil {
		return err
	}
	f, err := q.usageFilter()
	if err != nil {
		return err
	}
	all, err := q.api.Compute.Usages(q.Context(), f)
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
	detailed := q.first("detailed") == "1"
	shown := view.List("tenant_usages", projects, func(p projectUsage) view.Object { return p.view(f, detailed) })
	return q.respond(http.StatusOK, append(view.Object{shown}, q.usageLink("tenant_usages_links", "os-simple-tenant-usage", all)...))
}

func (q *request) showUsage() error {
	if err := q.checkUsageQuery(usageQuery, usageQuery2_40); err != nil {
		return err
	}
	project := q.param("project")
	if err := q.can("os-simple-tenant-usage:show", ofProject(project)); err != nil {
		return err
	}
	f, err := q.usageFilter()
	if err != nil {
		return err
	}
	f.Project = project
	all, err := q.api.Compute.Usages(q.Context(), f)
	if err != nil {
		return err
	}
	var shown view.Object
	if len(all) > 0 {
		shown = projectUsage{project, all}.view(f, true)
	}
	return q.respond(http.StatusOK, append(single("tenant_usage", shown),
		q.usageLink("tenant_usage_links", "os-simple-tenant-usage/"+project, all)...))
}

func (q *request) usageLink(name, collection string, all []compute.ServerUsage) []view.Member {
	if n := len(all); n > 0 && q.minor >= 40 {
		return q.nextLink(name, collection, n, string(all[n-1].ID))
	}
	return nil
}

// first is the first value of a parameter that is not empty, which is how Nova reads these.
func (q *request) first(name string) string {
	for _, value := range q.query[name] {
		if value != "" {
			return value
		}
	}
	return ""
}

// usageFilter is the period and the page that the query asks for.
func (q *request) usageFilter() (f compute.UsageFilter, err error) {
	now := q.api.Compute.Now()
	f.Start, f.End = now.Add(-time.Microsecond), now
	for name, to := range map[string]*time.Time{"start": &f.Start, "end": &f.End} {
		if text := q.first(name); text != "" {
			var ok bool
			if *to, ok = parsePeriod(text); !ok {
				return f, badRequest("Invalid datetime string: Datetime is in invalid format")
			}
		}
	}
	if !f.Start.Before(f.End) {
		return f, badRequest("Invalid start time. The start time cannot occur after the end time.")
	}
	if f.End.After(now) {
		f.End = now
	}
	p := page{limit: q.api.maxLimit()}
	if q.minor >= 40 {
		p = q.page()
	}
	f.Limit, f.Marker = p.limit, compute.ID(p.marker)
	return f, nil
}

// parsePeriod reads a time in one of the forms that Nova takes here: with a T the fraction of
// the second may be left out, with a blank it may not.
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
func (p projectUsage) view(f compute.UsageFilter, detailed bool) view.Object {
	var hours, vcpus, memory, disk float64
	for _, u := range p.servers {
		h := u.Used.Hours()
		hours += h
		vcpus += h * float64(u.Flavor.VCPUs)
		memory += h * float64(u.Flavor.MemoryMB)
		disk += h * float64(u.Flavor.RootGB+u.Flavor.EphemeralGB)
	}
	return append(view.Object{view.Text("tenant_id", p.project)}.If(detailed, view.List("server_usages", p.servers, serverUsage)),
		view.Float("total_local_gb_usage", disk), view.Float("total_vcpus_usage", vcpus), view.Float("total_memory_mb_usage", memory),
		view.Float("total_hours", hours), moment("start", f.Start), moment("stop", f.End))
}

func serverUsage(u compute.ServerUsage) view.Object {
	return view.Object{
		view.Float("hours", u.Used.Hours()), view.Text("flavor", u.Flavor.Name), view.Text("instance_id", u.ID), view.Text("name", u.Name),
		view.Text("tenant_id", u.Project), view.Int("memory_mb", u.Flavor.MemoryMB),
		view.Int("local_gb", u.Flavor.RootGB+u.Flavor.EphemeralGB), view.Int("vcpus", u.Flavor.VCPUs),
		moment("started_at", u.LaunchedAt), moment("ended_at", u.TerminatedAt), view.Text("state", u.State),
		view.Int("uptime", int64(u.Uptime/time.Second)),
	}
}
