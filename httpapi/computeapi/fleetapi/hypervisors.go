package fleetapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func hypervisorRoutes(a *wire.API) []httpapi.Route {
	const all, one = "/os-hypervisors", "/os-hypervisors/{id}"
	return []httpapi.Route{
		a.List(all, 1, func(q *wire.Request) error { return listHypervisors(q, false) }),
		a.List(all+"/detail", 1, func(q *wire.Request) error { return listHypervisors(q, true) }),
		a.Between(http.MethodGet, all+"/statistics", 1, 87, statistics),
		a.Route(http.MethodGet, one, 1, showHypervisor),
		a.Between(http.MethodGet, one+"/uptime", 1, 87, uptime),
		a.Between(http.MethodGet, one+"/search", 1, 52, func(q *wire.Request) error {
			return searchHypervisors(q, "search", false)
		}),
		a.Between(http.MethodGet, one+"/servers", 1, 52, func(q *wire.Request) error {
			return searchHypervisors(q, "servers", true)
		}),
	}
}

var (
	hypervisorsQuery2_33 = wire.NewQuery(false, "limit", wire.Repeated(wire.CountPart),
		"marker", wire.Repeated(wire.StringPart))
	hypervisorsQuery2_53 = wire.NewQuery(true, "limit", wire.Once(wire.CountPart), "marker", wire.Once(wire.StringPart),
		"hypervisor_hostname_pattern", wire.Once(wire.HostPart), "with_servers", wire.Once(wire.BooleanPart))
	hypervisorQuery2_53 = wire.NewQuery(true, "with_servers", wire.Once(wire.BooleanPart))
)

func checkHypervisorsQuery(q *wire.Request) error {
	switch {
	case q.Minor >= 53:
		return q.CheckQuery(hypervisorsQuery2_53)
	case q.Minor >= 33:
		return q.CheckQuery(hypervisorsQuery2_33)
	}
	return nil
}

func listHypervisors(q *wire.Request, detail bool) error {
	if err := checkHypervisorsQuery(q); err != nil {
		return err
	}
	rule, collection := "list", "os-hypervisors"
	if detail {
		rule, collection = "list-detail", "os-hypervisors/detail"
	}
	if err := q.Can("os-hypervisors:"+rule, wire.CloudTarget); err != nil {
		return err
	}
	all, paged, err := hypervisors(q)
	if err != nil {
		return err
	}
	answer := view.Object{hypervisorList(q, all, detail, withServers(q))}
	if n := len(all); n > 0 && paged {
		answer = append(answer, q.NextLink("hypervisors_links", collection, n, nodeID(q, all[n-1]))...)
	}
	return q.Respond(http.StatusOK, answer)
}

// hypervisors are those that the query selects, and whether they are a page.
func hypervisors(q *wire.Request) (all []fleet.Hypervisor, paged bool, err error) {
	p := q.Page()
	pattern, searched := q.Last("hypervisor_hostname_pattern")
	if _, limited := q.Last("limit"); searched && (limited || p.Marker != "") {
		return nil, false, wire.BadRequest("") // such lists have no pages; Nova loses the message
	}
	if searched {
		all, err = hypervisorsLike(q, pattern)
		return all, false, err
	}
	if all, err = q.API.Fleet.Hypervisors(q.Context()); err != nil || q.Minor < 33 {
		return all, false, err
	}
	all, ok := wire.PageOf(all, p, func(h fleet.Hypervisor) string { return nodeID(q, h) })
	if !ok {
		return nil, false, wire.BadRequest("marker [%s] not found", p.Marker)
	}
	return all, true, nil
}

func withServers(q *wire.Request) bool {
	text, _ := q.Last("with_servers")
	with, _ := wire.ParseBool(text)
	return with
}

// hypervisorsLike are those with a text in their name.
func hypervisorsLike(q *wire.Request, text string) ([]fleet.Hypervisor, error) {
	all, err := q.API.Fleet.Hypervisors(q.Context())
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(h fleet.Hypervisor) bool { return !strings.Contains(h.Name, text) })
	if len(all) == 0 {
		return nil, wire.NotFound("No hypervisor matching '%s' could be found.", text)
	}
	return all, nil
}

func searchHypervisors(q *wire.Request, rule string, servers bool) error {
	if err := q.Can("os-hypervisors:"+rule, wire.CloudTarget); err != nil {
		return err
	}
	all, err := hypervisorsLike(q, q.Param("id"))
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, view.Object{hypervisorList(q, all, false, servers)})
}

// nodeID is the id of a hypervisor, a number before 2.53.
func nodeID(q *wire.Request, h fleet.Hypervisor) string {
	if q.Minor >= 53 {
		return string(h.ID)
	}
	return strconv.FormatInt(h.Number, 10)
}

func hypervisorList(q *wire.Request, all []fleet.Hypervisor, detail, servers bool) view.Member {
	return view.List("hypervisors", all, func(h fleet.Hypervisor) view.Object { return hypervisor(q, h, detail, servers) })
}

