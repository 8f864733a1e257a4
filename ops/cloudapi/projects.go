package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/berthcloud/berth/cloudconfig"
	"github.com/berthcloud/berth/ops/cloud"
)

// The sources of the records of projects, as [ProjectReader.Read] names those that fail.
const (
	ProjectNames  = "identity" // names of projects, in Keystone
	ProjectQuotas = "quotas"   // in the compute service
	ProjectLimits = "limits"   // unified limits, in Keystone
)

// quotasEach is in how many readings the quotas of all projects are read once.
const quotasEach = 20

// A ProjectReader reads the names and the limits of projects again and again. It is for one
// goroutine.
//
// The compute service has no list of quotas: each project takes a request. Those of a project are
// read when it is new, and each 20th time. Unified limits (Keystone's, which Nova uses with its
// UnifiedLimitsDriver) are lists, of which Keystone shows the part of one project to a token with
// the scope of a project. So they are read with a token with the scope of the system, if the user
// gets one.
type ProjectReader struct {
	client *Client
	most   int
	quotas map[string]map[string]int64 // by project; nil of one that the service does not know
	turn   int
	system *gophercloud.ProviderClient // with the scope of the system, nil when there is none yet
}

// ProjectReader returns a reader of a number of projects at most, as [cloud.Projects.Select]
// selects them.
func (c *Client) ProjectReader(most int) *ProjectReader {
	return &ProjectReader{client: c, most: most, quotas: map[string]map[string]int64{}}
}

// Read reads the projects of a cloud whose other records were read. What could not be read is
// absent, and failed has the source with the reason; the sources that were read are in it with nil.
// Unified limits are a source where Keystone has limits of resource classes.
func (r *ProjectReader) Read(ctx context.Context, c *cloud.Cloud) (projects *cloud.Projects, failed map[string]error) {
	projects, failed = &cloud.Projects{}, map[string]error{}
	projects.List, failed[ProjectNames] = r.names(ctx)
	projects.Select(c, r.most)
	if failed[ProjectQuotas] = r.readQuotas(ctx, projects.List); failed[ProjectQuotas] == nil {
		for i := range projects.List {
			projects.List[i].Quotas = r.quotas[projects.List[i].UUID]
		}
	}
	if exist, err := r.readLimits(ctx, projects.List); exist || err != nil && failed[ProjectNames] == nil {
		failed[ProjectLimits] = err
	}
	return projects, failed
}

// identity returns the client of the identity service.
func (c *Client) identity() (*gophercloud.ServiceClient, error) {
	s, err := c.service("identity", "")
	if err == nil {
		s.ResourceBase = strings.TrimSuffix(s.Endpoint, "v3/") + "v3/"
	}
	return s, err
}

// names lists the projects.
func (r *ProjectReader) names(ctx context.Context) (list []cloud.Project, err error) {
	s, err := r.client.identity()
	if err != nil {
		return nil, err
	}
	var answer struct {
		Projects []struct {
			ID, Name string
			Domain   string `json:"domain_id"`
		}
	}
	if err := get(ctx, s, "projects", &answer); err != nil {
		return nil, err
	}
	for _, p := range answer.Projects {
		list = append(list, cloud.Project{UUID: p.ID, Name: p.Name, Domain: p.Domain})
	}
	return list, nil
}

// readQuotas reads the quotas of projects that are new, and of those whose turn it is.
func (r *ProjectReader) readQuotas(ctx context.Context, list []cloud.Project) error {
	s, err := r.client.service("compute", computeVersion)
	if err != nil {
		return err
	}
	known := r.quotas
	r.quotas = make(map[string]map[string]int64, len(list))
	var due []string
	for i, p := range list {
		quotas, ok := known[p.UUID]
		if ok {
			r.quotas[p.UUID] = quotas
		}
		if !ok || i%quotasEach == r.turn {
			due = append(due, p.UUID)
		}
	}
	read := make([]map[string]int64, len(due))
	done := make([]bool, len(due))
	err = each(ctx, len(due), func(ctx context.Context, i int) error {
		var answer struct {
			Quotas struct{ Instances, Cores, RAM int64 } `json:"quota_set"`
		}
		err := get(ctx, s, "os-quota-sets/"+url.PathEscape(due[i]), &answer)
		switch {
		case err == nil:
			read[i] = map[string]int64{
				"instances": answer.Quotas.Instances, "cores": answer.Quotas.Cores, "ram": answer.Quotas.RAM,
			}
		case isStatus(err, http.StatusNotFound), isStatus(err, http.StatusBadRequest): // a project that was deleted
		default:
			return err
		}
		done[i] = true
		return nil
	})
	for i, uuid := range due {
		if done[i] {
			r.quotas[uuid] = read[i]
		}
	}
	if err == nil {
		r.turn = (r.turn + 1) % quotasEach
	}
	return err
}

