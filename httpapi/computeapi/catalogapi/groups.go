package catalogapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

func groupRoutes(a *wire.API) []httpapi.Route {
	return []httpapi.Route{
		a.List("/os-server-groups", 1, listGroups),
		a.Route(http.MethodPost, "/os-server-groups", 1, createGroup),
		a.Route(http.MethodGet, "/os-server-groups/{id}", 1, wire.NoQuery(showGroup)),
		a.Route(http.MethodDelete, "/os-server-groups/{id}", 1, deleteGroup),
	}
}

// groupPoliciesPart is a list of one policy.
func groupPoliciesPart(policies string) string {
	return `"name": ` + wire.NamePart + `, "policies": {"type": "array", "items": [{"type": "string", "enum": [` + policies + `]}],
		"uniqueItems": true, "minItems": 1, "maxItems": 1, "additionalItems": false}`
}

const (
	hardPolicies = `"anti-affinity", "affinity"`
	allPolicies  = hardPolicies + `, "soft-anti-affinity", "soft-affinity"`
)

var (
	groupCreateSchema2_1 = wire.BodySchema("server_group",
		wire.ObjectPart(groupPoliciesPart(hardPolicies), `"name", "policies"`))
	groupCreateSchema2_15 = wire.BodySchema("server_group",
		wire.ObjectPart(groupPoliciesPart(allPolicies), `"name", "policies"`))
	groupCreateSchema2_64 = wire.BodySchema("server_group", wire.ObjectPart(`"name": `+wire.NamePart+`,
		"policy": {"type": "string", "enum": [`+allPolicies+`]},
		"rules": `+wire.ObjectPart(`"max_server_per_host": `+wire.PositivePart, ""), `"name", "policy"`))

	groupsQuery = wire.NewQuery(false, "all_projects", wire.Repeated(wire.StringPart),
		"limit", wire.Repeated(wire.CountPart), "offset", wire.Repeated(wire.CountPart))
)

// groupCreateSchema is for the body of POST /os-server-groups.
func groupCreateSchema(minor int) *pyschema.Schema {
	switch {
	case minor >= 64:
		return groupCreateSchema2_64
	case minor >= 15:
		return groupCreateSchema2_15
	}
	return groupCreateSchema2_1
}

func listGroups(q *wire.Request) error {
	if err := q.CheckQuery(groupsQuery); err != nil {
		return err
	}
	if err := q.Can("os-server-groups:index", wire.OwnTarget); err != nil {
		return err
	}
	project := q.Caller.ProjectID
	if _, all := q.Last("all_projects"); all && q.IsAdmin() {
		if err := q.Can("os-server-groups:index:all_projects", wire.OwnTarget); err != nil {
			return err
		}
		project = ""
	}
	all, err := q.API.Catalog.Groups(q.Context(), project)
	if err != nil {
		return err
	}
	all = all[min(count(q, "offset"), len(all)):]
	limit := count(q, "limit")
	if limit == 0 {
		limit = q.API.Limit()
	}
	all = all[:min(limit, q.API.Limit(), len(all))]
	return q.Respond(http.StatusOK,
		view.Object{view.List("server_groups", all, func(g catalog.Group) view.Object { return group(q, g) })})
}

// count is a number in the query, 0 when it is not there.
func count(q *wire.Request, name string) int {
	text, ok := q.Last(name)
	if !ok {
		return 0
	}
	return wire.ParseCount(text)
}

// group is what is shown of a server group.
func group(q *wire.Request, g catalog.Group) view.Object {
	shown := view.Object{view.Text("id", g.ID), view.Text("name", g.Name), view.Texts("members", g.Members)}
	if q.Minor >= 64 {
		var rules view.Object
		rules = rules.If(g.MaxPerHost != 0, view.Int("max_server_per_host", g.MaxPerHost))
		shown = append(shown, view.Text("policy", g.Policy), view.Nested("rules", rules))
	} else {
		shown = append(shown, view.Texts("policies", []string{g.Policy}), view.TextMap("metadata", nil))
	}
	return shown.If(q.Minor >= 13, view.Text("project_id", g.Project), view.Text("user_id", g.User))
}

func createGroup(q *wire.Request) error {
	v, err := q.CheckMember(groupCreateSchema(q.Minor), "server_group")
	if err != nil {
		return err
	}
	if err := q.Can("os-server-groups:create", wire.OwnTarget); err != nil {
		return err
	}
	g, err := q.API.Catalog.CreateGroup(q.Context(), newGroup(q, v))
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, wire.Single("server_group", group(q, g)))
}

func newGroup(q *wire.Request, v pyjson.Value) compute.GroupRow {
	name, _ := v.Get("name")
	policy, _ := v.Get("policy")
	if list, ok := v.Get("policies"); ok {
		policy = list.Items()[0] // the schema has seen to it
	}
	row := compute.GroupRow{Project: q.Caller.ProjectID, User: q.Caller.UserID, Name: name.Str(), Policy: policy.Str()}
	rules, _ := v.Get("rules")
	if n, ok := rules.Get("max_server_per_host"); ok {
		row.MaxPerHost = int(wire.Number(n))
	}
	return row
}

// groupInPath is the group that the path names. Those of other projects are not there
// but for administrators.
func groupInPath(q *wire.Request, rule string) (catalog.Group, error) {
	g, err := q.API.Catalog.Group(q.Context(), compute.ID(q.Param("id")))
	if err == nil && g.Project != q.Caller.ProjectID && !q.IsAdmin() {
		err = fault.New(fault.NotFound, "InstanceGroupNotFound", "Instance group %s could not be found.", g.ID)
	}
	if err != nil {
		return g, err
	}
	return g, q.Can("os-server-groups:"+rule, wire.OfProject(g.Project))
}

func showGroup(q *wire.Request) error {
	g, err := groupInPath(q, "show")
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, wire.Single("server_group", group(q, g)))
}

func deleteGroup(q *wire.Request) error {
	g, err := groupInPath(q, "delete")
	if err != nil {
		return err
	}
	if err := q.API.Catalog.DeleteGroup(q.Context(), g.ID); err != nil {
		return err
	}
	return q.Done(http.StatusNoContent)
}
