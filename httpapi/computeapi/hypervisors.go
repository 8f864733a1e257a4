package computeapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) hypervisorRoutes() []httpapi.Route {
	const all, one = "/os-hypervisors", "/os-hypervisors/{id}"
	return []httpapi.Route{
		a.list(all, 1, func(q *request) error { return q.listHypervisors(false) }),
		a.list(all+"/detail", 1, func(q *request) error { return q.listHypervisors(true) }),
		a.between(http.MethodGet, all+"/statistics", 1, 87, (*request).statistics),
		a.route(http.MethodGet, one, 1, (*request).showHypervisor),
		a.between(http.MethodGet, one+"/uptime", 1, 87, (*request).uptime),
		a.between(http.MethodGet, one+"/search", 1, 52, func(q *request) error { return q.searchHypervisors("search", false) }),
		a.between(http.MethodGet, one+"/servers", 1, 52, func(q *request) error { return q.searchHypervisors("servers", true) }),
	}
}

var (
	hypervisorsQuery2_33 = newQuery(false, "limit", many(countPart), "marker", many(stringPart))
	hypervisorsQuery2_53 = newQuery(true, "limit", once(countPart), "marker", once(stringPart),
		"hypervisor_hostname_pattern", once(hostPart), "with_servers", once(booleanPart))
	hypervisorQuery2_53 = newQuery(true, "with_servers", once(booleanPart))
)

func (q *request) checkHypervisorsQuery() error {
	switch {
	case q.minor >= 53:
		return q.checkQuery(hypervisorsQuery2_53)
	case q.minor >= 33:
		return q.checkQuery(hypervisorsQuery2_33)
	}
	return nil
}

func (q *request) listHypervisors(detail bool) error {
	if err := q.checkHypervisorsQuery(); err != nil {
		return err
	}
	rule, collection := "list", "os-hypervisors"
	if detail {
		rule, collection = "list-detail", "os-hypervisors/detail"
	}
	if err := q.can("os-hypervisors:"+rule, nobodys); err != nil {
		return err
	}
	all, paged, err := q.hypervisors()
	if err != nil {
		return err
	}
	answer := view.Object{q.hypervisorList(all, detail, q.withServers())}
	if n := len(all); n > 0 && paged {
		answer = append(answer, q.nextLink("hypervisors_links", collection, n, q.nodeID(all[n-1]))...)
	}
	return q.respond(http.StatusOK, answer)
}

// hypervisors are those that the query selects, and whether they are a page.
func (q *request) hypervisors() (all []compute.Hypervisor, paged bool, err error) {
	p := q.page()
	pattern, searched := q.last("hypervisor_hostname_pattern")
	if _, limited := q.last("limit"); searched && (limited || p.marker != "") {
		return nil, false, badRequest("") // Nova means to say that there are no pages of such lists
	}
	if searched {
		all, err = q.hypervisorsLike(pattern)
		return all, false, err
	}
	if all, err = q.api.Compute.Hypervisors(q.Context()); err != nil || q.minor < 33 {
		return all, false, err
	}
	all, ok := part(all, p, q.nodeID)
	if !ok {
		return nil, false, badRequest("marker [%s] not found", p.marker)
	}
	return all, true, nil
}

func (q *request) withServers() bool {
	text, _ := q.last("with_servers")
	with, _ := parseBool(text)
	return with
}

// hypervisorsLike are those with a text in their name.
func (q *request) hypervisorsLike(text string) ([]compute.Hypervisor, error) {
	all, err := q.api.Compute.Hypervisors(q.Context())
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(h compute.Hypervisor) bool { return !strings.Contains(h.Name, text) })
	if len(all) == 0 {
		return nil, notFound("No hypervisor matching '%s' could be found.", text)
	}
	return all, nil
}

func (q *request) searchHypervisors(rule string, servers bool) error {
	if err := q.can("os-hypervisors:"+rule, nobodys); err != nil {
		return err
	}
	all, err := q.hypervisorsLike(q.param("id"))
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, view.Object{q.hypervisorList(all, false, servers)})
}

// nodeID is the id of a hypervisor, a number before 2.53.
func (q *request) nodeID(h compute.Hypervisor) string {
	if q.minor >= 53 {
		return string(h.ID)
	}
	return strconv.FormatInt(h.Number, 10)
}

func (q *request) hypervisorList(all []compute.Hypervisor, detail, servers bool) view.Member {
	return view.List("hypervisors", all, func(h compute.Hypervisor) view.Object { return q.hypervisor(h, detail, servers) })
}