// A unifiedLimit is a limit or, without a project and a domain, the default of all projects.
type unifiedLimit struct {
	Resource string `json:"resource_name"`
	Region   string `json:"region_id"`
	Project  string `json:"project_id"`
	Limit    int64  `json:"resource_limit"`
	Default  int64  `json:"default_limit"`
}

// class returns the resource class that a limit is of, "" for another resource or another region.
func (r *ProjectReader) class(l *unifiedLimit) string {
	class, ok := strings.CutPrefix(l.Resource, "class:")
	region := r.client.config.Find("compute").Region
	if !ok || l.Region != "" && region != "" && l.Region != region {
		return ""
	}
	return class
}

// readLimits adds the unified limits of classes to projects, and reports whether there are any.
func (r *ProjectReader) readLimits(ctx context.Context, list []cloud.Project) (exist bool, err error) {
	s, err := r.client.identity()
	if err != nil {
		return false, err
	}
	var registered struct {
		Limits []unifiedLimit `json:"registered_limits"`
	}
	switch err := get(ctx, s, "registered_limits", &registered); {
	case isStatus(err, http.StatusNotFound): // a Keystone of before Queens, or another identity service
		return false, nil
	case err != nil:
		return false, err
	}
	defaults := map[string]int64{}
	for i := range registered.Limits {
		if class := r.class(&registered.Limits[i]); class != "" {
			defaults[class] = registered.Limits[i].Default
		}
	}
	if len(defaults) == 0 {
		return false, nil
	}
	only := "" // the project that limits are shown of, "" for all
	if r.system == nil {
		r.system, err = r.client.systemScope(ctx)
	}
	if err != nil {
		only = r.client.Project()
		err = fmt.Errorf("the unified limits of other projects: Keystone shows them to users with a role on the system: %w",
			err)
	} else {
		s.ProviderClient = r.system
	}
	var answer struct{ Limits []unifiedLimit }
	if err := get(ctx, s, "limits", &answer); err != nil {
		r.system = nil // the next time with a new token
		return true, err
	}
	own := map[string]map[string]int64{}
	for i := range answer.Limits {
		l := &answer.Limits[i]
		if class := r.class(l); class != "" && l.Project != "" {
			if own[l.Project] == nil {
				own[l.Project] = map[string]int64{}
			}
			own[l.Project][class] = l.Limit
		}
	}
	for i := range list {
		p := &list[i]
		if only != "" && p.UUID != only {
			continue
		}
		p.Limits = map[string]int64{}
		for class, limit := range defaults {
			p.Limits[class] = limit
			if n, ok := own[p.UUID][class]; ok {
				p.Limits[class] = n
			}
		}
	}
	return true, err
}

// systemScope logs in with the scope of the system.
func (c *Client) systemScope(ctx context.Context) (*gophercloud.ProviderClient, error) {
	if c.login().System {
		return c.provider, nil
	}
	if kind := c.config.Type; kind != cloudconfig.Password && kind != cloudconfig.V3Password {
		return nil, errors.New("only a login with a password can have another scope")
	}
	login := credentials{c.config.Auth, c.config.Type}
	login.ProjectID, login.ProjectName, login.DomainID, login.DomainName, login.TrustID = "", "", "", "", ""
	login.SystemScope = "all"
	provider := *c.provider
	provider.UseTokenLock() // of its own
	provider.ReauthFunc = nil
	provider.SetThrowaway(true) // the login is without a token
	err := provider.SetTokenAndAuthResult(nil)
	if err == nil {
		err = provider.SetTokenAndAuthResult(tokens.Create(ctx,
			&gophercloud.ServiceClient{ProviderClient: &provider, Endpoint: c.identityURL}, login))
	}
	if err != nil {
		return nil, wrapError("Keystone", err)
	}
	provider.SetThrowaway(false)
	return &provider, nil
}
