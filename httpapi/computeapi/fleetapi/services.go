package fleetapi

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/fleet"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

func serviceRoutes(a *wire.API) []httpapi.Route {
	return []httpapi.Route{
		a.List("/os-services", 1, listServices),
		a.Between(http.MethodPut, "/os-services/{id}", 1, 52, actOnService),
		a.Route(http.MethodPut, "/os-services/{id}", 53, updateService),
		a.Route(http.MethodDelete, "/os-services/{id}", 1, deleteService),
	}
}

const serviceParts = `"host": ` + wire.HostPart + `, "binary": ` + wire.TextPart + `, "disabled_reason": ` +
	wire.TextPart

var (
	serviceActSchema2_1  = wire.Draft4.MustCompile(wire.ObjectPart(serviceParts, `"host", "binary"`))
	serviceActSchema2_11 = wire.Draft4.MustCompile(wire.ObjectPart(serviceParts+`, "forced_down": `+wire.BooleanPart,
		`"host", "binary"`))
	serviceUpdateSchema = wire.Draft4.MustCompile(wire.ObjectPart(`"status": {"type": "string", "enum": ["enabled", "disabled"]},
		"disabled_reason": `+wire.TextPart+`, "forced_down": `+wire.BooleanPart, ""))

	servicesQuery = wire.NewQuery(false, "host", wire.Repeated(wire.StringPart), "binary", wire.Repeated(wire.StringPart))
)

func serviceActSchema(minor int) *pyschema.Schema {
	if minor >= 11 {
		return serviceActSchema2_11
	}
	return serviceActSchema2_1
}

func listServices(q *wire.Request) error {
	if err := q.CheckQuery(servicesQuery); err != nil {
		return err
	}
	if err := q.Can("os-services:list", wire.CloudTarget); err != nil {
		return err
	}
	all, err := q.API.Fleet.Services(q.Context())
	if err != nil {
		return err
	}
	host, _ := q.Last("host")
	binary, _ := q.Last("binary")
	all = slices.DeleteFunc(all, func(h compute.HostService) bool {
		return host != "" && h.Host != host || binary != "" && h.Binary != binary
	})
	return q.Respond(http.StatusOK,
		view.Object{view.List("services", all, func(h compute.HostService) view.Object { return service(q, h) })})
}

// service is what is shown of a service.
func service(q *wire.Request, h compute.HostService) view.Object {
	return view.Object{
		view.Text("binary", h.Binary), view.Text("host", h.Host), serviceID(q, h), view.Text("zone", h.Zone),
		view.Text("status", status(h)), view.Text("state", state(h)), wire.Time("updated_at", reportedAt(h)),
		view.TextOrNull("disabled_reason", h.Reason),
	}.If(q.Minor >= 11, view.Bool("forced_down", h.ForcedDown)).
		If(h.StartError != "", view.Text("berth:start_error", h.StartError))
}