// hypervisor is what is shown of a hypervisor.
func hypervisor(q *wire.Request, h fleet.Hypervisor, detail, servers bool) view.Object {
	id := view.Int("id", h.Number)
	if q.Minor >= 53 {
		id = view.Text("id", h.ID)
	}
	shown := view.Object{
		id, view.Text("hypervisor_hostname", h.Name), view.Text("state", state(h.Service)),
		view.Text("status", status(h.Service)),
	}
	if detail {
		shown = append(shown, hypervisorDetail(q, h)...)
	}
	return shown.If(servers && (len(h.Servers) > 0 || q.Minor >= 75),
		view.List("servers", h.Servers, func(s compute.ServerUse) view.Object {
			return view.Object{view.Text("name", q.API.Fleet.InstanceName(s.ServerRow)), view.Text("uuid", s.ID)}
		}))
}

func hypervisorDetail(q *wire.Request, h fleet.Hypervisor) view.Object {
	shown := view.Object{
		view.Text("hypervisor_type", h.Type), view.Int("hypervisor_version", h.Version),
		view.TextOrNull("host_ip", h.Address),
		view.Nested("service", view.Object{
			serviceID(q, h.Service), view.Text("host", h.Host), view.TextOrNull("disabled_reason", h.Service.Reason),
		}),
	}
	if q.Minor >= 88 {
		return append(shown, view.Null("uptime")) // see uptime
	}
	shown = append(shown, capacity(h)...)
	if q.Minor < 28 {
		return append(shown, view.Text("cpu_info", string(h.CPU)))
	}
	cpu, _ := pyjson.Parse(h.CPU) // of another form: an empty object
	if cpu.Kind() != pyjson.Object {
		cpu = pyjson.NewObject()
	}
	return append(shown, view.JSON("cpu_info", cpu))
}

// capacity is what a hypervisor has, and what its servers have of it.
func capacity(h fleet.Hypervisor) view.Object {
	working := 0
	for _, s := range h.Servers {
		if s.Task != "" {
			working++
		}
	}
	freeDisk := h.DiskGB - h.Used.DiskGB
	return view.Object{
		view.Int("vcpus", h.VCPUs), view.Int("memory_mb", h.MemoryMB), view.Int("local_gb", h.DiskGB),
		view.Int("vcpus_used", h.Used.VCPUs), view.Int("memory_mb_used", h.Used.MemoryMB),
		view.Int("local_gb_used", h.Used.DiskGB),
		view.Int("free_ram_mb", h.MemoryMB-h.Used.MemoryMB), view.Int("free_disk_gb", freeDisk),
		view.Int("disk_available_least", freeDisk),
		view.Int("current_workload", working), view.Int("running_vms", len(h.Servers)),
	}
}

// hypervisorInPath is the one that the path names.
func hypervisorInPath(q *wire.Request) (fleet.Hypervisor, error) {
	id, err := nodeOrServiceID(q)
	absent := wire.NotFound("Hypervisor with ID '%s' could not be found.", q.Param("id"))
	if wire.IsFault(err, "InvalidInput") {
		err = absent
	}
	if err != nil {
		return fleet.Hypervisor{}, err
	}
	all, err := q.API.Fleet.Hypervisors(q.Context())
	if err != nil {
		return fleet.Hypervisor{}, err
	}
	if i := slices.IndexFunc(all, func(h fleet.Hypervisor) bool { return nodeID(q, h) == id }); i >= 0 {
		return all[i], nil
	}
	return fleet.Hypervisor{}, absent
}

func showHypervisor(q *wire.Request) error {
	if q.Minor >= 53 {
		if err := q.CheckQuery(hypervisorQuery2_53); err != nil {
			return err
		}
	}
	if err := q.Can("os-hypervisors:show", wire.CloudTarget); err != nil {
		return err
	}
	h, err := hypervisorInPath(q)
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, wire.Single("hypervisor", hypervisor(q, h, true, withServers(q))))
}

// uptime is what no driver here knows.
func uptime(q *wire.Request) error {
	if err := q.Can("os-hypervisors:uptime", wire.CloudTarget); err != nil {
		return err
	}
	if _, err := hypervisorInPath(q); err != nil {
		return err
	}
	return fault.New(fault.Unsupported, "NotImplementedError", "The requested functionality is not supported.")
}

// statistics adds up the hypervisors whose service is enabled.
func statistics(q *wire.Request) error {
	if err := q.Can("os-hypervisors:statistics", wire.CloudTarget); err != nil {
		return err
	}
	all, err := q.API.Fleet.Hypervisors(q.Context())
	if err != nil {
		return err
	}
	var sum fleet.Hypervisor
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
	return q.Respond(http.StatusOK,
		wire.Single("hypervisor_statistics", append(view.Object{view.Int("count", count)}, capacity(sum)...)))
}
