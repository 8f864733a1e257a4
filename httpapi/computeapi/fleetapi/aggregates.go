package fleetapi

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func aggregateRoutes(a *wire.API) []httpapi.Route {
	return []httpapi.Route{
		a.List("/os-aggregates", 1, wire.NoQuery(listAggregates)),
		a.Route(http.MethodPost, "/os-aggregates", 1, createAggregate),
		a.Route(http.MethodGet, "/os-aggregates/{id}", 1, wire.NoQuery(showAggregate)),
		a.Route(http.MethodPut, "/os-aggregates/{id}", 1, updateAggregate),
		a.Route(http.MethodDelete, "/os-aggregates/{id}", 1, deleteAggregate),
		a.Route(http.MethodPost, "/os-aggregates/{id}/action", 1, wire.ByAction(wire.Actions{
			"add_host":     addHost,
			"remove_host":  removeHost,
			"set_metadata": setAggregateMetadata,
		})),
	}
}

const (
	zonePart = `{"oneOf": [{"type": "string", "minLength": 1, "maxLength": 255, "format": "az_name"}, ` +
		`{"type": "null"}]}`
	metadataPart = `{"type": "object", "patternProperties": {"^[a-zA-Z0-9-_:. ]{1,255}$": {"type": ["string", "null"], "maxLength": 255}},
		"additionalProperties": false}`
)

var (
	aggregateCreateSchema = wire.BodySchema("aggregate",
		wire.ObjectPart(`"name": `+wire.NamePart+`, "availability_zone": `+zonePart, `"name"`))
	aggregateUpdateSchema = wire.BodySchema("aggregate", `{"type": "object", "properties": {
			"name": {"type": "string", "minLength": 1, "maxLength": 255, "format": "name_with_leading_trailing_spaces"},
			"availability_zone": `+zonePart+`},
		"additionalProperties": false, "anyOf": [{"required": ["name"]}, {"required": ["availability_zone"]}]}`)
	addHostSchema     = wire.BodySchema("add_host", wire.ObjectPart(`"host": `+wire.HostPart, `"host"`))
	removeHostSchema  = wire.BodySchema("remove_host", wire.ObjectPart(`"host": `+wire.HostPart, `"host"`))
	setMetadataSchema = wire.BodySchema("set_metadata", wire.ObjectPart(`"metadata": `+metadataPart, `"metadata"`))
)

// integer is a part of the path that must be one. One that is bigger than all there
// are is -1.
func integer(q *wire.Request, name string) (int64, error) {
	n, err := strconv.ParseInt(q.Param(name), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return -1, nil
	case err != nil:
		return 0, fault.New(fault.Invalid, "InvalidInput", "Invalid input received: %s must be an integer", name)
	}
	return n, nil
}

// mayAggregate checks policy, and returns the number in the path.
func mayAggregate(q *wire.Request, rule string) (int64, error) {
	if err := q.Can("os-aggregates:"+rule, wire.CloudTarget); err != nil {
		return 0, err
	}
	return integer(q, "id")
}

func listAggregates(q *wire.Request) error {
	if err := q.Can("os-aggregates:index", wire.CloudTarget); err != nil {
		return err
	}
	all, err := q.API.Catalog.Aggregates(q.Context())
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, view.Object{
		view.List("aggregates", all, func(a compute.Aggregate) view.Object { return aggregate(q, a, true) }),
	})
}

// aggregate is what is shown of an aggregate, with its hosts and metadata but when it
// is new.
func aggregate(q *wire.Request, a compute.Aggregate, whole bool) view.Object {
	return view.Object{
		view.Int("id", a.Number), view.Text("name", a.Name), view.TextOrNull("availability_zone", a.Zone()),
		wire.Time("created_at", a.CreatedAt), wire.Time("updated_at", a.UpdatedAt), view.Bool("deleted", false),
		view.Null("deleted_at"),
	}.
		If(q.Minor >= 41, view.Text("uuid", a.ID)).
		If(whole, view.Texts("hosts", a.Hosts), view.TextMap("metadata", a.Metadata))
}

// respondAggregate answers with an aggregate, or with what went wrong.
func respondAggregate(q *wire.Request, a compute.Aggregate, err error) error {
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, wire.Single("aggregate", aggregate(q, a, true)))
}

func createAggregate(q *wire.Request) error {
	v, err := q.CheckMember(aggregateCreateSchema, "aggregate")
	if err != nil {
		return err
	}
	if err := q.Can("os-aggregates:create", wire.CloudTarget); err != nil {
		return err
	}
	name, _ := v.Get("name")
	zone, _ := v.Get("availability_zone")
	a, err := q.API.Catalog.CreateAggregate(q.Context(), name.Str(), zone.Str())
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, wire.Single("aggregate", aggregate(q, a, false)))
}

func showAggregate(q *wire.Request) error {
	n, err := mayAggregate(q, "show")
	if err != nil {
		return err
	}
	a, err := q.API.Catalog.Aggregate(q.Context(), n)
	return respondAggregate(q, a, err)
}

func updateAggregate(q *wire.Request) error {
	v, err := q.CheckMember(aggregateUpdateSchema, "aggregate")
	if err != nil {
		return err
	}
	n, err := mayAggregate(q, "update")
	if err != nil {
		return err
	}
	a, err := q.API.Catalog.UpdateAggregate(q.Context(), n, wire.TextOf(v, "name"), wire.TextOf(v, "availability_zone"))
	return respondAggregate(q, a, err)
}

func deleteAggregate(q *wire.Request) error {
	n, err := mayAggregate(q, "delete")
	if err != nil {
		return err
	}
	if err := q.API.Catalog.DeleteAggregate(q.Context(), n); err != nil {
		return err
	}
	return q.Done(http.StatusOK)
}

func addHost(q *wire.Request) error {
	v, err := q.CheckMember(addHostSchema, "add_host")
	if err != nil {
		return err
	}
	n, err := mayAggregate(q, "add_host")
	if err != nil {
		return err
	}
	a, err := q.API.Catalog.AddHost(q.Context(), n, *wire.TextOf(v, "host"))
	return respondAggregate(q, a, err)
}

func removeHost(q *wire.Request) error {
	v, err := q.CheckMember(removeHostSchema, "remove_host")
	if err != nil {
		return err
	}
	n, err := mayAggregate(q, "remove_host")
	if err != nil {
		return err
	}
	host := *wire.TextOf(v, "host")
	a, err := q.API.Catalog.RemoveHost(q.Context(), n, host)
	if kind, _ := fault.Of(err); kind == fault.NotFound {
		err = wire.NotFound("Cannot remove host %s in aggregate %s", host, q.Param("id"))
	}
	return respondAggregate(q, a, err)
}

func setAggregateMetadata(q *wire.Request) error {
	v, err := q.CheckMember(setMetadataSchema, "set_metadata")
	if err != nil {
		return err
	}
	n, err := mayAggregate(q, "set_metadata")
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
	a, err := q.API.Catalog.SetAggregateMetadata(q.Context(), n, metadata)
	return respondAggregate(q, a, err)
}
