package heal

import (
	"encoding/json"
	"maps"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// write is the request that replaces the allocation of a consumer. It is refused when the consumer
// has another generation than the record, and for a record without allocations when there is a
// consumer.
func write(c cloud.Consumer, desired allocations.Amounts) cloud.Request {
	type resources struct {
		Resources map[string]int64 `json:"resources"`
	}
	body := struct {
		Allocations map[string]resources `json:"allocations"`
		Project     string               `json:"project_id"`
		User        string               `json:"user_id"`
		Generation  *int64               `json:"consumer_generation"`
		Type        string               `json:"consumer_type,omitempty"`
	}{map[string]resources{}, c.Project, c.User, nil, c.Type}
	if len(c.Allocations) > 0 || c.Generation > 0 {
		body.Generation = &c.Generation
	}
	for provider, classes := range desired {
		amounts := maps.Clone(classes)
		maps.DeleteFunc(amounts, func(_ string, n int64) bool { return n <= 0 })
		if len(amounts) > 0 {
			body.Allocations[provider] = resources{amounts}
		}
	}
	version := "1.38" // the first with types
	if c.Type == "" || len(body.Allocations) == 0 {
		version, body.Type = "1.28", "" // the first with generations, which leaves the type as it is
	}
	return cloud.Request{
		Service: Placement, Method: "PUT", Path: "/allocations/" + c.UUID, Microversion: version, Body: text(body),
	}
}

// text returns a value as JSON. All values here can be.
func text(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// object is a JSON object.
type object map[string]any

// computeVersion is what audit's records of the compute service are read with.
const computeVersion = "2.59"

// noServer checks that no server has a UUID, also none that was deleted softly.
func noServer(uuid string) Check {
	return Check{Request: get(Compute, "/servers/"+uuid), Status: 404, Statement: "there is no server " + uuid}
}

// sameServer checks that a server has its host and its status, and no operation under way.
func sameServer(s *index.Server) Check {
	var host any
	path := "no host"
	if s.Host != "" {
		host, path = s.Host, "host "+s.Host
	}
	return Check{
		Request: get(Compute, "/servers/"+s.UUID), Status: 200,
		Has: text(object{"server": object{
			"status": s.Status, "OS-EXT-SRV-ATTR:host": host, "OS-EXT-STS:task_state": nil,
		}}),
		Statement: "server " + s.UUID + " is " + s.Status + " on " + path + " with nothing under way",
	}
}

// samePort checks that a port has not changed.
func samePort(port *cloud.Port) Check {
	want := object{"device_id": port.Device, "binding:host_id": port.Host}
	if port.Revision > 0 {
		want["revision_number"] = port.Revision
	} else {
		profile := object{"allocation": nil}
		if len(port.Allocation) > 0 {
			profile["allocation"] = key(port.Allocation)
		}
		want["binding:profile"] = profile
	}
	return Check{
		Request: get(Network, "/ports/"+port.UUID), Status: 200, Has: text(object{"port": want}),
		Statement: "port " + port.UUID + " is as it was read",
	}
}

// key is the key of a binding profile as the API has it: the provider of each group, or one
// provider in the format before groups.
func key(providers map[string]string) any {
	if provider, old := providers[""]; old {
		return provider
	}
	return providers
}

func get(s, path string) cloud.Request {
	version := map[string]string{Placement: "1.37", Compute: computeVersion}[s]
	return cloud.Request{Service: s, Method: "GET", Path: path, Microversion: version}
}
