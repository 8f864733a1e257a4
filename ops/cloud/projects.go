package cloud

import (
	"cmp"
	"slices"
)

// Projects are projects of the identity service, with what they may have.
type Projects struct {
	List []Project // in the order of their UUIDs
	// Omitted is how many others there are, of which nothing was read.
	Omitted int
}

// A Project is a project with what it may have. A limit of -1 is none.
type Project struct {
	UUID string
	// Name and Domain, its UUID, are "" when they are not known.
	Name, Domain string
	// Quotas are the limits of the compute service by their names: instances, cores, ram (MiB). They
	// are nil when they are not known.
	Quotas map[string]int64
	// Limits are the unified limits by resource class; nil when they are not known.
	Limits map[string]int64
}

// Select leaves a number of projects: first those that have most consumers and servers in the
// records, then others in the order of their UUIDs. Projects that only the records have are added
// before.
func (p *Projects) Select(c *Cloud, most int) {
	used := map[string]int{}
	if c.Placement != nil {
		for i := range c.Placement.Consumers {
			used[c.Placement.Consumers[i].Project]++
		}
	}
	if c.Compute != nil {
		for i := range c.Compute.Servers {
			used[c.Compute.Servers[i].Project]++
		}
	}
	delete(used, "")
	listed := map[string]bool{}
	for _, project := range p.List {
		listed[project.UUID] = true
	}
	for uuid := range used {
		if !listed[uuid] {
			p.List = append(p.List, Project{UUID: uuid})
		}
	}
	slices.SortFunc(p.List, func(a, b Project) int {
		return cmp.Or(cmp.Compare(used[b.UUID], used[a.UUID]), cmp.Compare(a.UUID, b.UUID))
	})
	if len(p.List) > most {
		p.Omitted += len(p.List) - most
		p.List = slices.Clone(p.List[:most])
	}
	slices.SortFunc(p.List, func(a, b Project) int { return cmp.Compare(a.UUID, b.UUID) })
}
