package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) flavorAccessRoutes() []httpapi.Route {
	return []httpapi.Route{
		a.route(http.MethodGet, "/flavors/{flavor}/os-flavor-access", 1, (*request).listAccess),
		a.route(http.MethodPost, "/flavors/{flavor}/action", 1, act(
			action{"addTenantAccess", (*request).addAccess},
			action{"removeTenantAccess", (*request).removeAccess},
		)),
	}
}

func (q *request) listAccess() error {
	if err := q.can("os-flavor-access", own); err != nil {
		return err
	}
	projects, err := q.api.Compute.FlavorAccess(q.Context(), q.viewer(), q.flavorID())
	if err != nil {
		return err
	}
	return q.respondAccess(projects)
}

// addAccess grants a project access to a flavor. Before 2.7 a public one is no error.
func (q *request) addAccess() error {
	v, err := q.checked(addAccessSchema, "addTenantAccess")
	if err != nil {
		return err
	}
	if err := q.can("os-flavor-access:add_tenant_access", nobodys); err != nil {
		return err
	}
	if _, err := q.flavor(); err != nil {
		return err
	}
	project, _ := v.Get("tenant")
	projects, err := q.api.Compute.AllowFlavor(q.Context(), q.flavorID(), project.Str(), q.minor >= 7)
	if err != nil {
		return err
	}
	return q.respondAccess(projects)
}

func (q *request) removeAccess() error {
	v, err := q.checked(removeAccessSchema, "removeTenantAccess")
	if err != nil {
		return err
	}
	if err := q.can("os-flavor-access:remove_tenant_access", nobodys); err != nil {
		return err
	}
	if _, err := q.flavor(); err != nil {
		return err
	}
	project, _ := v.Get("tenant")
	projects, err := q.api.Compute.DenyFlavor(q.Context(), q.flavorID(), project.Str())
	if err != nil {
		return err
	}
	return q.respondAccess(projects)
}

func (q *request) respondAccess(projects []string) error {
	return q.respond(http.StatusOK, view.Object{view.List("flavor_access", projects, func(project string) view.Object {
		return view.Object{view.Text("flavor_id", q.param("flavor")), view.Text("tenant_id", project)}
	})})
}