// serviceID is a number before 2.53.
func serviceID(q *wire.Request, h compute.HostService) view.Member {
	if q.Minor >= 53 {
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

// actOnService does the action in the path to the service in the body, as it was before
// 2.53.
func actOnService(q *wire.Request) error {
	if err := q.Check(serviceActSchema(q.Minor)); err != nil {
		return err
	}
	if err := q.Can("os-services:update", wire.CloudTarget); err != nil {
		return err
	}
	what, shows, err := serviceAction(q)
	if err != nil {
		return err
	}
	host, binary := *wire.TextOf(q.JSON, "host"), *wire.TextOf(q.JSON, "binary")
	if binary != "nova-compute" {
		return wire.BadRequest("Updating a %s service is not supported. Only nova-compute services can be updated.", binary)
	}
	h, err := findService(q, func(h compute.HostService) bool { return h.Host == host })
	if err != nil {
		return err
	}
	if h == nil {
		return fault.New(fault.NotFound, "HostMappingNotFound", "Host '%s' is not mapped to any cell", host)
	}
	if _, err := q.API.Fleet.ChangeService(q.Context(), h.ID, what); err != nil {
		return err
	}
	return q.Respond(http.StatusOK,
		wire.Single("service", append(view.Object{view.Text("host", host), view.Text("binary", binary)}, shows...)))
}

// serviceAction is the change in the path, and what the answer shows of it.
func serviceAction(q *wire.Request) (what fleet.ServiceChange, shows []view.Member, err error) {
	yes, no := true, false
	reason := wire.TextOf(q.JSON, "disabled_reason")
	forced, hasForced := q.JSON.Get("forced_down")
	switch name := q.Param("id"); {
	case name == "enable":
		return fleet.ServiceChange{Disabled: &no}, []view.Member{view.Text("status", "enabled")}, nil
	case name == "disable":
		return fleet.ServiceChange{Disabled: &yes}, []view.Member{view.Text("status", "disabled")}, nil
	case name == "disable-log-reason" && reason == nil:
		return what, nil, wire.BadRequest("Missing disabled reason field")
	case name == "disable-log-reason":
		shows = []view.Member{view.Text("status", "disabled"), view.Text("disabled_reason", *reason)}
		return fleet.ServiceChange{Disabled: &yes, Reason: reason}, shows, nil
	case name == "force-down" && q.Minor >= 11 && !hasForced:
		return what, nil, wire.BadRequest("Missing forced_down field")
	case name == "force-down" && q.Minor >= 11:
		down := wire.Truth(forced)
		return fleet.ServiceChange{ForcedDown: &down}, []view.Member{view.Bool("forced_down", down)}, nil
	}
	return what, nil, wire.NotFound("Unknown action")
}

// findService returns the first service that matches, nil when there is none.
func findService(q *wire.Request, matches func(compute.HostService) bool) (*compute.HostService, error) {
	all, err := q.API.Fleet.Services(q.Context())
	if i := slices.IndexFunc(all, matches); i >= 0 {
		return &all[i], err
	}
	return nil, err
}

// uuid is the id in the path, which must have the form of a UUID.
func uuid(q *wire.Request) (compute.ID, error) {
	id := q.Param("id")
	if !pyschema.IsUUIDLike(pyjson.NewString(id)) {
		return "", wire.BadRequest("Invalid uuid %s", id)
	}
	return compute.ID(id), nil
}

func updateService(q *wire.Request) error {
	if err := q.Check(serviceUpdateSchema); err != nil {
		return err
	}
	id, err := uuid(q)
	if err != nil {
		return err
	}
	if err := q.Can("os-services:update", wire.CloudTarget); err != nil {
		return err
	}
	h, err := findService(q, func(h compute.HostService) bool { return h.ID == id })
	if err != nil {
		return err
	}
	if h == nil {
		return fault.New(fault.NotFound, "ServiceNotFound", "Service %s could not be found.", id)
	}
	what, err := serviceChange(q.JSON)
	if err != nil {
		return err
	}
	changed, err := q.API.Fleet.ChangeService(q.Context(), id, what)
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, wire.Single("service", service(q, changed)))
}

// serviceChange reads what is to become of a service.
func serviceChange(v pyjson.Value) (ch fleet.ServiceChange, err error) {
	status, hasStatus := v.Get("status")
	reason := wire.TextOf(v, "disabled_reason")
	forced, hasForced := v.Get("forced_down")
	if disabled := status.Str() == "disabled"; hasStatus {
		if !disabled && reason != nil {
			return ch, wire.BadRequest("Specifying 'disabled_reason' with status 'enabled' is invalid.")
		}
		ch.Disabled, ch.Reason = &disabled, reason
	}
	if down := wire.Truth(forced); hasForced {
		ch.ForcedDown = &down
	}
	if !hasStatus && !hasForced {
		return ch, wire.BadRequest("No updates were requested. Fields 'status' or 'forced_down' should be specified.")
	}
	return ch, nil
}

func deleteService(q *wire.Request) error {
	if err := q.Can("os-services:delete", wire.CloudTarget); err != nil {
		return err
	}
	if _, err := nodeOrServiceID(q); err != nil {
		return err
	}
	id := q.Param("id")
	h, err := findService(q, func(h compute.HostService) bool {
		return q.Minor >= 53 && string(h.ID) == id || q.Minor < 53 && strconv.FormatInt(h.Number, 10) == id
	})
	if err != nil {
		return err
	}
	if h == nil {
		return fault.New(fault.NotFound, "ServiceNotFound", "Service %s not found.", id)
	}
	if err := q.API.Fleet.DeleteService(q.Context(), h.ID); err != nil {
		return err
	}
	return q.Done(http.StatusNoContent)
}

// nodeOrServiceID is the id in the path in the form that the version has: a UUID from
// 2.53, a number before.
func nodeOrServiceID(q *wire.Request) (string, error) {
	if q.Minor >= 53 {
		id, err := uuid(q)
		return string(id), err
	}
	_, err := integer(q, "id")
	return q.Param("id"), err
}
