package microversion

import (
	"regexp"
	"strings"

	"github.com/berthcloud/berth/httpapi/pyjson"
)

// ComputeHeader is the header that carried versions of the compute API before 2.27:
// a version alone. It is still read, and sent.
const ComputeHeader = "X-OpenStack-Nova-API-Version"

// Compute is the history of the compute API, as far as it is served. Every row is a
// version that clients may request; it must not be modified. What is in brackets is
// not served, so that the version changes nothing.
var Compute = History{
	{Version{2, 1}, "the beginning: what was version 2.0"},
	{Version{2, 2}, "keypairs have a type; 201 and 204 answer their creation and removal"},
	{Version{2, 3}, "administrators see more of servers"},
	{Version{2, 4}, "(fixed addresses)"},
	{Version{2, 5}, "everybody may look for servers by ip6"},
	{Version{2, 6}, "(consoles)"},
	{Version{2, 7}, "access cannot be given to a flavor that is public"},
	{Version{2, 8}, "(consoles)"},
	{Version{2, 9}, "servers show whether they are locked"},
	{Version{2, 10}, "administrators reach the keypairs of others"},
	{Version{2, 11}, "services show forced_down, and it can be set"},
	{Version{2, 12}, "(virtual interfaces)"},
	{Version{2, 13}, "server groups show project_id and user_id"},
	{Version{2, 14}, "(evacuation)"},
	{Version{2, 15}, "server groups may be soft"},
	{Version{2, 16}, "administrators see the host_status of servers"},
	{Version{2, 17}, "(crash dumps)"},
	{Version{2, 18}, "paths need no project"},
	{Version{2, 19}, "servers have a description"},
	{Version{2, 20}, "(volumes)"},
	{Version{2, 21}, "instance actions are there for servers that are gone"},
	{Version{2, 22}, "(live migration)"},
	{Version{2, 23}, "migrations show migration_type"},
	{Version{2, 24}, "(live migration)"},
	{Version{2, 25}, "(live migration)"},
	{Version{2, 26}, "servers have tags"},
	{Version{2, 27}, "versions come in OpenStack-API-Version as well"},
	{Version{2, 28}, "cpu_info of hypervisors is an object"},
	{Version{2, 29}, "(evacuation)"},
	{Version{2, 30}, "(live migration)"},
	{Version{2, 31}, "(consoles)"},
	{Version{2, 32}, "networks of a new server may have a tag"},
	{Version{2, 33}, "lists of hypervisors come in pages"},
	{Version{2, 34}, "(live migration)"},
	{Version{2, 35}, "lists of keypairs come in pages"},
	{Version{2, 36}, "what other services do is not there any more, and neither are its quotas"},
	{Version{2, 37}, "networks of a new server are required, and may be auto or none"},
	{Version{2, 38}, "lists of servers are refused for a status that there is not"},
	{Version{2, 39}, "limits do not show maxImageMeta"},
	{Version{2, 40}, "usages come in pages"},
	{Version{2, 41}, "aggregates show uuid"},
	{Version{2, 42}, "networks of a new server may have a tag again"},
	{Version{2, 43}, "(hosts)"},
	{Version{2, 44}, "(fixed and floating addresses)"},
	{Version{2, 45}, "(images)"},
	{Version{2, 46}, "answers carry X-OpenStack-Request-ID"},
	{Version{2, 47}, "servers show their flavor as it was"},
	{Version{2, 48}, "(diagnostics)"},
	{Version{2, 49}, "an interface may be attached with a tag"},
	{Version{2, 50}, "the quotas of a class are those of projects"},
	{Version{2, 51}, "everybody sees the events of instance actions"},
	{Version{2, 52}, "a server may be created with tags"},
	{Version{2, 53}, "services and hypervisors are known by UUID"},
	{Version{2, 54}, "(rebuild)"},
	{Version{2, 55}, "flavors have a description"},
	{Version{2, 56}, "(migration)"},
	{Version{2, 57}, "no files are put into servers, and there are no quotas for them"},
	{Version{2, 58}, "instance actions come in pages"},
	{Version{2, 59}, "migrations show uuid, and come in pages"},
	{Version{2, 60}, "(volumes)"},
	{Version{2, 61}, "flavors show their extra specs"},
	{Version{2, 62}, "events of instance actions show host and hostId"},
	{Version{2, 63}, "(certificates)"},
	{Version{2, 64}, "server groups have one policy, and rules"},
	{Version{2, 65}, "(live migration)"},
	{Version{2, 66}, "lists of servers, actions and migrations take changes-before"},
	{Version{2, 67}, "(volumes)"},
	{Version{2, 68}, "(forced moves)"},
	{Version{2, 69}, "(cells that are away)"},
	{Version{2, 70}, "interfaces show their tag"},
	{Version{2, 71}, "a server shows its server group"},
	{Version{2, 72}, "a server may be created with ports that request resources"},
	{Version{2, 73}, "a lock has a reason, and lists of servers are filtered and sorted by whether they are locked"},
	{Version{2, 74}, "a new server may request a host or a hypervisor"},
	{
		Version{2, 75},
		"queries have no unknown parameters, a change of a server answers with all of it, and what is none is shown",
	},
	{Version{2, 76}, "there are events about power"},
	{Version{2, 77}, "(shelved servers)"},
	{Version{2, 78}, "servers have a topology"},
	{Version{2, 79}, "(volumes)"},
	{Version{2, 80}, "migrations show project_id and user_id, and are filtered by them"},
	{Version{2, 81}, "(images)"},
	{Version{2, 82}, "there are events about accelerators"},
	{Version{2, 83}, "everybody may look for servers by states, times, keys and users"},
	{Version{2, 84}, "events of instance actions show details"},
	{Version{2, 85}, "(volumes)"},
	{Version{2, 86}, "extra specs that are known are checked"},
	{Version{2, 87}, "(volumes)"},
	{Version{2, 88}, "hypervisors show an uptime, and not what placement knows"},
	{Version{2, 89}, "(volumes)"},
	{Version{2, 90}, "servers have a hostname of their own, which everybody sees"},
	{Version{2, 91}, "(shelved servers)"},
	{Version{2, 92}, "keypairs are not generated, and names of them may have @ and dots"},
	{Version{2, 93}, "there are events about volumes that have another image"},
	{Version{2, 94}, "the hostname of a server may have a domain"},
	{Version{2, 95}, "evacuated servers are stopped"},
	{Version{2, 96}, "servers show the availability zone that they are pinned to"},
	{Version{2, 97}, "(shared file systems)"},
	{Version{2, 98}, "servers show the properties of their image"},
	{Version{2, 99}, "(consoles)"},
	{Version{2, 100}, "servers show their scheduler hints"},
	{Version{2, 101}, "(volumes)"},
	{Version{2, 102}, "flavors are found by their name and have no rxtx_factor, and no query has unknown parameters"},
	{Version{2, 103}, "(volumes)"},
	{Version{2, 104}, "servers are unpinned from their availability zone, and pinned to it"},
}

