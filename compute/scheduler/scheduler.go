// Package scheduler chooses hosts for servers: it queries placement for candidates, has package
// selection choose among them, and has its caller claim the choice, until a claim succeeds.
//
// devices.go chooses the PCI devices that ports are. Hosts and aggregates are cached (hosts.go),
// and boots that wait for equal queries share an answer (candidates.go, decision 33).
package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
)

// A Claimant is an operation that a host is chosen for.
type Claimant interface {
	ServerID() compute.ID
	Choice() *HostChoice
	// Target is what a server that moves gets on the host that is chosen, nil for one that is on no
	// host.
	Target() *MoveTarget
	// TakeClaim stores a claim and writes it to placement. The error is a *hostRefused or errNotTaken
	// when another candidate should be tried, and a *Failure when placement cannot be used.
	TakeClaim(ctx context.Context, claim selection.Claim) error
}

// A MoveTarget is the flavor that a server has after its move.
type MoveTarget struct {
	Flavor   json.RawMessage // as in ServerRow
	FlavorID compute.ID
	// Shared is what the server has of providers that share with its host. Hosts that can use the
	// same ones are preferred, and claims on these hosts name what the server has.
	Shared []request.Shared
	// Refused are the hosts that have refused the server since its move began, each with why.
	Refused map[string]string
}

// Place chooses and claims a host for each of some servers with the same request. The error
// is a *Failure when there is none.
func (s *Scheduler) Place(ctx context.Context, jobs []Claimant, ports []compute.Port) error {
	var preferred *choice // of hosts that share what the server has
	if target := jobs[0].Target(); target != nil && len(target.Shared) > 0 {
		none, err := s.place(ctx, jobs, ports, search{final: len(jobs) > 1, keeping: true})
		if none == nil {
			return err
		}
		preferred = none
	}
	none, err := s.place(ctx, jobs, ports, search{final: len(jobs) > 1})
	if none == nil {
		return err
	}
	f := s.noValidHost(ctx, none)
	if preferred != nil && preferred.Chooser != nil {
		f.Details = "hosts that share what the server has:\n" + s.noValidHost(ctx, preferred).Details +
			"\nall hosts:\n" + f.Details
	}
	return f
}

// place is Place for hosts that can use the sharing providers that a server has something of, or
// for all hosts. It returns the choice that has ended without a host, nil when there is none, or an
// error.
func (s *Scheduler) place(
	ctx context.Context, jobs []Claimant, ports []compute.Port, by search,
) (none *choice, err error) {
	chooser, err := s.choose(ctx, jobs, ports, by)
	switch {
	case err != nil:
		return nil, err
	case chooser.Chooser == nil:
		return chooser, nil
	}
	defer func() { chooser.Release() }()
	for i := 0; !chooser.Done(); {
		claim, ok := chooser.Next()
		switch {
		case !ok && chooser.final:
			return s.placeElsewhere(ctx, jobs, i, ports, chooser, by)
		case !ok:
			by.final = true
			next, err := s.choose(ctx, jobs, ports, by)
			switch {
			case err != nil:
				return nil, err
			case next.Chooser == nil:
				return chooser, nil
			}
			chooser = next
			continue
		}
		if chooser.kept != nil {
			claim.Amounts = claim.Amounts.Plus(chooser.kept)
		}
		err := jobs[i].TakeClaim(ctx, claim)
		var refused *HostRefused
		switch {
		case err == nil:
			chooser.Taken()
			i++
		case errors.As(err, &refused):
			chooser.Refuse(refused.Why)
		case !errors.Is(err, ErrNotTaken):
			return nil, err
		}
	}
	rest := chooser.Alternates()
	for i := range rest { // none of a server that moves is claimed so far
		rest[i].Amounts = rest[i].Amounts.Plus(chooser.kept)
	}
	for _, j := range jobs {
		j.Choice().Rest = rest
	}
	return nil, nil
}

// placeElsewhere continues a choice that has ended without a host for the server at an index: when
// it was among hosts that report NUMA nodes, others may have one. It returns what place does.
func (s *Scheduler) placeElsewhere(
	ctx context.Context, jobs []Claimant, at int, ports []compute.Port, ended *choice, by search,
) (none *choice, err error) {
	from, ok := ended.next()
	if !ok {
		return ended, nil
	}
	none, err = s.place(ctx, jobs[at:], ports, search{final: true, keeping: by.keeping, from: from})
	switch {
	case none != nil && none.Chooser == nil:
		return ended, nil
	case none != nil:
		none.earlier = ended
	case err == nil:
		rest := ended.Alternates()
		for _, j := range jobs[:at] {
			j.Choice().Rest = rest
		}
	}
	return none, err
}

// AffectsPlacement reports whether what a port is like says where its server can go.
func (s *Scheduler) AffectsPlacement(p compute.Port) bool {
	return len(p.ResourceRequest.Groups) > 0 || p.ResourceRequest.NUMAPolicy != "" ||
		s.rules.Settings.Requests.RoutedNetworks
}

// A HostChoice is what a host is chosen by, and what was chosen.
type HostChoice struct {
	compute.HostClaim
	Image  extraspecs.Image `json:"image"`
	Node   compute.ID       `json:"node,omitempty"`   // the only one that will do
	Forced bool             `json:"forced,omitempty"` // it is not filtered
	// Rest is what else the server could have had.
	Rest []selection.Claim `json:"rest,omitempty"`
}

// ErrNotTaken says that placement did not take a claim.
var ErrNotTaken = errors.New("compute: placement refused the claim")

// A HostRefused says that a host will not do after all.
type HostRefused struct{ Why string }

// Error says why.
func (h *HostRefused) Error() string { return "compute: the host was refused:  " + h.Why }

// CheckHost refuses a host that has become one that will not do since it was chosen: others
// of its group have been put there, or elsewhere.
func CheckHost(tx *compute.Tx, server compute.ServerRow, host string, forced bool) error {
	if forced {
		return nil
	}
	if serves, err := tx.HostServes(tx, host); err != nil || !serves {
		return cmp.Or[error](err, &HostRefused{Why: "its compute service is down, or cannot serve since its start"})
	}
	if server.Group == "" {
		return nil
	}
	g, err := compute.One[compute.GroupRow](tx, compute.Where(compute.ByID, server.Group))
	if err != nil {
		return err
	}
	members, err := compute.Rows[compute.ServerSummary](tx, compute.Where(compute.ByGroup, server.Group))
	if err != nil {
		return err
	}
	here, elsewhere := 0, 0
	for _, m := range members {
		switch {
		case m.ID == server.ID || m.Host == "" || m.Task == compute.Deleting:
		case m.Host == host:
			here++
		default:
			elsewhere++
		}
	}
	if g.Policy == selection.Affinity && here == 0 && elsewhere > 0 ||
		g.Policy == selection.AntiAffinity && here >= max(1, g.MaxPerHost) {
		return &HostRefused{
			Why: "other servers of its " + g.Policy + " group were scheduled there, or elsewhere, at the same time",
		}
	}
	return nil
}

// A Scheduler chooses hosts for servers, and claims them. Its methods may be called concurrently.
type Scheduler struct {
	store     *compute.Database
	rules     compute.Rules
	placement compute.Placement
	network   compute.Network
	hosts     *Hosts
	queries   queryGroup
	explains  chan struct{} // has one while an explanation is under way
}

// New returns the scheduler of a database.
func New(db *compute.Database, hosts *Hosts, p compute.Placement, n compute.Network) *Scheduler {
	return &Scheduler{store: db, rules: db.Rules, placement: p, network: n, hosts: hosts, explains: make(chan struct{}, 1)}
}
