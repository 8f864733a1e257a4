package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) groupRoutes() []httpapi.Route {
	return []httpapi.Route{
		a.list("/os-server-groups", 1, (*request).listGroups),
		a.route(http.MethodPost, "/os-server-groups", 1, (*request).createGroup),
		a.route(http.MethodGet, "/os-server-groups/{id}", 1, (*request).showGroup),
		a.route(http.MethodDelete, "/os-server-groups/{id}", 1, (*request).deleteGroup),
	}
}

// groupPoliciesPart is a list of one policy.
func groupPoliciesPart(policies string) string {
	return `"name": ` + namePart + `, "policies": {"type": "array", "items": [{"type": "string", "enum": [` + policies + `]}],
		"uniqueItems": true, "minItems": 1, "maxItems": 1, "additionalItems": false}`
}

const (
	hardPolicies = `"anti-affinity", "affinity"`
	allPolicies  = hardPolicies + `, "soft-anti-affinity", "soft-affinity"`
)

var (
	groupCreateSchema2_1  = bodySchema("server_group", objectPart(groupPoliciesPart(hardPolicies), `"name", "policies"`))
	groupCreateSchema2_15 = bodySchema("server_group", objectPart(groupPoliciesPart(allPolicies), `"name", "policies"`))
	groupCreateSchema2_64 = bodySchema("server_group", objectPart(`"name": `+namePart+`,
		"policy": {"type": "string", "enum": [`+allPolicies+`]},
		"rules": `+objectPart(`"max_server_per_host": `+positivePart, ""), `"name", "policy"`))

	groupsQuery = newQuery(false, "all_projects", many(stringPart), "limit", many(countPart), "offset", many(countPart))
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

func (q *request) listGroups() error {
	if err := q.checkQuery(groupsQuery); err != nil {
		return err
	}
	if err := q.can("os-server-groups:index", own); err != nil {
		return err
	}
	project := q.caller.ProjectID
	if _, all := q.last("all_projects"); all && q.isAdmin() {
		if err := q.can("os-server-groups:index:all_projects", own); err != nil {
			return err
		}
		project = ""
	}
	all, err := q.api.Compute.Groups(q.Context(), project)
	if err != nil {
		return err
	}
	all = all[min(q.count("offset"), len(all)):]
	limit := q.count("limit")
	if limit == 0 {
		limit = q.api.maxLimit()
	}
	all = all[:min(limit, q.api.maxLimit(), len(all))]
	return q.respond(http.StatusOK, view.Object{view.List("server_groups", all, q.group)})
}

// count is a number in the query, 0 when it is not there.
func (q *request) count(name string) int {
	text, ok := q.last(name)
	if !ok {
		return 0
	}
	return atoi(text)
}

// group is what is shown of a server group.
func (q *request) group(g compute.Group) view.Object {
	shown := view.Object{view.Text("id", g.ID), view.Text("name", g.Name), view.Texts("members", g.Members)}
	if q.minor >= 64 {
		var rules view.Object
		rules = rules.If(g.MaxPerHost != 0, view.Int("max_server_per_host", g.MaxPerHost))
		shown = append(shown, view.Text("policy", g.Policy), view.Nested("rules", rules))
	} else {
		shown = append(shown, view.Texts("policies", []string{g.Policy}), view.TextMap("metadata", nil))
	}
	return shown.If(q.minor >= 13, view.Text("project_id", g.Project), view.Text("user_id", g.User))
}

func (q *request) createGroup() error {
	v, err := q.checked(groupCreateSchema(q.minor), "server_group")
	if err != nil {
		return err
	}
	if err := q.can("os-server-groups:create", own); err != nil {
		return err
	}
	g, err := q.api.Compute.CreateGroup(q.Context(), q.newGroup(v))
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, single("server_group", q.group(g)))
}

func (q *request) newGroup(v pyjson.Value) compute.GroupRow {
	name, _ := v.Get("name")
	policy, _ := v.Get("policy")
	if list, ok := v.Get("policies"); ok {
		policy = list.Items()[0] // the schema has seen to it
	}
	row := compute.GroupRow{Project: q.caller.ProjectID, User: q.caller.UserID, Name: name.Str(), Policy: policy.Str()}
	rules, _ := v.Get("rules")
	if n, ok := rules.Get("max_server_per_host"); ok {
		row.MaxPerHost = int(number(n))
	}
	return row
}

// groupInPath is the group that the path names. Those of other projects are not there
// but for administrators.
func (q *request) groupInPath(rule string) (compute.Group, error) {
	g, err := q.api.Compute.Group(q.Context(), compute.ID(q.param("id")))
	if err == nil && g.Project != q.caller.ProjectID && !q.isAdmin() {
		err = fault.New(fault.NotFound, "InstanceGroupNotFound", "Instance group %s could not be found.", g.ID)
	}
	if err != nil {
		return g, err
	}
	return g, q.can("os-server-groups:"+rule, ofProject(g.Project))
}

func (q *request) showGroup() error {
	g, err := q.groupInPath("show")
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, single("server_group", q.group(g)))
}

func (q *request) deleteGroup() error {
	g, err := q.groupInPath("delete")
	if err != nil {
		return err
	}
	if err := q.api.Compute.DeleteGroup(q.Context(), g.ID); err != nil {
		return err
	}
	return q.done(http.StatusNoContent)
}
