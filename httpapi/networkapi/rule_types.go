package networkapi

import (
	"math"
	"net/http"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/network"
)

func (a *API) ruleTypeRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/v2.0/qos/rule-types", Handle: a.listRuleTypes},
		{Method: http.MethodGet, Pattern: "/v2.0/qos/rule-types/{id}", Handle: a.getRuleType},
		notCreatable("/v2.0/qos/rule-types", "rule_type", "type", "drivers", "all_supported", "all_rules"),
	}
}

// ruleTypeFilters are the allowed keys in the query of a list, other than fields.
var ruleTypeFilters = []string{"type", "all_supported", "all_rules"}

// listRuleTypes lists the types of rules that all drivers enforce; with
// all_supported those that any does, with all_rules all there are.
func (a *API) listRuleTypes(w http.ResponseWriter, r *http.Request) error {
	if err := a.access().Allow(r.Context(), "get_rule_type", resource.Target{}); err != nil {
		return err
	}
	q := r.URL.Query()
	for name := range q {
		if !slices.Contains(ruleTypeFilters, name) && !slices.Contains(resource.Reserved, name) {
			return resource.BadRequest("['%s'] is invalid attribute for filtering", name)
		}
	}
	types := a.Network.RuleTypes(flagged(q.Get("all_supported")), flagged(q.Get("all_rules")))
	if only := q["type"]; len(only) > 0 {
		types = slices.DeleteFunc(types, func(t network.RuleType) bool { return !slices.Contains(only, string(t)) })
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Value(pyjson.NewObject(pyjson.M("rule_types", resource.List(types, func(t network.RuleType) pyjson.Value {
			return pyjson.NewObject(pyjson.M("type", string(t)))
		}))))
	})
}

// getRuleType shows an administrator which drivers enforce a type of rules, and with which values.
func (a *API) getRuleType(w http.ResponseWriter, r *http.Request) error {
	if err := a.access().Allow(r.Context(), "get_rule_type", resource.Target{}); err != nil {
		return err
	}
	if !a.access().IsPrivileged(r.Context()) {
		return fault.New(fault.Denied, "NotAuthorized", "Not authorized.")
	}
	kind := kindOf(network.RuleType(httpapi.Param(r, "id")))
	if kind.table == nil {
		return resource.BadRequest("Invalid input for rule_type. Reason: %s is not in valid_values.", string(kind.ruleType))
	}
	drivers := resource.List(a.Network.Enforcers(kind.ruleType), func(d guarantee.Driver) pyjson.Value {
		return pyjson.NewObject(pyjson.M("name", d.Name), pyjson.M("supported_parameters", kind.parameters(d)))
	})
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Value(pyjson.NewObject(pyjson.M("rule_type",
			pyjson.NewObject(pyjson.M("type", string(kind.ruleType)), pyjson.M("drivers", drivers)))))
	})
}

// parameters are the attributes of a rule with the values that a driver enforces.
func (k ruleKind) parameters(d guarantee.Driver) pyjson.Value {
	var names []string
	for i := range k.table {
		if name := k.table[i].Name; name != "id" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return resource.List(names, func(name string) pyjson.Value {
		kind, values := "range", pyjson.NewObject(pyjson.M("start", 0), pyjson.M("end", math.MaxInt32))
		switch name {
		case "direction":
			directions := slices.Sorted(slices.Values(d.Rules[guarantee.RuleType(k.ruleType)]))
			kind, values = "choices", pyjson.Of(directions)
		case "dscp_mark":
			kind, values = "choices", resource.List(dscpMarks, pyjson.Of)
		}
		return pyjson.NewObject(pyjson.M("parameter_name", name), pyjson.M("parameter_type", kind),
			pyjson.M("parameter_values", values))
	})
}

// flagged reads a boolean of a query.
func flagged(text string) bool {
	v, err := resource.ToBool(pyjson.Of(text))
	return err == nil && v.Bool()
}
