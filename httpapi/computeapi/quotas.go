package computeapi

import (
	"net/http"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) quotaRoutes() []httpapi.Route {
	const one = "/os-quota-sets/{project}"
	return []httpapi.Route{
		a.route(http.MethodGet, one, 1, (*request).showQuotas),
		a.route(http.MethodPut, one, 1, (*request).updateQuotas),
		a.route(http.MethodDelete, one, 1, (*request).deleteQuotas),
		a.route(http.MethodGet, one+"/detail", 1, (*request).showQuotaDetail),
		a.route(http.MethodGet, one+"/defaults", 1, (*request).showQuotaDefaults),
		a.route(http.MethodGet, "/os-quota-class-sets/{class}", 1, (*request).showClass),
		a.route(http.MethodPut, "/os-quota-class-sets/{class}", 1, (*request).updateClass),
	}
}

// quotaNames are the resources that a version knows.
func quotaNames(minor int) []string {
	var names []string
	if minor < 36 {
		names = append(names, compute.FixedIPs, compute.FloatingIPs, compute.SecurityGroupRules, compute.SecurityGroups)
	}
	if minor < 57 {
		names = append(names, compute.InjectedFiles, compute.InjectedBytes, compute.InjectedPath)
	}
	return append(names, compute.Cores, compute.Instances, compute.KeyPairs, compute.MetadataItems, compute.RAM,
		compute.ServerGroups, compute.ServerGroupMembers)
}

// classNames are the resources of a class of quotas.
func classNames(minor int) []string {
	switch {
	case minor >= 57:
		return quotaNames(minor)
	case minor >= 50:
		return quotaNames(36)
	}
	return slices.DeleteFunc(quotaNames(1), func(name string) bool {
		return name == compute.ServerGroups || name == compute.ServerGroupMembers
	})
}

// respondQuotas answers with limits under a key, with an id unless that is empty.
func (q *request) respondQuotas(key, id string, names []string, limits compute.Quotas) error {
	var shown view.Object
	shown = shown.If(id != "", view.Text("id", id))
	for _, name := range names {
		shown = append(shown, view.Int(name, limits[name]))
	}
	return q.respond(http.StatusOK, single(key, shown))
}

// mayQuotas checks the query, checks policy for the project in the path, and returns it with the
// user that the query names.
func (q *request) mayQuotas(rule string) (project, user string, err error) {
	if err := q.checkQuery(quotasQuery); err != nil {
		return "", "", err
	}
	project = q.param("project")
	for _, u := range q.query["user_id"] {
		if u != "" {
			user = u
			break
		}
	}
	return project, user, q.can("os-quota-sets:"+rule, ofProject(project))
}

func (q *request) showQuotas() error {
	project, user, err := q.mayQuotas("show")
	if err != nil {
		return err
	}
	limits, err := q.api.Compute.Quotas(q.Context(), project, user)
	if err != nil {
		return err
	}
	return q.respondQuotas("quota_set", project, quotaNames(q.minor), limits)
}

func (q *request) showQuotaDefaults() error {
	project := q.param("project")
	if err := q.can("os-quota-sets:defaults", ofProject(project)); err != nil {
		return err
	}
	limits, err := q.api.Compute.Quotas(q.Context(), "", "")
	if err != nil {
		return err
	}
	return q.respondQuotas("quota_set", project, quotaNames(q.minor), limits)
}

func (q *request) showQuotaDetail() error {
	project, user, err := q.mayQuotas("detail")
	if err != nil {
		return err
	}
	limits, err := q.api.Compute.Quotas(q.Context(), project, user)
	if err != nil {
		return err
	}
	used, err := q.api.Compute.Usage(q.Context(), project, user)
	if err != nil {
		return err
	}
	shown := view.Object{view.Text("id", project)}
	for _, name := range quotaNames(q.minor) {
		shown = append(shown, view.Nested(name, view.Object{
			view.Int("in_use", used[name]), view.Int("limit", limits[name]), view.Int("reserved", 0),
		}))
	}
	return q.respond(http.StatusOK, single("quota_set", shown))
}

func (q *request) updateQuotas() error {
	v, err := q.checked(quotaUpdateSchema(q.minor), "quota_set")
	if err != nil {
		return err
	}
	project, user, err := q.mayQuotas("update")
	if err != nil {
		return err
	}
	if _, ok := v.Get("networks"); ok {
		return badRequest("The networks quota has been removed")
	}
	force, _ := v.Get("force")
	limits, err := q.api.Compute.SetQuotas(q.Context(), project, user, quotasIn(v), truth(force))
	if err != nil {
		return err
	}
	return q.respondQuotas("quota_set", "", quotaNames(q.minor), limits)
}

// quotasIn are the limits in a body that compute keeps.
func quotasIn(v pyjson.Value) compute.Quotas {
	limits := compute.Quotas{}
	for _, m := range v.Members() {
		if _, known := compute.DefaultQuotas()[m.Key]; known {
			limits[m.Key] = number(m.Value)
		}
	}
	return limits
}

func (q *request) deleteQuotas() error {
	project, user, err := q.mayQuotas("delete")
	if err != nil {
		return err
	}
	if err := q.api.Compute.ResetQuotas(q.Context(), project, user); err != nil {
		return err
	}
	return q.done(http.StatusAccepted)
}

// classProject stands for a class of quotas in the place of a project.
func classProject(class string) string { return "class:" + class }

func (q *request) showClass() error {
	if err := q.can("os-quota-class-sets:show", nobodys); err != nil {
		return err
	}
	class := q.param("class")
	limits, err := q.api.Compute.Quotas(q.Context(), classProject(class), "")
	if err != nil {
		return err
	}
	return q.respondQuotas("quota_class_set", class, classNames(q.minor), limits)
}

func (q *request) updateClass() error {
	v, err := q.checked(classUpdateSchema(q.minor), "quota_class_set")
	if err != nil {
		return err
	}
	if err := q.can("os-quota-class-sets:update", nobodys); err != nil {
		return err
	}
	class := q.param("class")
	if n := pyjson.RuneLen(class); n > 255 {
		return fault.New(fault.Invalid, "InvalidInput", "quota_class_name has %d characters, more than 255.", n)
	}
	limits, err := q.api.Compute.SetQuotas(q.Context(), classProject(class), "", quotasIn(v), true)
	if err != nil {
		return err
	}
	return q.respondQuotas("quota_class_set", "", classNames(q.minor), limits)
}
