package console

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/lookup"
	"github.com/berthcloud/berth/ops/novaquery"
	"github.com/berthcloud/berth/placement"
)

// A subject is what a page requests an answer about: a query, or a server whose query Nova sends.
type subject struct {
	query  placement.Query
	server novaquery.Server // {} for a query
	owner  func(suffix string) string
	notes  []string
}

// A Subject says what an answer is about.
type Subject struct {
	// Owners are whose request groups suffixes are, for people.
	Owners map[string]string `json:"owners"`
	// Notes say what is not known of it, a sentence each.
	Notes []string `json:"notes"`
}

func (s *subject) describe() Subject {
	d := Subject{Owners: map[string]string{}, Notes: append([]string{}, s.notes...)}
	for _, g := range s.query.Groups {
		if g.Suffix != "" {
			d.Owners[g.Suffix] = s.owner(g.Suffix)
		}
	}
	return d
}

// subject reads what a request is about: ?query= has a query string of GET /allocation_candidates,
// or a line of a log with one; ?server= a server that exists; ?flavor= the flavor of one to be
// created, with image, port, network (several), zone and project.
func (c *Console) subject(r *http.Request, s *state) (*subject, error) {
	words := r.URL.Query()
	if raw := words.Get("query"); raw != "" {
		q, err := placementapi.CandidatesQuery(placementapi.LoggedQuery(raw), microversion.Placement.Max().Minor)
		if err != nil {
			return nil, err
		}
		return &subject{query: q, owner: func(suffix string) string { return "group " + suffix }}, nil
	}
	flavor, name := words.Get("flavor"), words.Get("server")
	if (flavor == "") == (name == "") {
		return nil, fault.New(fault.Invalid, "", "one of query, server and flavor has to say what is requested")
	}
	o := lookup.Options{
		Image: words.Get("image"), Ports: words["port"], Networks: words["network"], Zone: words.Get("zone"),
		Project: words.Get("project"),
	}
	f := &lookup.Finder{Options: o, Cloud: s.reading.Cloud}
	if c.source.Finder != nil {
		f = c.source.Finder(o, s.reading.Cloud)
	} else if flavor != "" || o.NeedsAPIs() {
		return nil, fault.New(fault.Unsupported, "",
			"flavors, images and ports are in no file and no database: berth console --os-cloud reads them from the APIs")
	}
	var server novaquery.Server
	var err error
	if flavor != "" {
		server, err = f.New(r.Context(), flavor)
	} else {
		server, err = f.Existing(r.Context(), name)
	}
	if err != nil {
		return nil, lookupFault(err)
	}
	request, err := f.Query(server)
	if err != nil {
		return nil, queryFault(err)
	}
	return &subject{query: request.Query, server: server, owner: f.Owner(request), notes: f.Notes()}, nil
}

// Choices are names for a request to be made of, sorted. What cannot be read has none: names can be
// typed too.
type Choices struct {
	Flavors  []string `json:"flavors"`
	Images   []string `json:"images"`
	Networks []string `json:"networks"`
	Ports    []string `json:"ports"`
	Zones    []string `json:"zones"`
}

// choices answers with the names of flavors, images, networks, ports with a request and zones.
func (c *Console) choices(r *http.Request, s *state) (any, error) {
	all := map[string]map[string]bool{}
	add := func(kind, name string) {
		if all[kind] == nil {
			all[kind] = map[string]bool{}
		}
		if name != "" {
			all[kind][name] = true
		}
	}
	if c.source.Flavors != nil {
		flavors, err := c.source.Flavors(r.Context())
		if err != nil {
			c.log.Warn("the console has no names of flavors", "error", err.Error())
		}
		for i := range flavors {
			add("flavor", flavors[i].Name)
		}
		images, err := c.source.Images(r.Context())
		if err != nil {
			c.log.Warn("the console has not all names of images", "error", err.Error())
		}
		for _, name := range images {
			add("image", name)
		}
	}
	x := s.index()
	for i := range x.Network.Networks {
		add("network", x.Network.Networks[i].Name)
	}
	for _, port := range x.Ports {
		if port.Request != nil {
			add("port", port.Name)
		}
	}
	for i := range x.Compute.Services {
		add("zone", x.Compute.Services[i].Zone)
	}
	names := func(kind string) []string { return append([]string{}, slices.Sorted(maps.Keys(all[kind]))...) }
	return Choices{names("flavor"), names("image"), names("network"), names("port"), names("zone")}, nil
}

// lookupFault is the error of a look-up as a fault.
func lookupFault(err error) error {
	if errors.As(err, new(lookup.UnknownServer)) {
		return fault.New(fault.NotFound, "", "%v", err)
	}
	if _, ok := fault.Find(err); ok {
		return err
	}
	return fault.New(fault.Invalid, "", "%v", err)
}

// queryFault is the error of a server for which Nova sends no query.
func queryFault(err error) error {
	var none *request.NoValidHost
	if errors.As(err, &none) {
		return fault.New(fault.Invalid, "", "placement is not queried: %s", strings.Join(none.Details, "; "))
	}
	return fault.New(fault.Invalid, "", "%v", err)
}

const (
	// computeTimeout bounds the time of one answer, and maxComputed how many are computed at a time,
	// so that a page cannot take the processors from a service in the same process.
	computeTimeout = 30 * time.Second
	maxComputed    = 2
)

// compute calls a function for a reading's snapshot when its turn comes, with a context that bounds
// its time.
func (c *Console) compute(ctx context.Context, do func(ctx context.Context) error) error {
	select {
	case c.computing <- struct{}{}:
		defer func() { <-c.computing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, computeTimeout)
	defer cancel()
	err := do(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Unavailable, "", "it takes more than %v to compute; the command has no such bound",
			computeTimeout)
	}
	return err
}

// A RefusedHost is a host that placement offers and Nova does not take.
type RefusedHost struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// refusedHosts returns those of some hosts that Nova does not take.
func (s *subject) refusedHosts(c *cloud.Cloud, names []string) []RefusedHost {
	list, refused := []RefusedHost{}, s.server.Refusals(c)
	for _, name := range names {
		if why := refused(name); why != "" {
			list = append(list, RefusedHost{name, why})
		}
	}
	return list
}
