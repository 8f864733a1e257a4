package cloudapi

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/berthcloud/berth/ops/cloud"
)

const (
	// serversOverlap is how long before the last change that is known changes are read again: services
	// write the time of a change before others can read it, and their clocks differ.
	serversOverlap = 2 * time.Minute
	// serversEach is how many readings of servers there are for each that reads all of them. A server
	// that is deleted before it has a cell is in no list of what was deleted.
	serversEach = 30
)

// A serverReader reads servers: all of them the first time, then those that have changed. It is for
// one goroutine.
type serverReader struct {
	servers []cloud.Server
	bare    map[string]bool // the servers whose flavor is without extra specs
	version string          // at which they were read
	updated time.Time       // the last change of those that were read
	n       int             // readings
}

// read sets the servers of the records, and returns how many have a flavor without extra specs.
func (r *serverReader) read(ctx context.Context, c *Client, records *cloud.Compute) (bare int, err error) {
	for _, version := range serversVersions(records.Version) {
		err = r.readAt(ctx, c, version)
		if isStatus(err, http.StatusNotAcceptable) {
			continue
		}
		records.ZonesKnown = err == nil && compareVersions(version, zonesVersion) >= 0
		records.ImagesKnown = err == nil && compareVersions(version, imagesVersion) >= 0
		records.HintsKnown = err == nil && compareVersions(version, hintsVersion) >= 0
		break
	}
	if err != nil {
		return 0, err
	}
	records.Servers = r.servers
	return len(r.bare), nil
}

// readAt reads the servers at a microversion. After an error it has those of before.
func (r *serverReader) readAt(ctx context.Context, c *Client, version string) error {
	s, err := c.service("compute", version)
	if err != nil {
		return err
	}
	whole := r.updated.IsZero() || r.version != version || r.n%serversEach == 0
	// Servers that were deleted softly (Nova's reclaim_instance_interval) keep their allocations and
	// ports until they are reclaimed. They are among what has changed, as those that were deleted are.
	query := url.Values{"all_tenants": {"1"}, "soft_deleted": {"true"}}
	if !whole {
		query = url.Values{"all_tenants": {"1"}, "changes-since": {r.updated.Add(-serversOverlap).UTC().Format(time.RFC3339)}}
	}
	next := serverReader{bare: map[string]bool{}, version: version, updated: r.updated, n: r.n + 1}
	if whole {
		next.updated = time.Time{}
	}
	read := map[string]bool{}
	var changed []cloud.Server
	err = pages(ctx, s, "servers/detail", query, "servers", func(s *server) string {
		if s.Updated.After(next.updated) {
			next.updated = s.Updated
		}
		if read[s.UUID] = true; whole || s.Status != "DELETED" {
			changed = append(changed, s.record())
			if s.Flavor.Specs == nil {
				next.bare[s.UUID] = true
			}
		}
		return s.UUID
	})
	if err != nil {
		return err
	}
	if !whole {
		for i := range r.servers {
			if uuid := r.servers[i].UUID; !read[uuid] {
				next.servers = append(next.servers, r.servers[i])
				if r.bare[uuid] {
					next.bare[uuid] = true
				}
			}
		}
	}
	next.servers = append(next.servers, changed...)
	*r = next
	return nil
}