// hypervisor is what is shown of a hypervisor.
func (q *request) hypervisor(h compute.Hypervisor, detail, servers bool) view.Object {
	id := view.Int("id", h.Number)
	if q.minor >= 53 {
		id = view.Text("id", h.ID)
	}
	shown := view.Object{
		id, view.Text("hypervisor_hostname", h.Name), view.Text("state", state(h.Service)), view.Text("status", status(h.Service)),
	}
	if detail {
		shown = append(shown, q.hypervisorDetail(h)...)
	}
	return shown.If(servers && (len(h.Servers) > 0 || q.minor >= 75), view.List("servers", h.Servers, func(s compute.ServerUse) view.Object {
		return view.Object{view.Text("name", q.api.Compute.InstanceName(s.ServerRow)), view.Text("uuid", s.ID)}
	}))
}

func (q *request) hypervisorDetail(h compute.Hypervisor) view.Object {
	shown := view.Object{
		view.Text("hypervisor_type", h.Type), view.Int("hypervisor_version", h.Version), view.TextOrNull("host_ip", h.Address),
		view.Nested("service", view.Object{
			q.serviceID(h.Service), view.Text("host", h.Host), view.TextOrNull("disabled_reason", h.Service.Reason),
		}),
	}
	if q.minor >= 88 {
		return append(shown, view.Null("uptime")) // see uptime
	}
	shown = append(shown, capacity(h)...)
	if q.minor < 28 {
		return append(shown, view.Text("cpu_info", string(h.CPU)))
	}
	cpu, _ := pyjson.Parse(h.CPU) // of another form: an empty object
	if cpu.Kind() != pyjson.Object {
		cpu = pyjson.NewObject()
	}
	return append(shown, view.JSON("cpu_info", cpu))
}

// capacity is what a hypervisor has, and what its servers have of it.
func capacity(h compute.Hypervisor) view.Object {
	working := 0
	for _, s := range h.Servers {
		if s.Task != "" {
			working++
		}
	}
	freeDisk := h.DiskGB - h.Used.DiskGB
	return view.Object{
		view.Int("vcpus", h.VCPUs), view.Int("memory_mb", h.MemoryMB), view.Int("local_gb", h.DiskGB),
		view.Int("vcpus_used", h.Used.VCPUs), view.Int("memory_mb_used", h.Used.MemoryMB), view.Int("local_gb_used", h.Used.DiskGB),
		view.Int("free_ram_mb", h.MemoryMB-h.Used.MemoryMB), view.Int("free_disk_gb", freeDisk), view.Int("disk_available_least", freeDisk),
		view.Int("current_workload", working), view.Int("running_vms", len(h.Servers)),
	}
}

// hypervisorInPath is the one that the path names.
func (q *request) hypervisorInPath() (compute.Hypervisor, error) {
	id, err := q.nodeOrServiceID()
	absent := notFound("Hypervisor with ID '%s' could not be found.", q.param("id"))
	if isFault(err, "InvalidInput") {
		err = absent
	}
	if err != nil {
		return compute.Hypervisor{}, err
	}
	all, err := q.api.Compute.Hypervisors(q.Context())
	if err != nil {
		return compute.Hypervisor{}, err
	}
	if i := slices.IndexFunc(all, func(h compute.Hypervisor) bool { return q.nodeID(h) == id }); i >= 0 {
		return all[i], nil
	}
	return compute.Hypervisor{}, absent
}

func (q *request) showHypervisor() error {
	if q.minor >= 53 {
		if err := q.checkQuery(hypervisorQuery2_53); err != nil {
			return err
		}
	}
	if err := q.can("os-hypervisors:show", nobodys); err != nil {
		return err
	}
	h, err := q.hypervisorInPath()
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, single("hypervisor", q.hypervisor(h, true, q.withServers())))
}

// uptime is what no driver here knows.
func (q *request) uptime() error {
	if err := q.can("os-hypervisors:uptime", nobodys); err != nil {
		return err
	}
	if _, err := q.hypervisorInPath(); err != nil {
		return err
	}
	return fault.New(fault.Unsupported, "NotImplementedError", "The requested functionality is not supported.")
}

// statistics adds up the hypervisors whose service is enabled.
func (q *request) statistics() error {
	if err := q.can("os-hypervisors:statistics", nobodys); err != nil {
		return err
	}
	all, err := q.api.Compute.Hypervisors(q.Context())
	if err != nil {
		return err
	}
	var sum compute.Hypervisor
	count := 0
	for _, h := range all {
		if h.Service.Disabled {
			continue
		}
		count++
		sum.VCPUs, sum.MemoryMB, sum.DiskGB = sum.VCPUs+h.VCPUs, sum.MemoryMB+h.MemoryMB, sum.DiskGB+h.DiskGB
		sum.Used.VCPUs, sum.Used.MemoryMB = sum.Used.VCPUs+h.Used.VCPUs, sum.Used.MemoryMB+h.Used.MemoryMB
		sum.Used.DiskGB += h.Used.DiskGB
		sum.Servers = append(sum.Servers, h.Servers...)
	}
	return q.respond(http.StatusOK, single("hypervisor_statistics", append(view.Object{view.Int("count", count)}, capacity(sum)...)))
}
