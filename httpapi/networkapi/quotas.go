package networkapi

import (
	"math"
	"net/http"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
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
	return a.allow(r.Context(), action, owner(project))
}

// quotaValue is limits as the API shows them.
func quotaValue(q network.Quotas, one func(resource string) pyjson.Value) pyjson.Value {
	var members []pyjson.Member
	for _, resource := range sortedKeys(q) {
		members = append(members, pyjson.Member{Key: resource, Value: one(resource)})
	}
	return pyjson.NewObject(members...)
}

func limits(q network.Quotas) pyjson.Value {
	return quotaValue(q, func(resource string) pyjson.Value { return valueOf(q[resource]) })
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
	return respondValue(w, object("quotas", array(sortedKeys(own), func(project string) pyjson.Value {
		names := object("project_id", project, "tenant_id", project)
		return pyjson.NewObject(append(limits(own[project]).Members(), names.Members()...)...)
	})))
}

func (a *API) getQuota(w http.ResponseWriter, r *http.Request) error {
	project := httpapi.Param(r, "id")
	if project == "tenant" || project == "project" {
		caller, _ := identity.From(r.Context())
		return respondValue(w, object(project, object(project+"_id", caller.ProjectID)))
	}
	if err := a.mayQuota(r, "get_quota"); err != nil {
		return err
	}
	q, err := a.Network.Quotas(r.Context(), project)
	if err != nil {
		return err
	}
	return respondValue(w, object("quota", limits(q)))
}

func (a *API) getDefaultQuota(w http.ResponseWriter, r *http.Request) error {
	if err := a.mayQuota(r, "get_quota"); err != nil {
		return err
	}
	return respondValue(w, object("quota", limits(a.Network.DefaultQuotas())))
}

func (a *API) getQuotaDetails(w http.ResponseWriter, r *http.Request) error {
	if caller, _ := identity.From(r.Context()); caller.ProjectID != httpapi.Param(r, "id") && !a.isAdmin(r.Context()) {
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
	return respondValue(w, object("quota", quotaValue(q, func(resource string) pyjson.Value {
		return object("limit", q[resource], "used", used[resource], "reserved", 0)
	})))
}

// setQuota changes limits of a project.
func (a *API) setQuota(w http.ResponseWriter, r *http.Request) error {
	if err := a.mayQuota(r, "update_quota"); err != nil {
		return err
	}
	v, err := readBody(r)
	if err != nil {
		return err
	}
	item, err := member(v, "quota")
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
	return respondValue(w, object("quota", limits(q)))
}

// quotasOf reads limits, and whether they are checked against the current usage.
func quotasOf(known network.Quotas, item pyjson.Value) (q network.Quotas, check bool, err error) {
	table := []attribute[struct{}, struct{}]{
		{name: "check_limit", use: put, convert: toBool},
		{name: "force", use: put, convert: toBool},
		{name: "tenant_id", use: put},
		{name: "project_id", use: put},
	}
	for _, resource := range sortedKeys(known) {
		table = append(table, attribute[struct{}, struct{}]{name: resource, use: put, convert: toInt, check: between(-1, math.MaxInt32)})
	}
	b, err := read(table, item, false)
	if err != nil {
		return nil, false, err
	}
	q = network.Quotas{}
	for resource := range known {
		if v, ok := b.values[resource]; ok {
			q[resource], _ = v.Int64()
		}
	}
	return q, b.values["check_limit"].Bool(), nil
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
