package identityapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/identity/local"
)

// Region is the only region.
const Region = "RegionOne"

// derived returns a constant id, derived from a text.
func derived(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

func roleID(name string) string { return derived("role " + name) }

// interfaces are those that endpoints have, all at the same address.
var interfaces = []string{"public", "internal", "admin"}

// entries are the catalog.
func (a *API) entries() []object {
	all := []object{}
	for _, s := range a.Directory.Services() {
		all = append(all, object{
			"id": derived("service " + s.Type), "type": s.Type, "name": s.Name, "endpoints": endpoints(s),
		})
	}
	return all
}

func endpoints(s local.Service) (all []object) {
	for _, i := range interfaces {
		all = append(all, object{
			"id": derived("endpoint " + s.Type + " " + i), "interface": i, "region_id": Region, "region": Region, "url": s.URL,
		})
	}
	return all
}

// A list is a kind of objects that can be listed and shown.
type list struct {
	one, many string
	all       func() []object
	// own reports whether an object belongs to the caller, who may read it without being an
	// administrator. Nil: none does.
	own func(t *local.Token, o object) bool
}

// filters are the query parameters of lists.
var filters = []string{"name", "type", "domain_id", "service_id", "interface", "enabled"}

func (a *API) lists() []list {
	return []list{
		{
			one: "project", many: "projects", all: a.projects,
			own: func(t *local.Token, _ object) bool { return t.Scope.Project },
		},
		{one: "user", many: "users", all: a.users, own: func(t *local.Token, o object) bool { return o["id"] == t.User.ID }},
		{one: "role", many: "roles", all: a.roles},
		{one: "domain", many: "domains", all: domains},
		{one: "service", many: "services", all: a.services},
		{one: "endpoint", many: "endpoints", all: a.endpoints},
		{one: "region", many: "regions", all: regions},
	}
}

func (a *API) projects() []object {
	return []object{{
		"id": a.Directory.Project.ID, "name": a.Directory.Project.Name, "domain_id": local.DomainID,
		"parent_id":   local.DomainID,
		"description": "", "enabled": true, "is_domain": false, "tags": []string{}, "options": object{},
	}}
}

func (a *API) users() (all []object) {
	for _, u := range a.Directory.Users() {
		all = append(all, object{
			"id": u.ID, "name": u.Name, "domain_id": local.DomainID, "default_project_id": a.Directory.Project.ID,
			"enabled": true, "password_expires_at": nil, "options": object{},
		})
	}
	return all
}

func (a *API) roles() (all []object) {
	var names []string
	for _, u := range a.Directory.Users() {
		names = append(names, u.Roles...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		all = append(all, object{"id": roleID(name), "name": name, "domain_id": nil, "description": nil, "options": object{}})
	}
	return all
}

func domains() []object {
	return []object{{
		"id": local.DomainID, "name": local.DomainName, "description": "", "enabled": true, "tags": []string{},
		"options": object{},
	}}
}

func regions() []object {
	return []object{{"id": Region, "description": "", "parent_region_id": nil}}
}

func (a *API) services() (all []object) {
	for _, s := range a.Directory.Services() {
		all = append(all, object{"id": derived("service " + s.Type), "type": s.Type, "name": s.Name, "enabled": true})
	}
	return all
}

func (a *API) endpoints() (all []object) {
	for _, s := range a.Directory.Services() {
		for _, e := range endpoints(s) {
			e["service_id"], e["enabled"] = derived("service "+s.Type), true
			all = append(all, e)
		}
	}
	return all
}

// links are those of a list.
func links(r *http.Request) object {
	return object{"self": httpserver.AbsoluteURL(r, r.URL.Path), "next": nil, "previous": nil}
}

// routes are those of one list. Requests for changes are answered with the reason for their
// refusal.
func (l list) routes(a *API) []httpapi.Route {
	path := "/v3/" + l.many
	routes := []httpapi.Route{
		{Method: http.MethodGet, Pattern: path, Handle: l.index(a)},
		{Method: http.MethodGet, Pattern: path + "/{id}", Handle: l.show(a)},
		{Method: http.MethodPost, Pattern: path, Handle: l.refuse},
	}
	for _, method := range []string{http.MethodPatch, http.MethodPut, http.MethodDelete} {
		routes = append(routes, httpapi.Route{Method: method, Pattern: path + "/{id}", Handle: l.refuse})
	}
	return routes
}

func (l list) refuse(http.ResponseWriter, *http.Request) error {
	return forbidden("This identity service is for one machine: its " + l.many +
		" are what they are. Use Keystone to change any.")
}

func (l list) index(a *API) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		t, err := a.caller(r)
		if err != nil {
			return err
		}
		if !t.Admin() {
			return forbidden("You are not authorized to list " + l.many + ".")
		}
		found := []object{}
		for _, o := range l.all() {
			if matches(o, r) {
				found = append(found, l.linked(o, r))
			}
		}
		return respond(w, http.StatusOK, object{l.many: found, "links": links(r)})
	}
}

func matches(o object, r *http.Request) bool {
	query := r.URL.Query()
	for _, name := range filters {
		if _, has := o[name]; !has || !query.Has(name) {
			continue
		}
		if value, ok := o[name].(string); ok && value != query.Get(name) {
			return false
		}
	}
	return true
}

func (l list) linked(o object, r *http.Request) object {
	o["links"] = object{"self": httpserver.AbsoluteURL(r, "/v3/"+l.many+"/"+o["id"].(string))}
	return o
}

func (l list) show(a *API) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		t, err := a.caller(r)
		if err != nil {
			return err
		}
		id := httpapi.Param(r, "id")
		for _, o := range l.all() {
			if o["id"] != id {
				continue
			}
			if t.Admin() || l.own != nil && l.own(t, o) {
				return respond(w, http.StatusOK, object{l.one: l.linked(o, r)})
			}
		}
		if !t.Admin() {
			return forbidden("You are not authorized to see that " + l.one + ".")
		}
		return notFound(l.one + ": " + id)
	}
}

// assignments lists which roles users have in the project, those that others imply included.
func (a *API) assignments(w http.ResponseWriter, r *http.Request) error {
	t, err := a.caller(r)
	if err != nil {
		return err
	}
	if !t.Admin() {
		return forbidden("You are not authorized to list role_assignments.")
	}
	query := r.URL.Query()
	cur := func(filter, id string) bool { return !query.Has(filter) || query.Get(filter) == id }
	shown := func(id, name string, more object) object {
		o := object{"id": id}
		if query.Has("include_names") {
			o["name"] = name
			for key, value := range more {
				o[key] = value
			}
		}
		return o
	}
	domain := object{"domain": object{"id": local.DomainID, "name": local.DomainName}}
	found, project := []object{}, a.Directory.Project
	for _, u := range a.Directory.Users() {
		for _, role := range u.Roles {
			if cur("user.id", u.ID) && cur("role.id", roleID(role)) && cur("scope.project.id", project.ID) {
				found = append(found, object{
					"user": shown(u.ID, u.Name, domain), "role": shown(roleID(role), role, nil),
					"scope": object{"project": shown(project.ID, project.Name, domain)},
					"links": object{
						"assignment": httpserver.AbsoluteURL(r, "/v3/projects/"+project.ID+"/users/"+u.ID+"/roles/"+roleID(role)),
					},
				})
			}
		}
	}
	return respond(w, http.StatusOK, object{"role_assignments": found, "links": links(r)})
}

// ownProjects lists those that the caller may work in.
func (a *API) ownProjects(w http.ResponseWriter, r *http.Request) error {
	return respond(w, http.StatusOK, object{"projects": a.projects(), "links": links(r)})
}
