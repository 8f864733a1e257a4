package computeapi

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) serviceRoutes() []httpapi.Route {
	return []httpapi.Route{
		a.list("/os-services", 1, (*request).listServices),
		a.between(http.MethodPut, "/os-services/{id}", 1, 52, (*request).actOnService),
		a.route(http.MethodPut, "/os-services/{id}", 53, (*request).updateService),
		a.route(http.MethodDelete, "/os-services/{id}", 1, (*request).deleteService),
	}
}

const serviceParts = `"host": ` + hostPart + `, "binary": ` + textPart + `, "disabled_reason": ` + textPart

var (
	serviceActSchema2_1  = draft4.MustCompile(objectPart(serviceParts, `"host", "binary"`))
	serviceActSchema2_11 = draft4.MustCompile(objectPart(serviceParts+`, "forced_down": `+booleanPart, `"host", "binary"`))
	serviceUpdateSchema  = draft4.MustCompile(objectPart(`"status": {"type": "string", "enum": ["enabled", "disabled"]},
		"disabled_reason": `+textPart+`, "forced_down": `+booleanPart, ""))

	servicesQuery = newQuery(false, "host", many(stringPart), "binary", many(stringPart))
)

func serviceActSchema(minor int) *pyschema.Schema {
	if minor >= 11 {
		return serviceActSchema2_11
	}
	return serviceActSchema2_1
}

func (q *request) listServices() error {
	if err := q.checkQuery(servicesQuery); err != nil {
		return err
	}
	if err := q.can("os-services:list", nobodys); err != nil {
		return err
	}
	all, err := q.api.Compute.Services(q.Context())
	if err != nil {
		return err
	}
	host, _ := q.last("host")
	binary, _ := q.last("binary")
	all = slices.DeleteFunc(all, func(h compute.HostService) bool {
		return host != "" && h.Host != host || binary != "" && h.Binary != binary
	})
	return q.respond(http.StatusOK, view.Object{view.List("services", all, q.service)})
}

// service is what is shown of a service.
func (q *request) service(h compute.HostService) view.Object {
	return view.Object{
		view.Text("binary", h.Binary), view.Text("host", h.Host), q.serviceID(h), view.Text("zone", h.Zone),
		view.Text("status", status(h)), view.Text("state", state(h)), moment("updated_at", reportedAt(h)),
		view.TextOrNull("disabled_reason", h.Reason),
	}.If(q.minor >= 11, view.Bool("forced_down", h.ForcedDown))
}

// serviceID is a number before 2.53.
func (q *request) serviceID(h compute.HostService) view.Member {
	if q.minor >= 53 {
		return view.Text("id", h.ID)
	}
	return view.Int("id", h.Number)
}

func status(h compute.HostService) string {
	if h.Disabled {
		return "disabled"
	}
	return "enabled"
}

func state(h compute.HostService) string {
	if h.Up {
		return "up"
	}
	return "down"
}

// reportedAt is when a service reported last or was changed, zero when neither happened
// since it was made.
func reportedAt(h compute.HostService) time.Time {
	at := h.UpdatedAt
	if h.ReportedAt.After(at) && !h.ReportedAt.Equal(h.CreatedAt) {
		at = h.ReportedAt
	}
	return at
}

// actOnService does what the path says to the service in the body, as it was before
// 2.53.
func (q *request) actOnService() error {
	if err := q.check(serviceActSchema(q.minor)); err != nil {
		return err
	}
	if err := q.can("os-services:update", nobodys); err != nil {
		return err
	}
	what, shows, err := q.serviceAction()
	if err != nil {
		return err
	}
	host, binary := *textOf(q.body, "host"), *textOf(q.body, "binary")
	if binary != "nova-compute" {
		return badRequest("Updating a %s service is not supported. Only nova-compute services can be updated.", binary)
	}
	h, err := q.serviceWhere(func(h compute.HostService) bool { return h.Host == host })
	if err != nil {
		return err
	}
	if h == nil {
		return fault.New(fault.NotFound, "HostMappingNotFound", "Host '%s' is not mapped to any cell", host)
	}
	if _, err := q.api.Compute.ChangeService(q.Context(), h.ID, what); err != nil {
		return err
	}
	return q.respond(http.StatusOK, single("service", append(view.Object{view.Text("host", host), view.Text("binary", binary)}, shows...)))
}

