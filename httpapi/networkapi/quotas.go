package networkapi

import (
	"maps"
	"math"
	"net/http"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

func (a *API) quotaRoutes() []httpapi.Route {
	const all, one = "/v2.0/quotas", "/v2.0/quotas/{id}"
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: all, Handle: a.listQuotas},
		{Method: http.MethodGet, Pattern: one, Handle: a.getQuota},
		{Method: http.MethodPut, Pattern: one, Handle: a.setQuota},
		{Method: http.MethodDelete, Pattern: one, Handle: a.deleteQuota},
		{Method: http.MethodGet, Pattern: one + "/default", Handle: a.getDefaultQuota},
		{Method: http.MethodGet, Pattern: one + "/details.json", Handle: a.getQuotaDetails},
		{Method: http.MethodGet, Pattern: one + "/details", Handle: a.getQuotaDetails},
	}
}

// mayQuota checks the rule of an action on a project's quota. A project may read its own.
func (a *API) mayQuota(r *http.Request, action string) error {
	project := httpapi.Param(r, "id")
	caller, _ := identity.From(r.Context())
	if action == "get_quota" && project != "" && project == caller.ProjectID {
		return nil
	}
	return a.access().Allow(r.Context(), action, resource.OwnedBy(project))
}

// quotaValue is limits as the API shows them.
func quotaValue(q network.Quotas, one func(resource string) pyjson.Value) pyjson.Value {
	var members []pyjson.Member
	for _, resource := range slices.Sorted(maps.Keys(q)) {
		members = append(members, pyjson.Member{Key: resource, Value: one(resource)})
	}
	return pyjson.NewObject(members...)
}

func limits(q network.Quotas) pyjson.Value {
	return quotaValue(q, func(resource string) pyjson.Value { return pyjson.Of(q[resource]) })
}

func respondValue(w http.ResponseWriter, v pyjson.Value) error {
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { j.Value(v) })
}

// listQuotas lists the projects that have limits of their own.
func (a *API) listQuotas(w http.ResponseWriter, r *http.Request) error {
	if err := a.mayQuota(r, "get_quota"); err != nil {
		return err
	}
	own, err := a.Network.OwnQuotas(r.Context())
	if err != nil {
		return err
	}
	return respondValue(w,
		pyjson.NewObject(pyjson.M("quotas", resource.List(slices.Sorted(maps.Keys(own)), func(project string) pyjson.Value {
			names := pyjson.NewObject(pyjson.M("project_id", project), pyjson.M("tenant_id", project))
			return pyjson.NewObject(append(limits(own[project]).Members(), names.Members()...)...)
		}))))
}

func (a *API) getQuota(w http.ResponseWriter, r *http.Request) error {
	project := httpapi.Param(r, "id")
	if project == "tenant" || project == "project" {
		caller, _ := identity.From(r.Context())
		return respondValue(w,
			pyjson.NewObject(pyjson.M(project, pyjson.NewObject(pyjson.M(project+"_id", caller.ProjectID)))))
	}
	if err := a.mayQuota(r, "get_quota"); err != nil {
		return err
	}
	q, err := a.Network.Quotas(r.Context(), project)
	if err != nil {
		return err
	}
	return respondValue(w, pyjson.NewObject(pyjson.M("quota", limits(q))))
}

func (a *API) getDefaultQuota(w http.ResponseWriter, r *http.Request) error {
	if err := a.mayQuota(r, "get_quota"); err != nil {
		return err
	}
	return respondValue(w, pyjson.NewObject(pyjson.M("quota", limits(a.Network.DefaultQuotas()))))
}

func (a *API) getQuotaDetails(w http.ResponseWriter, r *http.Request) error {
	if caller, _ := identity.From(r.Context()); caller.ProjectID != httpapi.Param(r, "id") &&
		!a.access().IsAdmin(r.Context()) {
		return fault.New(fault.Denied, "AdminRequired",
			"User does not have admin privileges: Only admin is authorized to access quotas for another project.")
	}
	if err := a.mayQuota(r, "get_quota"); err != nil {
		return err
	}
	project := httpapi.Param(r, "id")
	q, err := a.Network.Quotas(r.Context(), project)
	if err != nil {
		return err
	}
	used, err := a.Network.Usage(r.Context(), project)
	if err != nil {
		return err
	}
	return respondValue(w, pyjson.NewObject(pyjson.M("quota", quotaValue(q, func(resource string) pyjson.Value {
		return pyjson.NewObject(pyjson.M("limit", q[resource]), pyjson.M("used", used[resource]), pyjson.M("reserved", 0))
	}))))
}

// setQuota changes limits of a project.
func (a *API) setQuota(w http.ResponseWriter, r *http.Request) error {
	if err := a.mayQuota(r, "update_quota"); err != nil {
		return err
	}
	v, err := resource.ReadBody(r)
	if err != nil {
		return err
	}
	item, err := resource.MemberObject(v, "quota")
	if err != nil {
		return err
	}
	q, check, err := quotasOf(a.Network.DefaultQuotas(), item)
	if err != nil {
		return err
	}
	if q, err = a.Network.SetQuotas(r.Context(), httpapi.Param(r, "id"), q, check); err != nil {
		return err
	}
	return respondValue(w, pyjson.NewObject(pyjson.M("quota", limits(q))))
}

// quotasOf reads limits, and whether they are checked against the current usage.
func quotasOf(known network.Quotas, item pyjson.Value) (q network.Quotas, check bool, err error) {
	table := []resource.Attribute[struct{}, struct{}]{
		{Name: "check_limit", Use: put, Convert: resource.ToBool},
		{Name: "force", Use: put, Convert: resource.ToBool},
		{Name: "tenant_id", Use: put},
		{Name: "project_id", Use: put},
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		table = append(table, resource.Attribute[struct{}, struct{}]{
			Name: name, Use: put, Convert: resource.ToInt, Check: resource.Between(-1, math.MaxInt32),
		})
	}
	b, err := resource.Read(table, item, false)
	if err != nil {
		return nil, false, err
	}
	q = network.Quotas{}
	for name := range known {
		if v, ok := b.Values[name]; ok {
			q[name], _ = v.Int64()
		}
	}
	return q, b.Values["check_limit"].Bool(), nil
}

func (a *API) deleteQuota(w http.ResponseWriter, r *http.Request) error {
	if err := a.mayQuota(r, "delete_quota"); err != nil {
		return err
	}
	if err := a.Network.ResetQuotas(r.Context(), httpapi.Param(r, "id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
