package placementclient

import (
	"context"
	"net/http"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/placement"
)

// wireAggregates are those of a provider in placement's JSON.
type wireAggregates struct {
	Aggregates []string `json:"aggregates"`
	Generation int64    `json:"resource_provider_generation"`
}

func (w *wireAggregates) Valid() bool { return w.Aggregates != nil }

// Join brings a provider into an aggregate, in which it may be already. ErrNoProvider says that the
// provider does not exist.
func (p *Client) Join(ctx context.Context, provider, aggregate placement.UUID) error {
	return p.setMember(ctx, string(provider), string(aggregate), true)
}

// setMember brings a provider into an aggregate or takes it out, unless it is as desired.
func (p *Client) setMember(ctx context.Context, provider, aggregate string, member bool) error {
	path := providerPath(provider) + "/aggregates"
	err := swap(ctx, func() error {
		var cur wireAggregates
		if err := p.get(ctx, path, &cur); err != nil {
			return err
		}
		at := slices.Index(cur.Aggregates, aggregate)
		switch {
		case (at >= 0) == member:
			return nil
		case member:
			cur.Aggregates = append(cur.Aggregates, aggregate)
		default:
			cur.Aggregates = slices.Delete(cur.Aggregates, at, at+1)
		}
		return p.put(ctx, path, cur)
	})
	if r := client.Refused(err, http.StatusNotFound); r != nil {
		return client.Known(r, allocations.ErrNoProvider)
	}
	return err
}
