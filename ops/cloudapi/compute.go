package cloudapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthcloud/berth/ops/cloud"
)

// computeVersion is the oldest that has what the records need: flavors with their extra specs in
// servers since 2.47, UUIDs of services and hypervisors since 2.53, of migrations since 2.59, and
// services of cells that are down since 2.69.
const computeVersion = "2.69"

// The first versions at which servers have the zone that they are bound to, the properties of their
// images, and their scheduler hints.
const (
	zonesVersion  = "2.96"
	imagesVersion = "2.98"
	hintsVersion  = "2.100"
)

// serversVersions are the versions at which servers are read: the first that the service has.
func serversVersions(newest string) []string {
	all := []string{hintsVersion, imagesVersion, zonesVersion, computeVersion}
	if newest == "" {
		return all[2:]
	}
	i := slices.IndexFunc(all, func(version string) bool { return compareVersions(version, newest) <= 0 })
	return all[max(i, 0):]
}

// compareVersions compares microversions of the form 2.N.
func compareVersions(a, b string) int {
	number := func(version string) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(version, "2.")) // what has another form is the oldest
		return n
	}
	return cmp.Compare(number(a), number(b))
}

// pageSize is how many objects a page of a list has at most; services may have a lower limit.
const pageSize = 1000

// readCompute reads the records of the compute service, with the servers that a reader reads.
func (c *Client) readCompute(
	ctx context.Context, r *cloud.Cloud, m *meter, servers *serverReader,
) (*cloud.Compute, error) {
	s, err := c.service("compute", computeVersion)
	if err != nil {
		return nil, err
	}
	records := &cloud.Compute{}
	done := m.begin("lists of the compute service", 7)
	if records.Version, err = newestVersion(ctx, s); err != nil {
		return nil, err
	}
	done()
	var services struct{ Services []cloud.Service }
	if err := get(ctx, s, "os-services", &services); err != nil {
		return nil, err
	}
	records.Services = services.Services
	for _, service := range services.Services {
		if service.Status == "UNKNOWN" { // pages of servers omit those of a cell that is down, and do not say so
			return nil, &refusal{fmt.Sprintf(
				"the compute service does not reach the cell of the host %s, and leaves out its servers; try again when it does",
				service.Host), 0}
		}
	}
	done()
	var aggregates struct{ Aggregates []cloud.Aggregate }
	if err := get(ctx, s, "os-aggregates", &aggregates); err != nil {
		return nil, err
	}
	records.Aggregates = aggregates.Aggregates
	done()
	err = pages(ctx, s, "os-hypervisors/detail", nil, "hypervisors", func(h *hypervisor) string {
		h.Host = h.Service.Host
		records.Hypervisors = append(records.Hypervisors, h.Hypervisor)
		return h.UUID
	})
	if err != nil {
		return nil, err
	}
	done()
	bare, err := servers.read(ctx, c, records)
	if err != nil {
		return nil, err
	}
	if bare > 0 {
		r.Unread = append(r.Unread,
			fmt.Sprintf("The compute service does not show this user the extra specs of the flavors of %d servers.", bare))
	}
	done()
	records.Groups, err = serverGroups(ctx, s)
	switch {
	case isStatus(err, http.StatusForbidden):
		r.Unread = append(r.Unread, "Server groups: "+err.Error()+".")
	case err != nil:
		return nil, err
	case c.login().MaySeePart():
		r.Unread = append(r.Unread,
			"The compute service shows this user, who is no administrator, the server groups of one project at most.")
	}
	done()
	allocated := func(*cloud.Migration) bool { return false }
	if r.Placement != nil {
		allocated = func(migration *cloud.Migration) bool {
			_, matches := slices.BinarySearchFunc(r.Placement.Consumers, migration.UUID,
				func(c cloud.Consumer, uuid string) int { return strings.Compare(c.UUID, uuid) })
			return matches
		}
	}
	err = pages(ctx, s, "os-migrations", nil, "migrations", func(migration *cloud.Migration) string {
		if !slices.Contains([]string{"completed", "confirmed", "reverted", "failed", "cancelled"}, migration.Status) ||
			allocated(migration) {
			records.Migrations = append(records.Migrations, *migration)
		}
		return migration.UUID
	})
	if err != nil {
		return nil, err
	}
	done()
	return records, nil
}

// ComputeVersion returns the newest microversion of the compute service, "" when it does not report
// one. Every user may read it.
func (c *Client) ComputeVersion(ctx context.Context) (string, error) {
	s, err := c.service("compute", "")
	if err != nil {
		return "", err
	}
	return newestVersion(ctx, s)
}

