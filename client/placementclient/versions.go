package placementclient

import (
	"context"
	"fmt"
	"net/http"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/microversion"
)

// The minor versions of placement 1.x that requests are written for. Each request uses the newest
// of them that the service has.
const (
	oldest   = 29 // trees, and all that does not need a newer one
	reparent = 37 // providers may move to another parent
	typed    = 38 // consumers have types
)

// A rangeDocument is the range of versions that a service returns at its root.
type rangeDocument struct {
	Versions []struct {
		ID  string `json:"id"`
		Min string `json:"min_version"`
		Max string `json:"max_version"`
	} `json:"versions"`
}

func (d *rangeDocument) Valid() bool { return len(d.Versions) > 0 }

// newest returns the newest minor version of 1.x that placement has. It is read until it is
// sufficient.
func (p *Client) newest(ctx context.Context) (int, error) {
	if v := p.max.Load(); v != 0 {
		return int(v), nil
	}
	low, high, err := p.versions(ctx)
	if err != nil {
		return 0, err
	}
	if high.Compare(microversion.Version{Major: 1, Minor: oldest}) < 0 ||
		low.Compare(microversion.Version{Major: 1, Minor: reparent}) > 0 {
		return 0, p.service.Unavailable(fmt.Errorf(
			"it has the versions %s to %s of its API, and one from 1.%d to 1.%d is needed", low, high, oldest, reparent))
	}
	if high.Minor < reparent {
		p.service.Log().Warn("providers with a wrong parent cannot be moved: placement is too old for that",
			"newest", high.String(), "needed", fmt.Sprintf("1.%d", reparent))
	}
	p.max.Store(int32(high.Minor))
	return high.Minor, nil
}

// versions reads the oldest and the newest version of placement's API.
func (p *Client) versions(ctx context.Context) (low, high microversion.Version, err error) {
	var doc rangeDocument
	if err := p.service.Call(ctx, client.Request{Method: http.MethodGet, Path: "/"}, &doc); err != nil {
		return low, high, fmt.Errorf("reading its versions: %w", err)
	}
	if low, high, err = doc.span(); err != nil {
		return low, high, p.service.Unavailable(err)
	}
	return low, high, nil
}

// Supports reads the versions that placement has now, and returns nil when its API has version
// 1.minor. The error is a fault: of kind [fault.Unsupported], with the versions that there are and
// the one that is needed, when it has not, else that of the request, and nothing is known.
func (p *Client) Supports(ctx context.Context, minor int) error {
	low, high, err := p.versions(ctx)
	if err != nil {
		return err
	}
	p.max.Store(0) // placement may have been upgraded: the next request reads it again
	needed := microversion.Version{Major: 1, Minor: minor}
	if high.Compare(needed) < 0 || low.Compare(needed) > 0 {
		return fault.New(fault.Unsupported, "", "placement has the versions %s to %s of its API, and %s is needed",
			low, high, needed)
	}
	return nil
}

func (d *rangeDocument) span() (low, high microversion.Version, err error) {
	v := d.Versions[0]
	if low, err = microversion.Parse(v.Min); err == nil {
		high, err = microversion.Parse(v.Max)
	}
	if err != nil {
		return low, high, fmt.Errorf("its versions cannot be read: %w", err)
	}
	return low, high, nil
}
