package computeapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
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
	return q.respond(http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		put(j, "tenant_usages", array(projects, func(j *httpapi.JSON, p projectUsage) { p.put(j, f, detailed) }))
		q.usageLink(j, "tenant_usages_links", "os-simple-tenant-usage", all)
		j.EndObject()
	})
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
	return q.respond(http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		put(j, "tenant_usage", func(j *httpapi.JSON) {
			if len(all) == 0 {
				object(j)
				return
			}
			projectUsage{project, all}.put(j, f, true)
		})
		q.usageLink(j, "tenant_usage_links", "os-simple-tenant-usage/"+project, all)
		j.EndObject()
	})
}

func (q *request) usageLink(j *httpapi.JSON, name, collection string, all []compute.ServerUsage) {
	if n := len(all); n > 0 && q.minor >= 40 {
		q.nextLink(j, name, collection, n, string(all[n-1].ID))
	}
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

// put writes what a project used. Servers are listed if it is to be detailed.
func (p projectUsage) put(j *httpapi.JSON, f compute.UsageFilter, detailed bool) {
	var hours, vcpus, memory, disk float64
	for _, u := range p.servers {
		h := u.Used.Hours()
		hours += h
		vcpus += h * float64(u.Flavor.VCPUs)
		memory += h * float64(u.Flavor.MemoryMB)
		disk += h * float64(u.Flavor.RootGB+u.Flavor.EphemeralGB)
	}
	j.Object()
	put(j, "tenant_id", p.project)
	if detailed {
		put(j, "server_usages", array(p.servers, putServerUsage))
	}
	put(j, "total_local_gb_usage", disk, "total_vcpus_usage", vcpus, "total_memory_mb_usage", memory, "total_hours", hours,
		"start", f.Start, "stop", f.End)
	j.EndObject()
}

func putServerUsage(j *httpapi.JSON, u compute.ServerUsage) {
	object(j, "hours", u.Used.Hours(), "flavor", u.Flavor.Name, "instance_id", u.ID, "name", u.Name, "tenant_id", u.Project,
		"memory_mb", u.Flavor.MemoryMB, "local_gb", u.Flavor.RootGB+u.Flavor.EphemeralGB, "vcpus", u.Flavor.VCPUs,
		"started_at", u.LaunchedAt, "ended_at", u.TerminatedAt, "state", u.State, "uptime", int64(u.Uptime/time.Second))
}
