package serversapi

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/view"
)

func listServers(q *wire.Request, detail bool) error {
	if err := q.CheckQuery(serversSchema(q)); err != nil {
		return err
	}
	rule, collection := "servers:index", "servers"
	if detail {
		rule, collection = "servers:detail", "servers/detail"
	}
	if err := q.Can(rule, wire.OwnTarget); err != nil {
		return err
	}
	all, err := selectServers(q, rule)
	if err != nil {
		return err
	}
	answer := view.Object{view.List("servers", all, func(s servers.Server) view.Object {
		if detail {
			return serverView(q, s, shownParts{whole: true})
		}
		return view.Object{view.Text("id", s.ID), view.Text("name", s.Name), q.Links("servers", string(s.ID))}
	})}
	if n := len(all); n > 0 {
		answer = append(answer, q.NextLink("servers_links", collection, n, string(all[n-1].ID))...)
	}
	return q.Respond(http.StatusOK, answer)
}

// selectServers are those that the query selects.
func selectServers(q *wire.Request, rule string) ([]servers.Server, error) {
	dropFilters(q)
	for name := range q.Query {
		if slices.Contains(joinedParams, name) || strings.HasPrefix(name, "_") {
			return nil, wire.BadRequest("Invalid filter field: %s.", name)
		}
	}
	f, some, err := serverFilter(q)
	if err != nil {
		return nil, err
	}
	if err := whose(q, &f, rule); err != nil {
		return nil, err
	}
	p, err := serverPage(q)
	if err != nil || !some || p.Limit == 0 {
		return nil, err
	}
	all, err := q.API.Servers.Servers(q.Context(), f, p)
	if wire.IsFault(err, "MarkerNotFound") {
		err = wire.BadRequest("marker [%s] not found", p.Marker)
	}
	return all, err
}

// dropFilters forgets the filters that policy does not let the caller use.
func dropFilters(q *wire.Request) {
	if q.May("servers:allow_all_filters", wire.OwnTarget) {
		return
	}
	allowed := []string{
		"reservation_id", "name", "status", "image", "flavor", "ip", "changes-since", "all_tenants",
		"limit", "marker", "sort_key", "sort_dir",
	}
	if q.Minor >= 5 {
		allowed = append(allowed, "ip6")
	}
	if q.Minor >= 26 {
		allowed = append(allowed, tagParams...)
	}
	if q.Minor >= 66 {
		allowed = append(allowed, "changes-before")
	}
	if q.Minor >= 73 {
		allowed = append(allowed, "locked")
	}
	if q.Minor >= 83 {
		allowed = append(allowed, "availability_zone", "config_drive", "key_name", "created_at", "launched_at",
			"terminated_at",
			"power_state", "task_state", "vm_state", "progress", "user_id")
	}
	if q.Minor >= 90 {
		allowed = append(allowed, "hostname")
	}
	for name := range q.Query {
		if !slices.Contains(allowed, name) {
			delete(q.Query, name)
		}
	}
}

// serverFilter reads the filters but for the project, and reports false when nothing
// can pass them.
func serverFilter(q *wire.Request) (f servers.ServerFilter, some bool, err error) {
	some = true
	for name, values := range q.Query {
		if field := expressionOf(&f, name); field != nil {
			if *field, err = wire.Expression(name, values[len(values)-1]); err != nil {
				return f, false, err
			}
		}
	}
	text := func(name string) string { t, _ := q.Last(name); return t }
	f.User, f.Host, f.Flavor = text("user_id"), text("host"), compute.ID(text("flavor"))
	f.Image = compute.ID(text("image_ref") + text("image"))
	if id, ok := q.Last("uuid"); ok {
		f.IDs = []compute.ID{compute.ID(id)}
	}
	for name, list := range map[string]*[]string{"vm_state": &f.States, "task_state": &f.Tasks} {
		if t, ok := q.Last(name); ok {
			*list = []string{t}
		}
	}
	for name, list := range map[string]*[]string{
		"tags": &f.Tags, "tags-any": &f.AnyTags, "not-tags": &f.NotTags, "not-tags-any": &f.NotAnyTags,
	} {
		if t, ok := q.Last(name); ok {
			*list = strings.Split(t, ",")
		}
	}
	if f.ChangedSince, f.ChangedBefore, err = times(q); err != nil {
		return f, false, err
	}
	if t, ok := q.Last("locked"); ok {
		locked, known := wire.ParseBool(t)
		if !known {
			return f, false, unknownTruth(t)
		}
		f.Locked = &locked
	}
	if deleted, _ := wire.ParseBool(text("deleted")); deleted {
		some = false // deleted servers are not kept
	}
	if statuses := q.Query["status"]; len(statuses) > 0 {
		cur, err := filterStatus(q, &f, statuses)
		return f, some && cur, err
	}
	return f, some, nil
}

