package heal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
)

// FileVersion is the version of the format of a plan's file. A file of another version is refused.
const FileVersion = 1

// A Plan is what repairs findings, as a list of requests, with the JSON keys of its file.
type Plan struct {
	Version int `json:"version"`
	// Parts are what the plan was made for. Source is where its records are from, and Read when
	// they were read.
	Parts  []Part `json:"parts"`
	Source string `json:"source"`
	Read   string `json:"read"`
	// Steps in the order in which they are sent.
	Steps []Step `json:"steps"`
	// Unhealed are the findings that the plan does not repair, and servers that are skipped.
	Unhealed []Unhealed `json:"not_healed"`
	// More says that there are more servers to heal than [Options].Max.
	More bool `json:"more"`
}

// A Step is one request with what it is for.
type Step struct {
	ID    int             `json:"id"` // from 1
	Codes []audit.Code    `json:"codes"`
	About []audit.Subject `json:"about"`
	Why   string          `json:"why"`
	// Checks are read just before the request is sent. When one does not hold it is not sent.
	Checks  []Check       `json:"checks"`
	Request cloud.Request `json:"request"`
	// After are the steps without which this one is not sent.
	After []int `json:"after"`
}

// The services.
const (
	Placement = "placement"
	Compute   = "compute"
	Network   = "network"
)

// A Check is a GET with what its answer must be: the status and, unless Has is nil, the values that
// Has names. An object has those that are named and may have others, a list has no others. null is
// the same as no value.
type Check struct {
	cloud.Request
	Status int             `json:"status"`
	Has    json.RawMessage `json:"has,omitempty"`
	// Statement is what the check is about, in a sentence without a full stop: "server X is on host
	// cn1".
	Statement string `json:"says"`
}

// An Unhealed is a finding that is not healed.
type Unhealed struct {
	Code  audit.Code      `json:"code,omitempty"` // "" for a server that is skipped
	About []audit.Subject `json:"about"`
	Why   string          `json:"why"`
	// Command is what to type, or what shows what to decide.
	Command string `json:"command"`
	// Nova is the exit code of nova-manage placement heal_allocations or sync_aggregates for it, 0
	// when they do not read it.
	Nova NovaCode `json:"nova_manage_code,omitempty"`
}

// A NovaCode is an exit code of a command of nova-manage.
type NovaCode int

// The codes of heal_allocations.
const (
	Healed       NovaCode = 0 // something was healed
	MaxReached   NovaCode = 1 // there may be more to heal
	NoNode       NovaCode = 2 // the compute node of a server is not known
	NotAllocated NovaCode = 3 // an allocation could not be made or changed
	Nothing      NovaCode = 4 // there was nothing to heal, or no request was allowed
	NoPorts      NovaCode = 5 // the ports of servers cannot be read
	NotNamed     NovaCode = 6 // a port could not name its provider
	Refused      NovaCode = 8 // servers of this kind are not healed
)

// The codes of sync_aggregates.
const (
	SyncRefused      NovaCode = 2 // placement or the compute service refused a request
	SyncChanged      NovaCode = 3 // a provider changed meanwhile
	HostUnmapped     NovaCode = 4 // a member of a host aggregate is not a host
	HostNodeless     NovaCode = 5 // a member has no compute node
	NodeProviderless NovaCode = 6 // a compute node of a member has no provider
)

// Write writes the file of a plan.
func Write(w io.Writer, p *Plan) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(p)
}

// Read reads the file of a plan. It refuses what [Write] of this version does not write, since a
// key that is not understood may be one that matters.
func Read(r io.Reader) (*Plan, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	var p Plan
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("not a plan of berth heal: %w", err)
	}
	if p.Version != FileVersion {
		return nil, fmt.Errorf("the plan has the format %d, and this program reads %d", p.Version, FileVersion)
	}
	if len(p.Parts) == 0 {
		return nil, errors.New("not a plan of berth heal: it has no parts")
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		for k := range s.Checks {
			s.Checks[k].Has, s.Checks[k].Body = compact(s.Checks[k].Has), compact(s.Checks[k].Body)
		}
		s.Request.Body = compact(s.Request.Body)
		if s.ID != i+1 {
			return nil, fmt.Errorf("step %d has the id %d; steps are numbered from 1, in their order", i+1, s.ID)
		}
		if s.Request.Method == "DELETE" &&
			(s.Request.Service != Placement || !strings.HasPrefix(s.Request.Path, "/resource_providers/")) {
			return nil, fmt.Errorf("step %d deletes something else than a provider, which no plan does", s.ID)
		}
	}
	return &p, nil
}

// compact returns JSON in one line, as it is sent and printed.
func compact(text json.RawMessage) json.RawMessage {
	if text == nil {
		return nil
	}
	var b bytes.Buffer
	_ = json.Compact(&b, text) // the decoder has read it
	return b.Bytes()
}
