package computeapi

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) aggregateRoutes() []httpapi.Route {
	return []httpapi.Route{
		a.list("/os-aggregates", 1, (*request).listAggregates),
		a.route(http.MethodPost, "/os-aggregates", 1, (*request).createAggregate),
		a.route(http.MethodGet, "/os-aggregates/{id}", 1, (*request).showAggregate),
		a.route(http.MethodPut, "/os-aggregates/{id}", 1, (*request).updateAggregate),
		a.route(http.MethodDelete, "/os-aggregates/{id}", 1, (*request).deleteAggregate),
		a.route(http.MethodPost, "/os-aggregates/{id}/action", 1, act(
			action{"add_host", (*request).addHost},
			action{"remove_host", (*request).removeHost},
			action{"set_metadata", (*request).setAggregateMetadata},
		)),
	}
}

const (
	zonePart     = `{"oneOf": [{"type": "string", "minLength": 1, "maxLength": 255, "format": "az_name"}, {"type": "null"}]}`
	metadataPart = `{"type": "object", "patternProperties": {"^[a-zA-Z0-9-_:. ]{1,255}$": {"type": ["string", "null"], "maxLength": 255}},
		"additionalProperties": false}`
)

var (
	aggregateCreateSchema = bodySchema("aggregate", objectPart(`"name": `+namePart+`, "availability_zone": `+zonePart, `"name"`))
	aggregateUpdateSchema = bodySchema("aggregate", `{"type": "object", "properties": {
			"name": {"type": "string", "minLength": 1, "maxLength": 255, "format": "name_with_leading_trailing_spaces"},
			"availability_zone": `+zonePart+`},
		"additionalProperties": false, "anyOf": [{"required": ["name"]}, {"required": ["availability_zone"]}]}`)
	addHostSchema     = bodySchema("add_host", objectPart(`"host": `+hostPart, `"host"`))
	removeHostSchema  = bodySchema("remove_host", objectPart(`"host": `+hostPart, `"host"`))
	setMetadataSchema = bodySchema("set_metadata", objectPart(`"metadata": `+metadataPart, `"metadata"`))
)

// integer is a part of the path that must be one. One that is bigger than all there
// are is -1.
func (q *request) integer(name string) (int64, error) {
	n, err := strconv.ParseInt(q.param(name), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return -1, nil
	case err != nil:
		return 0, fault.New(fault.Invalid, "InvalidInput", "Invalid input received: %s must be an integer", name)
	}
	return n, nil
}

// mayAggregate checks policy, and returns the number in the path.
func (q *request) mayAggregate(rule string) (int64, error) {
	if err := q.can("os-aggregates:"+rule, nobodys); err != nil {
		return 0, err
	}
	return q.integer("id")
}

func (q *request) listAggregates() error {
	if err := q.can("os-aggregates:index", nobodys); err != nil {
		return err
	}
	all, err := q.api.Compute.Aggregates(q.Context())
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, view.Object{
		view.List("aggregates", all, func(a compute.Aggregate) view.Object { return q.aggregate(a, true) }),
	})
}

// aggregate is what is shown of an aggregate, with its hosts and metadata but when it
// is new.
func (q *request) aggregate(a compute.Aggregate, whole bool) view.Object {
	return view.Object{
		view.Int("id", a.Number), view.Text("name", a.Name), view.TextOrNull("availability_zone", a.Zone()),
		moment("created_at", a.CreatedAt), moment("updated_at", a.UpdatedAt), view.Bool("deleted", false), view.Null("deleted_at"),
	}.
		If(q.minor >= 41, view.Text("uuid", a.ID)).
		If(whole, view.Texts("hosts", a.Hosts), view.TextMap("metadata", a.Metadata))
}

// respondAggregate answers with an aggregate, or with what went wrong.
func (q *request) respondAggregate(a compute.Aggregate, err error) error {
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, single("aggregate", q.aggregate(a, true)))
}

func (q *request) createAggregate() error {
	v, err := q.checked(aggregateCreateSchema, "aggregate")
	if err != nil {
		return err
	}
	if err := q.can("os-aggregates:create", nobodys); err != nil {
		return err
	}
	name, _ := v.Get("name")
	zone, _ := v.Get("availability_zone")
	a, err := q.api.Compute.CreateAggregate(q.Context(), name.Str(), zone.Str())
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, single("aggregate", q.aggregate(a, false)))
}

func (q *request) showAggregate() error {
	n, err := q.mayAggregate("show")
	if err != nil {
		return err
	}
	return q.respondAggregate(q.api.Compute.Aggregate(q.Context(), n))
}

func (q *request) updateAggregate() error {
	v, err := q.checked(aggregateUpdateSchema, "aggregate")
	if err != nil {
		return err
	}
	n, err := q.mayAggregate("update")
	if err != nil {
		return err
	}
	return q.respondAggregate(q.api.Compute.UpdateAggregate(q.Context(), n, textOf(v, "name"), textOf(v, "availability_zone")))
}

// textOf is a member that is a text, "" when it is null, nil when it is not there.
func textOf(v pyjson.Value, name string) *string {
	m, ok := v.Get(name)
	if !ok {
		return nil
	}
	text := m.Str()
	return &text
}

// trimmed is a text without spaces around it.
func trimmed(text *string) *string {
	if text != nil {
		*text = strings.TrimSpace(*text)
	}
	return text
}

func (q *request) deleteAggregate() error {
	n, err := q.mayAggregate("delete")
	if err != nil {
		return err
	}
	if err := q.api.Compute.DeleteAggregate(q.Context(), n); err != nil {
		return err
	}
	return q.done(http.StatusOK)
}

func (q *request) addHost() error {
	v, err := q.checked(addHostSchema, "add_host")
	if err != nil {
		return err
	}
	n, err := q.mayAggregate("add_host")
	if err != nil {
		return err
	}
	return q.respondAggregate(q.api.Compute.AddHost(q.Context(), n, *textOf(v, "host")))
}

func (q *request) removeHost() error {
	v, err := q.checked(removeHostSchema, "remove_host")
	if err != nil {
		return err
	}
	n, err := q.mayAggregate("remove_host")
	if err != nil {
		return err
	}
	host := *textOf(v, "host")
	a, err := q.api.Compute.RemoveHost(q.Context(), n, host)
	if kind, _ := fault.Of(err); kind == fault.NotFound {
		err = notFound("Cannot remove host %s in aggregate %s", host, q.param("id"))
	}
	return q.respondAggregate(a, err)
}

func (q *request) setAggregateMetadata() error {
	v, err := q.checked(setMetadataSchema, "set_metadata")
	if err != nil {
		return err
	}
	n, err := q.mayAggregate("set_metadata")
	if err != nil {
		return err
	}
	given, _ := v.Get("metadata")
	metadata := make(map[string]*string, given.Len())
	for _, m := range given.Members() {
		metadata[m.Key] = nil
		if text := m.Value.Str(); m.Value.Kind() != pyjson.Null {
			metadata[m.Key] = &text
		}
	}
	return q.respondAggregate(q.api.Compute.SetAggregateMetadata(q.Context(), n, metadata))
}