// newestVersion returns the newest microversion of a service, "" when it does not report one.
func newestVersion(ctx context.Context, s *gophercloud.ServiceClient) (string, error) {
	var root json.RawMessage
	if err := get(ctx, s, "", &root); err != nil {
		var refused *refusal
		if errors.As(err, &refused) {
			return "", nil
		}
		return "", err
	}
	_, newest, _ := versions(root)
	return newest, nil
}

// serverGroups reads the server groups of all projects. The list has no markers and no links, and
// may be cut to fewer than requested: an empty page is its end.
func serverGroups(ctx context.Context, s *gophercloud.ServiceClient) ([]cloud.ServerGroup, error) {
	all := []cloud.ServerGroup{}
	for {
		var page struct {
			Groups []cloud.ServerGroup `json:"server_groups"`
		}
		path := fmt.Sprintf("os-server-groups?all_projects=True&limit=%d&offset=%d", pageSize, len(all))
		if err := get(ctx, s, path, &page); err != nil {
			return nil, err
		}
		if len(page.Groups) == 0 {
			return all, nil
		}
		if len(all) > 0 && page.Groups[0].UUID == all[0].UUID {
			return nil, errors.New("the compute service answers GET os-server-groups with the same page again")
		}
		all = append(all, page.Groups...)
	}
}

// A hypervisor is a compute node as the API has it.
type hypervisor struct {
	cloud.Hypervisor
	Service struct{ Host string }
}

// A server is a server as the API has it.
type server struct {
	UUID    string          `json:"id"`
	Name    string          `json:"name"`
	Status  string          `json:"status"`
	Task    string          `json:"OS-EXT-STS:task_state"`
	Host    string          `json:"OS-EXT-SRV-ATTR:host"`
	Node    string          `json:"OS-EXT-SRV-ATTR:hypervisor_hostname"`
	Zone    string          `json:"OS-EXT-AZ:availability_zone"`
	Pinned  string          `json:"pinned_availability_zone"`
	Project string          `json:"tenant_id"`
	User    string          `json:"user_id"`
	Created time.Time       `json:"created"`
	Updated time.Time       `json:"updated"`
	Image   json.RawMessage `json:"image"` // an object, or "" for a server without one
	Flavor  struct {
		cloud.Flavor
		Original string `json:"original_name"`
	} `json:"flavor"`
	Hints map[string]any           `json:"scheduler_hints"` // texts, or lists of them
	Fault struct{ Message string } `json:"fault"`
}

func (s *server) record() cloud.Server {
	var image struct {
		ID         string
		Properties map[string]string
	}
	_ = json.Unmarshal(s.Image, &image) // "" is no object
	flavor := s.Flavor.Flavor
	flavor.Name = s.Flavor.Original
	return cloud.Server{
		UUID: s.UUID, Name: s.Name, Status: s.Status, Task: s.Task, Host: s.Host, Node: s.Node, Zone: s.Zone,
		Pinned: s.Pinned, Project: s.Project, User: s.User,
		Created: s.Created, Flavor: flavor, Image: image.ID, ImageProperties: image.Properties,
		Hints: hints(s.Hints), Fault: s.Fault.Message,
	}
}

// hints returns those of the hints that tools know.
func hints(all map[string]any) map[string][]string {
	known := map[string][]string{}
	for _, name := range []string{"group", "same_host", "different_host"} {
		switch v := all[name].(type) {
		case string:
			known[name] = []string{v}
		case []any:
			for _, item := range v {
				if text, ok := item.(string); ok {
					known[name] = append(known[name], text)
				}
			}
		}
	}
	if len(known) == 0 {
		return nil
	}
	return known
}

// pages reads a list page by page and calls fn with each object, which returns its id. The links of
// services are used to see whether there is more, and not followed: behind a proxy they may name an
// address that cannot be reached.
func pages[T any](
	ctx context.Context, s *gophercloud.ServiceClient, path string, query url.Values, key string, fn func(*T) string,
) error {
	q := url.Values{"limit": {fmt.Sprint(pageSize)}}
	for name, values := range query {
		q[name] = values
	}
	for {
		var answer map[string]json.RawMessage
		if err := get(ctx, s, path+"?"+q.Encode(), &answer); err != nil {
			return err
		}
		var list []T
		var links []struct{ Rel string }
		for name, into := range map[string]any{key: &list, key + "_links": &links} {
			if text, ok := answer[name]; ok {
				if err := json.Unmarshal(text, into); err != nil {
					return wrapError("the "+s.Type+" service", fmt.Errorf("GET %s: %w", path, err))
				}
			}
		}
		last := ""
		for i := range list {
			last = fn(&list[i])
		}
		more := slices.ContainsFunc(links, func(l struct{ Rel string }) bool { return l.Rel == "next" })
		if len(list) == 0 || !more {
			return nil
		}
		if q.Get("marker") == last {
			return fmt.Errorf("the %s service answers GET %s with the same page again", s.Type, path)
		}
		q.Set("marker", last)
	}
}