// serviceAction is the change that the path asks for, and what the answer says of it.
func (q *request) serviceAction() (what compute.ServiceChange, shows []view.Member, err error) {
	yes, no := true, false
	reason := textOf(q.body, "disabled_reason")
	forced, hasForced := q.body.Get("forced_down")
	switch name := q.param("id"); {
	case name == "enable":
		return compute.ServiceChange{Disabled: &no}, []view.Member{view.Text("status", "enabled")}, nil
	case name == "disable":
		return compute.ServiceChange{Disabled: &yes}, []view.Member{view.Text("status", "disabled")}, nil
	case name == "disable-log-reason" && reason == nil:
		return what, nil, badRequest("Missing disabled reason field")
	case name == "disable-log-reason":
		shows = []view.Member{view.Text("status", "disabled"), view.Text("disabled_reason", *reason)}
		return compute.ServiceChange{Disabled: &yes, Reason: reason}, shows, nil
	case name == "force-down" && q.minor >= 11 && !hasForced:
		return what, nil, badRequest("Missing forced_down field")
	case name == "force-down" && q.minor >= 11:
		down := truth(forced)
		return compute.ServiceChange{ForcedDown: &down}, []view.Member{view.Bool("forced_down", down)}, nil
	}
	return what, nil, notFound("Unknown action")
}

// serviceWhere is the first service that is looked for, nil when there is none.
func (q *request) serviceWhere(is func(compute.HostService) bool) (*compute.HostService, error) {
	all, err := q.api.Compute.Services(q.Context())
	if i := slices.IndexFunc(all, is); i >= 0 {
		return &all[i], err
	}
	return nil, err
}

// uuid is the id in the path, which must look like a UUID.
func (q *request) uuid() (compute.ID, error) {
	id := q.param("id")
	if !pyschema.IsUUIDLike(pyjson.NewString(id)) {
		return "", badRequest("Invalid uuid %s", id)
	}
	return compute.ID(id), nil
}

func (q *request) updateService() error {
	if err := q.check(serviceUpdateSchema); err != nil {
		return err
	}
	id, err := q.uuid()
	if err != nil {
		return err
	}
	if err := q.can("os-services:update", nobodys); err != nil {
		return err
	}
	h, err := q.serviceWhere(func(h compute.HostService) bool { return h.ID == id })
	if err != nil {
		return err
	}
	if h == nil {
		return fault.New(fault.NotFound, "ServiceNotFound", "Service %s could not be found.", id)
	}
	what, err := serviceChange(q.body)
	if err != nil {
		return err
	}
	changed, err := q.api.Compute.ChangeService(q.Context(), id, what)
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, single("service", q.service(changed)))
}

// serviceChange reads what is to become of a service.
func serviceChange(v pyjson.Value) (ch compute.ServiceChange, err error) {
	status, hasStatus := v.Get("status")
	reason := textOf(v, "disabled_reason")
	forced, hasForced := v.Get("forced_down")
	if disabled := status.Str() == "disabled"; hasStatus {
		if !disabled && reason != nil {
			return ch, badRequest("Specifying 'disabled_reason' with status 'enabled' is invalid.")
		}
		ch.Disabled, ch.Reason = &disabled, reason
	}
	if down := truth(forced); hasForced {
		ch.ForcedDown = &down
	}
	if !hasStatus && !hasForced {
		return ch, badRequest("No updates were requested. Fields 'status' or 'forced_down' should be specified.")
	}
	return ch, nil
}

func (q *request) deleteService() error {
	if err := q.can("os-services:delete", nobodys); err != nil {
		return err
	}
	if _, err := q.nodeOrServiceID(); err != nil {
		return err
	}
	id := q.param("id")
	h, err := q.serviceWhere(func(h compute.HostService) bool {
		return q.minor >= 53 && string(h.ID) == id || q.minor < 53 && strconv.FormatInt(h.Number, 10) == id
	})
	if err != nil {
		return err
	}
	if h == nil {
		return fault.New(fault.NotFound, "ServiceNotFound", "Service %s not found.", id)
	}
	if err := q.api.Compute.DeleteService(q.Context(), h.ID); err != nil {
		return err
	}
	return q.done(http.StatusNoContent)
}

// nodeOrServiceID is the id in the path in the form that the version has: a UUID from
// 2.53, a number before.
func (q *request) nodeOrServiceID() (string, error) {
	if q.minor >= 53 {
		id, err := q.uuid()
		return string(id), err
	}
	_, err := q.integer("id")
	return q.param("id"), err
}
