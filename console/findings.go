package console

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/heal"
)

// Findings are what the audit finds in a reading.
type Findings struct {
	Time time.Time `json:"time"`
	// Late are the services and agents that have not reported in time, by their kind and host.
	Late []Late `json:"late"`
	audit.Result
}

// A Late is a service or an agent of a host that has not reported in time.
type Late struct {
	Kind   string `json:"kind"` // nova-compute, or the type of the agent
	Host   string `json:"host"`
	Detail string `json:"detail"`
}

// findings answers with what the audit finds: it is computed once for a reading.
func (c *Console) findings(_ *http.Request, s *state) (any, error) {
	if s.reading.Cloud.Placement == nil {
		return nil, fault.New(fault.Unsupported, "",
			"the audit compares the records of several services: berth console --os-cloud reads them")
	}
	return s.findings(), nil
}

// check audits the records of a state.
func check(s *state) Findings {
	r := audit.Check(s.index(), audit.Options{Heals: heal.Heals})
	if r.Findings == nil {
		r.Findings = []audit.Finding{}
	}
	if r.Unchecked == nil {
		r.Unchecked = []audit.Unchecked{}
	}
	return Findings{Time: s.reading.Time, Late: late(s.index()), Result: r}
}

func late(x *index.Index) []Late {
	list := []Late{}
	for i := range x.Compute.Services {
		if service := &x.Compute.Services[i]; service.State == "down" {
			detail := "down"
			if service.DisabledReason != "" {
				detail += ", disabled: " + service.DisabledReason
			}
			list = append(list, Late{service.Binary, service.Host, detail})
		}
	}
	for i := range x.Network.Agents {
		if agent := &x.Network.Agents[i]; !agent.Alive {
			list = append(list, Late{agent.Type, agent.Host, "its last report was at " + agent.Heartbeat})
		}
	}
	slices.SortFunc(list, func(a, b Late) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Host, b.Host))
	})
	return list
}
