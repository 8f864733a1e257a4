package cloudapi

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/berthcloud/berth/ops/cloud"
)

// Users returns who has servers, by user and project, with the roles that the users have in these
// projects. It sends a request for each user.
func (c *Client) Users(ctx context.Context, servers []cloud.Server, p Progress) ([]cloud.ProjectUser, error) {
	s, err := c.service("identity", "")
	if err != nil {
		return nil, err
	}
	s.ResourceBase = strings.TrimSuffix(s.Endpoint, "v3/") + "v3/"
	projects := map[string][]string{} // by user
	var ids []string
	for _, server := range servers {
		if projects[server.User] == nil {
			ids = append(ids, server.User)
		}
		if !slices.Contains(projects[server.User], server.Project) {
			projects[server.User] = append(projects[server.User], server.Project)
		}
	}
	read := make([][]cloud.ProjectUser, len(ids))
	done := (&meter{progress: p}).begin("roles of users", len(ids))
	err = each(ctx, len(ids), func(ctx context.Context, i int) error {
		defer done()
		var assigned struct {
			List []struct {
				Role  struct{ Name string }
				User  struct{ Name string }
				Scope struct{ Project struct{ ID string } }
			} `json:"role_assignments"`
		}
		if err := get(ctx, s, "role_assignments?effective&include_names&user.id="+
			url.QueryEscape(ids[i]), &assigned); err != nil {
			return err
		}
		for _, project := range projects[ids[i]] {
			u := cloud.ProjectUser{ID: ids[i], Project: project, Roles: []string{}}
			for _, a := range assigned.List {
				if a.Scope.Project.ID == project {
					u.Name = a.User.Name
					u.Roles = append(u.Roles, a.Role.Name)
				}
			}
			slices.Sort(u.Roles)
			u.Roles = slices.Compact(u.Roles)
			read[i] = append(read[i], u)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	users := slices.Concat([]cloud.ProjectUser{}, slices.Concat(read...))
	slices.SortFunc(users, func(a, b cloud.ProjectUser) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID), strings.Compare(a.Project, b.Project))
	})
	return users, nil
}
