package metrics

import (
	"math"

	"github.com/berthcloud/berth/ops/cloud"
)

// projects adds what projects use, and what they may have.
func (x *computation) projects() {
	var names map[string]string // of the projects with metrics; nil for all
	if p := x.options.Projects; p != nil {
		names = map[string]string{}
		for i := range p.List {
			names[p.List[i].UUID] = p.List[i].Name
			x.limits(&p.List[i])
		}
		x.quotasUsed(p.List)
		x.add("berth_cloud_projects_omitted", float64(p.Omitted))
	}
	if x.cloud.Placement == nil || x.cloud.Placement.Consumers == nil {
		return
	}
	type key struct{ project, class string }
	used := map[key]int64{}
	for i := range x.cloud.Placement.Consumers {
		consumer := &x.cloud.Placement.Consumers[i]
		if _, ok := names[consumer.Project]; consumer.Project == "" || names != nil && !ok {
			continue
		}
		for _, amounts := range consumer.Allocations {
			for class, n := range amounts {
				used[key{consumer.Project, class}] += n
			}
		}
	}
	for k, n := range used {
		x.add("berth_cloud_project_used", float64(n), k.project, k.class)
		if x.options.OSCapacity {
			x.add("openstack_project_usage", float64(n), k.class, k.project, names[k.project])
		}
	}
	x.add("berth_cloud_consumers", float64(len(x.cloud.Placement.Consumers)))
}

// limits adds the name and the limits of a project.
func (x *computation) limits(p *cloud.Project) {
	if p.Name != "" {
		x.add("berth_cloud_project_info", 1, p.UUID, p.Name, p.Domain)
	}
	for class, n := range p.Limits {
		x.add("berth_cloud_project_limit", limit(n), p.UUID, class)
	}
	for quota, n := range p.Quotas {
		x.add("berth_cloud_project_quota_limit", limit(n), p.UUID, quota)
		class := map[string]string{"cores": "CPUS", "ram": "MEMORY_MB"}[quota]
		if x.options.OSCapacity && class != "" {
			x.add("openstack_project_quota", float64(n), p.UUID, p.Name, class)
		}
	}
}

// limit returns a limit as a metric has it.
func limit(n int64) float64 {
	if n < 0 {
		return math.Inf(1)
	}
	return float64(n)
}

// quotasUsed adds what the servers of projects count for their quotas. Nova counts all servers but
// those that are deleted softly, also those without a host.
func (x *computation) quotasUsed(projects []cloud.Project) {
	if x.cloud.Compute == nil {
		return
	}
	type quotas struct{ instances, cores, ram int64 }
	used := map[string]quotas{}
	for i := range x.cloud.Compute.Servers {
		s := &x.cloud.Compute.Servers[i]
		if s.Status == "SOFT_DELETED" {
			continue
		}
		q := used[s.Project]
		used[s.Project] = quotas{q.instances + 1, q.cores + s.Flavor.VCPUs, q.ram + s.Flavor.RAM}
	}
	for _, p := range projects {
		q := used[p.UUID]
		for quota, n := range map[string]int64{"instances": q.instances, "cores": q.cores, "ram": q.ram} {
			x.add("berth_cloud_project_quota_used", float64(n), p.UUID, quota)
		}
	}
}
