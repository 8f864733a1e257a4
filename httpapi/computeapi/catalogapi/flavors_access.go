package catalogapi

import (
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/view"
)

func flavorAccessRoutes(a *wire.API) []httpapi.Route {
	return []httpapi.Route{
		a.Route(http.MethodGet, "/flavors/{flavor}/os-flavor-access", 1, wire.NoQuery(listAccess)),
		a.Route(http.MethodPost, "/flavors/{flavor}/action", 1, wire.ByAction(wire.Actions{
			"addTenantAccess":    addAccess,
			"removeTenantAccess": removeAccess,
		})),
	}
}

func listAccess(q *wire.Request) error {
	if err := q.Can("os-flavor-access", wire.OwnTarget); err != nil {
		return err
	}
	projects, err := q.API.Catalog.FlavorAccess(q.Context(), q.Viewer(), flavorID(q))
	if err != nil {
		return err
	}
	return respondAccess(q, projects)
}

// addAccess grants a project access to a flavor. Before 2.7 a public one is no error.
func addAccess(q *wire.Request) error {
	v, err := q.CheckMember(addAccessSchema, "addTenantAccess")
	if err != nil {
		return err
	}
	if err := q.Can("os-flavor-access:add_tenant_access", wire.CloudTarget); err != nil {
		return err
	}
	if _, err := flavor(q); err != nil {
		return err
	}
	project, _ := v.Get("tenant")
	projects, err := q.API.Catalog.AllowFlavor(q.Context(), flavorID(q), project.Str(), q.Minor >= 7)
	if err != nil {
		return err
	}
	return respondAccess(q, projects)
}

func removeAccess(q *wire.Request) error {
	v, err := q.CheckMember(removeAccessSchema, "removeTenantAccess")
	if err != nil {
		return err
	}
	if err := q.Can("os-flavor-access:remove_tenant_access", wire.CloudTarget); err != nil {
		return err
	}
	if _, err := flavor(q); err != nil {
		return err
	}
	project, _ := v.Get("tenant")
	projects, err := q.API.Catalog.DenyFlavor(q.Context(), flavorID(q), project.Str())
	if err != nil {
		return err
	}
	return respondAccess(q, projects)
}

func respondAccess(q *wire.Request, projects []string) error {
	return q.Respond(http.StatusOK, view.Object{view.List("flavor_access", projects, func(project string) view.Object {
		return view.Object{view.Text("flavor_id", q.Param("flavor")), view.Text("tenant_id", project)}
	})})
}
