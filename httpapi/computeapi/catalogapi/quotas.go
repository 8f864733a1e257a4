package catalogapi

import (
	"net/http"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func quotaRoutes(a *wire.API) []httpapi.Route {
	const one = "/os-quota-sets/{project}"
	return []httpapi.Route{
		a.Route(http.MethodGet, one, 1, showQuotas),
		a.Route(http.MethodPut, one, 1, updateQuotas),
		a.Route(http.MethodDelete, one, 1, deleteQuotas),
		a.Route(http.MethodGet, one+"/detail", 1, showQuotaDetail),
		a.Route(http.MethodGet, one+"/defaults", 1, wire.NoQuery(showQuotaDefaults)),
		a.Route(http.MethodGet, "/os-quota-class-sets/{class}", 1, wire.NoQuery(showClass)),
		a.Route(http.MethodPut, "/os-quota-class-sets/{class}", 1, updateClass),
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
func respondQuotas(q *wire.Request, key, id string, names []string, limits compute.Quotas) error {
	var shown view.Object
	shown = shown.If(id != "", view.Text("id", id))
	for _, name := range names {
		shown = append(shown, view.Int(name, limits[name]))
	}
	return q.Respond(http.StatusOK, wire.Single(key, shown))
}

// mayQuotas checks the query, checks policy for the project in the path, and returns it with the
// user that the query names.
func mayQuotas(q *wire.Request, rule string) (project, user string, err error) {
	if err := q.CheckQuery(quotasQuery); err != nil {
		return "", "", err
	}
	project = q.Param("project")
	for _, u := range q.Query["user_id"] {
		if u != "" {
			user = u
			break
		}
	}
	return project, user, q.Can("os-quota-sets:"+rule, wire.OfProject(project))
}

func showQuotas(q *wire.Request) error {
	project, user, err := mayQuotas(q, "show")
	if err != nil {
		return err
	}
	limits, err := q.API.Catalog.Quotas(q.Context(), project, user)
	if err != nil {
		return err
	}
	return respondQuotas(q, "quota_set", project, quotaNames(q.Minor), limits)
}

func showQuotaDefaults(q *wire.Request) error {
	project := q.Param("project")
	if err := q.Can("os-quota-sets:defaults", wire.OfProject(project)); err != nil {
		return err
	}
	limits, err := q.API.Catalog.Quotas(q.Context(), "", "")
	if err != nil {
		return err
	}
	return respondQuotas(q, "quota_set", project, quotaNames(q.Minor), limits)
}

func showQuotaDetail(q *wire.Request) error {
	project, user, err := mayQuotas(q, "detail")
	if err != nil {
		return err
	}
	limits, err := q.API.Catalog.Quotas(q.Context(), project, user)
	if err != nil {
		return err
	}
	used, err := q.API.Catalog.Usage(q.Context(), project, user)
	if err != nil {
		return err
	}
	shown := view.Object{view.Text("id", project)}
	for _, name := range quotaNames(q.Minor) {
		shown = append(shown, view.Nested(name, view.Object{
			view.Int("in_use", used[name]), view.Int("limit", limits[name]), view.Int("reserved", 0),
		}))
	}
	return q.Respond(http.StatusOK, wire.Single("quota_set", shown))
}

func updateQuotas(q *wire.Request) error {
	v, err := q.CheckMember(quotaUpdateSchema(q.Minor), "quota_set")
	if err != nil {
		return err
	}
	project, user, err := mayQuotas(q, "update")
	if err != nil {
		return err
	}
	if _, ok := v.Get("networks"); ok {
		return wire.BadRequest("The networks quota has been removed")
	}
	force, _ := v.Get("force")
	limits, err := q.API.Catalog.SetQuotas(q.Context(), project, user, quotasIn(v), wire.Truth(force))
	if err != nil {
		return err
	}
	return respondQuotas(q, "quota_set", "", quotaNames(q.Minor), limits)
}

// quotasIn are the limits in a body that compute keeps.
func quotasIn(v pyjson.Value) compute.Quotas {
	limits := compute.Quotas{}
	for _, m := range v.Members() {
		if _, known := compute.DefaultQuotas()[m.Key]; known {
			limits[m.Key] = wire.Number(m.Value)
		}
	}
	return limits
}

func deleteQuotas(q *wire.Request) error {
	project, user, err := mayQuotas(q, "delete")
	if err != nil {
		return err
	}
	if err := q.API.Catalog.ResetQuotas(q.Context(), project, user); err != nil {
		return err
	}
	return q.Done(http.StatusAccepted)
}

// classProject is the name under which the limits of a class of quotas are stored, like those of a
// project.
func classProject(class string) string { return "class:" + class }

func showClass(q *wire.Request) error {
	if err := q.Can("os-quota-class-sets:show", wire.CloudTarget); err != nil {
		return err
	}
	class := q.Param("class")
	limits, err := q.API.Catalog.Quotas(q.Context(), classProject(class), "")
	if err != nil {
		return err
	}
	return respondQuotas(q, "quota_class_set", class, classNames(q.Minor), limits)
}

func updateClass(q *wire.Request) error {
	v, err := q.CheckMember(classUpdateSchema(q.Minor), "quota_class_set")
	if err != nil {
		return err
	}
	if err := q.Can("os-quota-class-sets:update", wire.CloudTarget); err != nil {
		return err
	}
	class := q.Param("class")
	if n := pyjson.RuneLen(class); n > 255 {
		return fault.New(fault.Invalid, "InvalidInput", "quota_class_name has %d characters, more than 255.", n)
	}
	limits, err := q.API.Catalog.SetQuotas(q.Context(), classProject(class), "", quotasIn(v), true)
	if err != nil {
		return err
	}
	return respondQuotas(q, "quota_class_set", "", classNames(q.Minor), limits)
}