// A FormatError reports a text that is not written as versions of the compute API
// are.
type FormatError struct {
	Text string // what the caller wrote
}

// Error returns the text that upstream's service answers with.
func (e *FormatError) Error() string {
	return "API Version String " + e.Text + " is of invalid format. Must be of format MajorNum.MinorNum."
}

// strictForm is the expression of Nova's APIVersionRequest. Python's $ also matches before a final
// newline.
var strictForm = regexp.MustCompile(`^[1-9][0-9]*\.([1-9][0-9]*|0)\n?$`)

// NegotiateStrictly is Negotiate for the compute API: a version is two numbers without
// signs, spaces and leading zeros, and when its header has no entry for the service,
// the last one in legacy counts, which are the values of ComputeHeader. The error is
// a *FormatError or a *RangeError.
func (h History) NegotiateStrictly(service string, values, legacy []string) (Version, error) {
	text, ok := find(service, values)
	if list := strings.Join(legacy, ","); !ok && legacy != nil {
		_, text, _ = cutLast(pyjson.Latin1(list))
		text, ok = strings.TrimSpace(text), true
	}
	switch {
	case !ok:
		return h.Min(), nil
	case text == "latest":
		return h.Max(), nil
	case !strictForm.MatchString(text):
		return Version{}, &FormatError{text}
	}
	v, err := Parse(text)
	if err != nil {
		return Version{}, err
	}
	if !h.Has(v) {
		return v, &RangeError{text, h.Min(), h.Max()}
	}
	return v, nil
}
