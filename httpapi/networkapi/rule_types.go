package networkapi

import (
	"math"
	"net/http"
	"slices"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/network"
)

func (a *API) ruleTypeRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/v2.0/qos/rule-types", Handle: a.listRuleTypes},
		{Method: http.MethodGet, Pattern: "/v2.0/qos/rule-types/{id}", Handle: a.getRuleType},
		notCreatable("/v2.0/qos/rule-types", "rule_type", "type", "drivers", "all_supported", "all_rules"),
	}
}

// ruleTypeFilters are the allowed keys in the query of a list, besides fields.
var ruleTypeFilters = []string{"type", "all_supported", "all_rules"}

// listRuleTypes lists the types of rules that all drivers enforce; with
// all_supported those that any does, with all_rules all there are.
func (a *API) listRuleTypes(w http.ResponseWriter, r *http.Request) error {
	if err := a.allow(r.Context(), "get_rule_type", target{}); err != nil {
		return err
	}
	q := r.URL.Query()
	for name := range q {
		if !slices.Contains(ruleTypeFilters, name) && !slices.Contains(reserved, name) {
			return badRequest("['%s'] is invalid attribute for filtering", name)
		}
	}
	types := a.Network.RuleTypes(flagged(q.Get("all_supported")), flagged(q.Get("all_rules")))
	if only := q["type"]; len(only) > 0 {
		types = slices.DeleteFunc(types, func(t network.RuleType) bool { return !slices.Contains(only, string(t)) })
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Value(object("rule_types", array(types, func(t network.RuleType) pyjson.Value { return object("type", string(t)) })))
	})
}

// getRuleType shows an administrator which drivers enforce a type of rules, and with which values.
func (a *API) getRuleType(w http.ResponseWriter, r *http.Request) error {
	if err := a.allow(r.Context(), "get_rule_type", target{}); err != nil {
		return err
	}
	if !a.is(r.Context()) {
		return fault.New(fault.Denied, "NotAuthorized", "Not authorized.")
	}
	kind := kindOf(network.RuleType(httpapi.Param(r, "id")))
	if kind.table == nil {
		return badRequest("Invalid input for rule_type. Reason: %s is not in valid_values.", string(kind.of))
	}
	drivers := array(a.Network.Enforcers(kind.of), func(d guarantee.Driver) pyjson.Value {
		return object("name", d.Name, "supported_parameters", kind.parameters(d))
	})
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Value(object("rule_type", object("type", string(kind.of), "drivers", drivers)))
	})
}

// parameters are the attributes of a rule with the values that a driver enforces.
func (k ruleKind) parameters(d guarantee.Driver) pyjson.Value {
	var names []string
	for i := range k.table {
		if name := k.table[i].name; name != "id" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return array(names, func(name string) pyjson.Value {
		kind, values := "range", object("start", 0, "end", math.MaxInt32)
		switch name {
		case "direction":
			directions := slices.Sorted(slices.Values(d.Rules[guarantee.RuleType(k.of)]))
			kind, values = "choices", valueOf(directions)
		case "dscp_mark":
			kind, values = "choices", array(dscpMarks, valueOf)
		}
		return object("parameter_name", name, "parameter_type", kind, "parameter_values", values)
	})
}

// flagged reads a boolean of a query.
func flagged(text string) bool {
	v, err := toBool(valueOf(text))
	return err == nil && v.Bool()
}
