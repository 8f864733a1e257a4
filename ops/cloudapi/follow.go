package cloudapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/berthcloud/berth/ops/cloud"
)

// A Follower reads the records of a cloud again and again, for programs that go on running. It is
// for one goroutine.
//
// Of placement it reads what has changed: providers whose generation rose, with their consumers. An
// allocation raises the generations of its providers, and one that is deleted raises none in the
// original service. So the usage of each project is compared with the allocations that are known:
// an addition has been read, so that a deletion makes the sums differ, and the consumers of the
// project are read again. Where the service does not say the usage of projects, everything is read
// each tenth time. Of the compute service the servers are read that have changed since the last
// reading, and all of them each 30th time. Everything else is read by pages.
type Follower struct {
	// Progress is called while a reading is under way; nil is not called.
	Progress Progress

	client  *Client
	parts   cloud.Part
	last    *placementReader // nil before the first reading
	since   int              // readings since everything was read
	unsaid  bool             // the service does not say the usage of projects
	servers serverReader
}

// Follower returns a reader of some parts. Consumers come with placement.
func (c *Client) Follower(parts cloud.Part) *Follower { return &Follower{client: c, parts: parts} }

// Read reads the records. Those of placement may be given where they are read elsewhere, for what
// depends on them. A part that could not be read is absent, and failed says why; what could be
// read in part is a sentence in Unread of the records, as in [Client.Read]. When ctx ends, all that
// was not read has its error.
func (f *Follower) Read(
	ctx context.Context, placement *cloud.Placement,
) (records *cloud.Cloud, failed map[cloud.Part]error) {
	r := &cloud.Cloud{Source: f.client.source, Begun: time.Now().UTC(), Placement: placement}
	failed = map[cloud.Part]error{}
	m := &meter{progress: f.Progress}
	if f.parts&cloud.PlacementPart != 0 {
		var err error
		if r.Placement, err = f.placement(ctx, m); err != nil {
			failed[cloud.PlacementPart] = err
		}
	}
	if f.parts&cloud.ComputePart != 0 {
		var err error
		if r.Compute, err = f.client.readCompute(ctx, r, m, &f.servers); err != nil {
			failed[cloud.ComputePart] = err
		}
	}
	if f.parts&cloud.NetworkPart != 0 {
		var err error
		if r.Network, err = f.client.readNetwork(ctx, r, m); err != nil {
			failed[cloud.NetworkPart] = err
		}
	}
	r.Ended = time.Now().UTC()
	return r, failed
}

// placement reads placement's records. What was read before an error is not read again.
func (f *Follower) placement(ctx context.Context, m *meter) (*cloud.Placement, error) {
	s, err := f.client.service("placement", placementVersion)
	if err != nil {
		return nil, err
	}
	r := &placementReader{ServiceClient: s, consumers: true}
	if err := r.lists(ctx, ""); err != nil {
		return nil, err
	}
	if whole := f.unsaid && f.since >= everythingEach-1; f.last != nil && !whole {
		r.know(f.last)
		f.since++
	} else {
		f.since = 0
	}
	err = r.readProviders(ctx, m.begin("providers", len(r.listed)))
	if err == nil {
		err = r.readConsumers(ctx, m)
	}
	if err == nil {
		err = f.compare(ctx, r)
	}
	if err != nil {
		r.interrupted(f.last)
		f.last = r
		return nil, err
	}
	f.last = r
	return r.records(), nil
}

// compare reads the consumers of projects again whose usage is not the sum of what is known.
func (f *Follower) compare(ctx context.Context, r *placementReader) error {
	if r.known == nil || f.unsaid {
		return nil // all have just been read, or it cannot be compared
	}
	sums := map[string]map[string]int64{}
	for _, c := range r.owners {
		if sums[c.Project] == nil {
			sums[c.Project] = map[string]int64{}
		}
		for _, amounts := range c.Allocations {
			for class, n := range amounts {
				sums[c.Project][class] += n
			}
		}
	}
	var projects []string
	for project := range sums {
		if project != "" {
			projects = append(projects, project)
		}
	}
	slices.Sort(projects)
	differ := make([]bool, len(projects))
	err := each(ctx, len(projects), func(ctx context.Context, i int) error {
		used, err := r.usage(ctx, projects[i])
		differ[i] = err == nil && !equal(used, sums[projects[i]])
		return err
	})
	var refused *refusal
	switch {
	case errors.As(err, &refused) && (refused.status == http.StatusForbidden || refused.status == http.StatusNotFound):
		f.unsaid = true
		return nil
	case err != nil:
		return err
	}
	var again []string
	for _, c := range r.owners {
		if i, ok := slices.BinarySearch(projects, c.Project); ok && differ[i] {
			again = append(again, c.UUID)
		}
	}
	if len(again) == 0 {
		return nil
	}
	return r.readAgain(ctx, again)
}

// usage returns what a project uses, by class.
func (p *placementReader) usage(ctx context.Context, project string) (map[string]int64, error) {
	var answer struct {
		Usages map[string]map[string]int64 // by type of consumer
	}
	if err := get(ctx, p.ServiceClient, "usages?project_id="+url.QueryEscape(project), &answer); err != nil {
		return nil, err
	}
	used := map[string]int64{}
	for _, amounts := range answer.Usages {
		for class, n := range amounts {
			if class != "consumer_count" {
				used[class] += n
			}
		}
	}
	return used, nil
}

// equal compares amounts. A class that is absent is 0.
func equal(a, b map[string]int64) bool {
	for class, n := range a {
		if b[class] != n {
			return false
		}
	}
	for class, n := range b {
		if a[class] != n {
			return false
		}
	}
	return true
}

// Flavors lists all flavors, with their extra specs.
func (c *Client) Flavors(ctx context.Context) ([]cloud.Flavor, error) {
	s, err := c.service("compute", computeVersion)
	if err != nil {
		return nil, err
	}
	flavors := []cloud.Flavor{}
	err = pages(ctx, s, "flavors/detail", url.Values{"is_public": {"None"}}, "flavors", func(f *flavor) string {
		flavors = append(flavors, f.record())
		return f.ID
	})
	return flavors, err
}
