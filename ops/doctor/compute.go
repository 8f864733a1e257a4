package doctor

import (
	"fmt"
	"strings"

	"github.com/berthcloud/berth/ops/audit"
)

func computeServices(x *run, r *findings) {
	working := 0
	for _, s := range x.Cloud.Compute.Services {
		if !x.on(s.Host) {
			continue
		}
		switch {
		case s.ForcedDown:
			r.fail("openstack compute service set --up "+s.Host+" "+s.Binary, "%s on %s is forced down", s.Binary, s.Host)
		case s.StartError != "":
			r.fail("berth agent inventory --tree", "%s on %s does not serve since its start: %s", s.Binary, s.Host, s.StartError)
		case s.State != "up":
			r.fail("ssh "+s.Host+" systemctl status "+s.Binary, "%s on %s is %s", s.Binary, s.Host, s.State)
		case s.Status != "enabled":
			r.warn("openstack compute service set --enable "+s.Host+" "+s.Binary, "%s",
				strings.TrimSuffix(s.Binary+" on "+s.Host+" is disabled: "+s.DisabledReason, ": "))
		default:
			working++
		}
	}
	if working == 0 && r.list == nil {
		r.fail("openstack compute service list", "there is no compute service%s", x.onHost())
		return
	}
	r.ok("up and enabled: %s", count(working, "service"))
}

func failedServers(x *run, r *findings) {
	failed := 0
	for _, s := range x.Cloud.Compute.Servers {
		if s.Status != "ERROR" || !x.on(s.Host, s.Node) {
			continue
		}
		failed++
		switch {
		case strings.Contains(s.Fault, "valid host"):
			r.warn("berth doctor --server "+s.UUID, "server %s (%s): %s", s.UUID, s.Name, strings.TrimSpace(s.Fault))
		default:
			r.warn("openstack server show "+s.UUID, "server %s (%s): %s", s.UUID, s.Name, strings.TrimSpace(s.Fault))
		}
	}
	if failed == 0 {
		r.ok("%s, and none is in ERROR", count(len(x.Cloud.Compute.Servers), "server"))
	}
}

func recordsAgree(x *run, r *findings) {
	kinds := 0
	for _, k := range audit.Kinds() {
		if x.covered[k.Code] {
			continue
		}
		kinds++
		if reason := x.unchecked[k.Code]; reason != "" {
			r.unknown("%s", reason)
		}
		findings := x.audited[k.Code]
		if len(findings) == 0 {
			continue
		}
		status := map[audit.Severity]Status{audit.Error: Failed, audit.Warning: Warning, audit.Info: OK}[k.Severity]
		r.add(status, "berth audit --code "+string(k.Code),
			fmt.Sprintf("%d × %s, such as %s: %s", len(findings), k.Code, findings[0].About[0], findings[0].Actual))
	}
	if r.list == nil {
		r.ok("audit finds none of %d further kinds of faults", kinds)
	}
}
