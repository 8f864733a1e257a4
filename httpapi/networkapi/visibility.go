package networkapi

import (
	"context"

	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/network"
)

// The searches by which lists read no objects of other projects.

// ofProject is for objects that concern their own project only.
func ofProject(_ context.Context, project string) ([]network.Match, error) {
	return []network.Match{network.Where(network.ByProject, project)}, nil
}

// ofProjectOrAll is for objects that concern their own project, or all projects.
func ofProjectOrAll(_ context.Context, project string) ([]network.Match, error) {
	return []network.Match{
		network.Where(network.ByProject, project), network.Where(network.ByOpenTo, network.AllProjects),
	}, nil
}

// ifShown is for objects that only policy hides: all, and none for a caller to whom no target would
// be shown.
func (a *API) ifShown(rule string) func(context.Context, string) ([]network.Match, error) {
	return func(ctx context.Context, _ string) ([]network.Match, error) {
		caller, _ := identity.From(ctx)
		if a.Policy.Possible(caller, rule) {
			return nil, nil
		}
		return []network.Match{network.Where[network.ID](network.ByID)}, nil
	}
}