// expressionOf is where a filter keeps the expression of a parameter, nil for one that
// is none.
func expressionOf(f *servers.ServerFilter, name string) **regexp.Regexp {
	switch name {
	case "name", "display_name":
		return &f.Name
	case "hostname":
		return &f.Hostname
	case "description", "display_description":
		return &f.Description
	case "availability_zone":
		return &f.Zone
	case "key_name":
		return &f.KeyName
	case "node":
		return &f.Node
	case "reservation_id":
		return &f.Reservation
	case "ip":
		return &f.IPv4
	case "ip6":
		return &f.IPv6
	case "config_drive":
		return &f.ConfigDrive
	case "power_state":
		return &f.Power
	case "progress":
		return &f.Progress
	case "created_at":
		return &f.Created
	case "launched_at":
		return &f.Launched
	case "terminated_at":
		return &f.Terminated
	case "access_ip_v4":
		return &f.AccessIPv4
	case "access_ip_v6":
		return &f.AccessIPv6
	}
	return nil
}

// filterStatus adds the states that are called so, and reports false for a status
// that there is not, which is a mistake since 2.38.
func filterStatus(q *wire.Request, f *servers.ServerFilter, statuses []string) (some bool, err error) {
	called := func(status string) bool {
		return slices.ContainsFunc(statuses, func(s string) bool { return strings.EqualFold(s, status) })
	}
	anyTask := false
	f.States, f.Tasks = nil, nil
	for _, state := range serverStates {
		byDefault := called(state.status)
		anyTask = anyTask || byDefault
		in := byDefault
		for task, status := range state.tasks {
			if called(status) {
				in = true
				f.Tasks = append(f.Tasks, task)
			}
		}
		if in {
			f.States = append(f.States, state.name)
		}
	}
	if anyTask {
		f.Tasks = nil
	}
	switch {
	case len(f.States) == 0 && q.Minor >= 38:
		return false, wire.BadRequest("Invalid status value")
	case len(f.States) == 1 && f.States[0] == compute.Deleted && !q.IsAdmin():
		return false, fault.New(fault.Denied, "HTTPForbidden", "Only administrators may list deleted instances")
	}
	return len(f.States) > 0, nil
}

// whose adds the project to a filter: the caller's, unless the query is for all.
func whose(q *wire.Request, f *servers.ServerFilter, rule string) error {
	text, all := q.Last("all_tenants")
	if text != "" {
		var ok bool
		if all, ok = wire.ParseBool(text); !ok {
			return unknownTruth(text)
		}
	}
	if !all {
		f.Project = q.Caller.ProjectID
		return nil
	}
	f.Project, _ = q.Last("project_id")
	if tenant, ok := q.Last("tenant_id"); ok {
		f.Project = tenant
	}
	return q.Can(rule+":get_all_tenants", wire.OwnTarget)
}

// unknownTruth refuses what is neither true nor false.
func unknownTruth(text string) error {
	return fault.New(fault.Invalid, "InvalidInput", "Unrecognized value '%s', acceptable values are: "+
		"'0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'", text)
}

// serverPage reads the requested page and order.
func serverPage(q *wire.Request) (servers.Page, error) {
	at := q.Page()
	p := servers.Page{Marker: compute.ID(at.Marker), Limit: at.Limit}
	if !q.IsAdmin() {
		p.Project = q.Caller.ProjectID
	}
	keys, dirs := q.Query["sort_key"], q.Query["sort_dir"]
	if len(keys) == 0 {
		keys = []string{"created_at"}
	}
	if len(dirs) == 0 {
		dirs = []string{"desc"}
	}
	sorted := map[string]bool{} // by what comes first: the same key once more changes nothing
	for i, key := range keys {
		dir := dirs[0]
		if i < len(dirs) {
			dir = strings.TrimSpace(dirs[i])
		}
		key = strings.TrimSpace(key)
		switch {
		case slices.Contains(ignoredSorts, key) && (key != "locked" || q.Minor < 73):
			continue
		case (key == "host" || key == "node") && !q.IsAdmin():
			return p, fault.New(fault.Denied, "HTTPForbidden", "Only administrators can sort servers by %s", key)
		case dir != "asc" && dir != "desc":
			return p, fault.New(fault.Invalid, "InvalidInput",
				"Invalid input received: Unknown sort direction, must be 'desc' or 'asc'")
		}
		if sorted[key] {
			continue
		}
		sorted[key] = true
		p.Sort = append(p.Sort, servers.SortKey{Key: key, Descending: dir == "desc"})
	}
	if len(dirs) > len(keys) {
		return p, fault.New(fault.Invalid, "InvalidInput",
			"Invalid input received: Sort direction size exceeds sort key size")
	}
	return p, nil
}
