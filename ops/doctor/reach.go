package doctor

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
)

// command returns what shows more about a problem with a URL.
func command(p cloud.Problem, where string) string {
	u, err := url.Parse(where)
	if err != nil || u.Host == "" {
		return "openstack catalog list"
	}
	switch p.Kind {
	case cloud.ProblemName:
		return "getent hosts " + u.Hostname()
	case cloud.ProblemCertificate:
		return fmt.Sprintf("openssl s_client -connect %s -servername %s </dev/null",
			net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")), u.Hostname())
	case cloud.ProblemCredentials:
		return "openstack token issue"
	case cloud.ProblemAbsent:
		return "openstack catalog list"
	case cloud.ProblemTime:
		return "curl -sS -m 120 -o /dev/null -w '%{time_total}\\n' " + where
	}
	return "curl -sS -i -m 20 " + where
}

// authority says how a certificate comes to be trusted, where that is the problem.
func authority(p cloud.Problem) string {
	if p.Kind == cloud.ProblemCertificate && strings.Contains(p.Text, "unknown authority") {
		return "; cacert in clouds.yaml or OS_CACERT names a file with the authority's certificate"
	}
	return ""
}

func login(x *run, r *findings) {
	l := x.environment.Login
	switch {
	case l.Problem.Kind == cloud.ProblemCredentials:
		r.fail(command(l.Problem, l.URL),
			"%s; user and password, or the token, project and domains are those of clouds.yaml or the OS_* variables",
			l.Problem.Text)
	case l.Problem.Kind != "":
		r.fail(command(l.Problem, l.URL), "%s%s", l.Problem.Text, authority(l.Problem))
	case l.URL == "":
		r.ok("the cloud is a placement service without Keystone, by its auth_type")
	default:
		r.ok("%s in the project %s at %s", l.User, cmp.Or(l.Project, "(none)"), l.URL)
	}
}

// endpoints returns the endpoints that were requested; none are when logging in failed.
func (x *run) endpoints(r *findings) []cloud.Endpoint {
	if x.environment.Endpoints == nil {
		r.unknown("The services were not queried: there is no token.")
	}
	return x.environment.Endpoints
}

func catalog(x *run, r *findings) {
	l := x.environment.Login
	if l.URL != "" && l.Project == "" && !l.System && l.Roles == nil && len(x.environment.Endpoints) > 0 &&
		!slices.ContainsFunc(x.environment.Endpoints, func(e cloud.Endpoint) bool { return e.URL != "" }) {
		r.fail("openstack token issue",
			"the token is for no project, and has no catalog: project_name in clouds.yaml or OS_PROJECT_NAME names one")
		return
	}
	for _, e := range x.endpoints(r) {
		switch {
		case e.URL != "":
			r.ok("%s: %s", e.Service, e.URL)
		case x.environment.Login.URL == "":
			r.ok("%s: not requested, without an identity service", e.Service)
		case e.Service == "image":
			r.warn("openstack catalog list", "%s", e.Problem.Text)
		default:
			r.fail("openstack catalog list", "%s", e.Problem.Text)
		}
	}
}

func endpoints(x *run, r *findings) {
	for _, e := range x.endpoints(r) {
		switch {
		case e.URL == "":
		case e.Problem.Kind != "" && e.Service == "image":
			r.warn(command(e.Problem, e.URL), "%s", e.Problem.Text)
		case e.Problem.Kind != "":
			r.fail(command(e.Problem, e.URL), "%s", e.Problem.Text)
		default:
			r.ok("%s answers with %d", e.Service, e.Status)
		}
	}
}

// expiring is how long before its end a certificate is warned about.
const expiring = 30 * 24 * time.Hour

func certificates(x *run, r *findings) {
	for _, e := range x.endpoints(r) {
		u, err := url.Parse(e.URL)
		if err != nil || e.URL == "" {
			continue
		}
		show := command(cloud.Problem{Kind: cloud.ProblemCertificate}, e.URL)
		ip := net.ParseIP(u.Hostname())
		switch remaining := e.CertificateExpires.Sub(x.readAt); {
		case e.Problem.Kind == cloud.ProblemCertificate:
			r.fail(show, "%s%s", e.Problem.Text, authority(e.Problem))
		case u.Scheme != "https" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()):
			r.ok("%s: without TLS, on this machine", e.Service)
		case u.Scheme != "https":
			r.warn("openstack endpoint list --service "+
				e.Service, "%s: %s is without TLS; everyone on the way can read tokens", e.Service, e.URL)
		case e.CertificateExpires.IsZero():
			r.unknown("The certificate of the %s service was not seen.", e.Service)
		case remaining < 0:
			r.fail(show, "%s: the certificate has expired on %s", e.Service, e.CertificateExpires.Format(time.DateOnly))
		case remaining < expiring:
			r.warn(show, "%s: the certificate expires in %s, on %s", e.Service, count(int(remaining.Hours()/24), "day"),
				e.CertificateExpires.Format(time.DateOnly))
		default:
			r.ok("%s: the certificate is valid until %s", e.Service, e.CertificateExpires.Format(time.DateOnly))
		}
	}
}

// A release is a release of OpenStack with the newest microversions of its services.
type release struct {
	name               string
	compute, placement string
}

// releases are those from the first with guaranteed bandwidth on.
var releases = []release{
	{"Stein", "2.72", "1.31"},
	{"Train", "2.79", "1.36"},
	{"Ussuri or Victoria", "2.87", "1.36"},
	{"Wallaby", "2.88", "1.36"},
	{"Xena", "2.90", "1.38"},
	{"Yoga", "2.90", "1.39"},
	{"Zed", "2.93", "1.39"},
	{"2023.1 or 2023.2", "2.95", "1.39"},
	{"2024.1 or 2024.2", "2.96", "1.39"},
	{"2025.1 or 2025.2", "2.100", "1.39"},
	{"2026.1", "2.103", "1.39"},
	{"2026.2", "2.104", "1.39"},
}

// extensionReleases are extensions of the network service with the releases that they came with,
// the newest first.
var extensionReleases = []struct{ alias, release string }{
	{"network-ip-availability-details", "2026.1"},
	{"tag-creation", "2024.2"},
	{"port-hardware-offload-type", "2024.1"},
	{"port-hints", "2023.2"},
}

// networkRelease names the release of the network service by its extensions, "" when none says it.
func networkRelease(has []string) string {
	for _, e := range extensionReleases {
		if slices.Contains(has, e.alias) {
			return e.release + " or newer, by its extension " + e.alias
		}
	}
	return ""
}

// refined returns which of two releases of Nova with the same microversions it is, where hosts
// report what only the newer one has.
func (x *run) refined(name string) string {
	release, _ := index.Release(x.Cloud)
	if _, newer, two := strings.Cut(name, " or "); two && newer == release.String() {
		return newer
	}
	return name
}

// minor is the number after the point of a microversion, -1 for what is none.
func minor(version string) int {
	_, text, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// releaseOf names the release by the newest microversion of a service.
func releaseOf(service, newest string) string {
	version := func(r release) int {
		if service == "compute" {
			return minor(r.compute)
		}
		return minor(r.placement)
	}
	var names []string
	for _, r := range releases {
		if version(r) == minor(newest) {
			names = append(names, r.name)
		}
	}
	switch last := releases[len(releases)-1]; {
	case minor(newest) < version(releases[0]):
		return "older than " + releases[0].name
	case minor(newest) > version(last):
		return "newer than " + last.name
	case names == nil:
		return "between two releases"
	case version(last) == minor(newest) && names[0] != last.name:
		return names[0] + " or newer"
	}
	return strings.Join(names, " or ")
}

// What guaranteed bandwidth needs of the services.
var neededVersions = []struct{ service, version, why string }{
	{"placement", "1.29", "nested providers among the candidates (Stein)"},
	{"compute", "2.72", "servers with ports that are guaranteed something (Stein)"},
}

// What later releases need, which guaranteed bandwidth works without in part.
var usefulVersions = []struct{ service, version, why string }{
	{"placement", "1.36", "same_subtree, which Nova sends since Train and ports with packet rates need"},
	{"placement", "1.39", "the newest since Yoga"},
	{"compute", "2.87", "moves of servers with such ports, at any microversion (Ussuri)"},
}

func versions(x *run, r *findings) {
	for _, e := range x.endpoints(r) {
		if e.Problem.Kind != "" {
			if e.Service == "placement" || e.Service == "compute" {
				r.unknown("The versions of the %s service are not known.", e.Service)
			}
			continue
		}
		if release := networkRelease(x.environment.Extensions); e.Service == "network" && release != "" {
			r.ok("%s: %s (%s)", e.Service, e.Max, release)
			continue
		}
		if e.Min == "" {
			r.ok("%s: %s", e.Service, e.Max)
			continue
		}
		name := releaseOf(e.Service, e.Max)
		if e.Service == "compute" {
			name = x.refined(name)
		}
		before := len(r.list)
		for _, n := range neededVersions {
			if n.service == e.Service && minor(e.Max) < minor(n.version) {
				r.fail("openstack versions show --service "+e.Service, "%s: up to %s (%s), and %s is needed: %s", e.Service, e.Max,
					name, n.version, n.why)
			}
		}
		for _, n := range usefulVersions {
			if n.service == e.Service && minor(e.Max) < minor(n.version) {
				r.warn("openstack versions show --service "+
					e.Service, "%s: up to %s (%s), without %s: %s", e.Service, e.Max, name, n.version, n.why)
			}
		}
		if len(r.list) == before {
			r.ok("%s: %s to %s (%s)", e.Service, e.Min, e.Max, name)
		}
	}
}

func roles(x *run, r *findings) {
	l := x.environment.Login
	switch {
	case l.Problem.Kind != "":
		r.unknown("There is no token.")
	case l.URL == "":
		r.ok("there is no identity service, and thus no roles")
	case l.Roles == nil:
		r.unknown("The identity service does not say which roles the token has.")
	case !l.MaySeePart():
		r.ok("%s", strings.Join(l.Roles, ", "))
	default:
		r.warn("openstack role assignment list --names --user "+cmp.Or(l.User, "USER"),
			"%s has %s; the records of all projects are shown to admin", cmp.Or(l.User, "the user"),
			cmp.Or(strings.Join(l.Roles, ", "), "no role"))
	}
}

func serviceRoles(x *run, r *findings) {
	users := x.environment.ServiceUsers
	if users == nil {
		r.unknown("The users of services and their roles were not read.")
		return
	}
	for _, u := range users {
		switch roles := strings.Join(u.Roles, ", "); {
		case !u.Enabled:
			r.fail("openstack user set --enable "+u.Name, "the user %s is disabled", u.Name)
		case !slices.Contains(u.Roles, "admin") && !slices.Contains(u.Roles, "service"):
			r.fail("openstack role add --user "+u.Name+" --project service service",
				"the user %s has %s, and neither admin nor service", u.Name, cmp.Or(roles, "no role"))
		default:
			r.ok("%s: %s", u.Name, roles)
		}
	}
	if len(users) == 0 {
		r.unknown("No user is called nova, neutron or placement; services log in with other names, or not at all.")
	}
}

// By how many seconds clocks may differ. Neutron takes an agent for dead after 75 seconds without a
// report, Nova a service after 60.
const (
	clockWarns = 5
	clockFails = 30
)

func clocks(x *run, r *findings) {
	show := "chronyc tracking"
	judge := func(subject string, ahead float64) {
		text := fmt.Sprintf("%s is %.1f s %s this machine's", subject, max(ahead, -ahead),
			map[bool]string{true: "ahead of", false: "behind"}[ahead >= 0])
		switch offset := max(ahead, -ahead); {
		case offset >= clockFails:
			r.fail(show, "%s", text)
		case offset >= clockWarns:
			r.warn(show, "%s", text)
		default:
			r.ok("%s", text)
		}
	}
	var network float64
	for _, e := range x.endpoints(r) {
		if e.Ahead != nil {
			judge("the clock of the "+e.Service+" service", *e.Ahead)
			if e.Service == "network" {
				network = *e.Ahead
			}
		} else if e.URL != "" {
			r.unknown("The clock of the %s service is not known: it sent no date.", e.Service)
		}
	}
	// A token may have been issued earlier; one of the future shows a wrong clock.
	if l := x.environment.Login; !l.Issued.IsZero() {
		if ahead := l.Issued.Sub(l.RequestedAt).Seconds(); ahead >= clockWarns {
			judge("by issued_at of the token, the clock of the identity service", ahead)
		} else {
			r.ok("the token is not of the future: issued at %s, requested at %s", l.Issued.Format(time.TimeOnly),
				l.RequestedAt.Format(time.TimeOnly))
		}
	}
	for _, a := range x.agents {
		if t := moment(a.Heartbeat); !t.IsZero() {
			if ahead := t.Sub(x.readAt).Seconds() - network; ahead >= clockWarns {
				r.warn(show, "the last heartbeat of the %s on %s is %.0f s in the future: the instances of the network service "+
					"have different clocks", a.Type, a.Host, ahead)
			}
		}
	}
}

// moment parses a time of the network service, which has no zone; zero for what is none.
func moment(text string) time.Time {
	text = strings.TrimSuffix(strings.Replace(text, "T", " ", 1), "Z")
	t, err := time.Parse(time.DateTime, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

func recordsRead(x *run, r *findings) {
	for _, part := range []struct {
		name  string
		needs cloud.Part
		count func() string
	}{
		{"placement", cloud.PlacementPart | cloud.ConsumersPart, func() string {
			return count(len(x.Cloud.Placement.Providers), "provider") + ", " +
				count(len(x.Cloud.Placement.Consumers), "consumer")
		}},
		{"compute", cloud.ComputePart, func() string {
			return count(len(x.Cloud.Compute.Hypervisors), "hypervisor") + ", " + count(len(x.Cloud.Compute.Servers), "server")
		}},
		{"network", cloud.NetworkPart, func() string {
			return count(len(x.Cloud.Network.Agents), "agent") + ", " + count(len(x.Cloud.Network.Ports), "port") +
				" with a device"
		}},
	} {
		if reason := x.missing(part.needs); reason != "" {
			r.unknown("%s", strings.TrimSuffix(reason+" "+x.environment.Unread[part.name], " "))
		} else {
			r.ok("%s: %s", part.name, part.count())
		}
	}
	for _, text := range x.Cloud.Unread {
		r.unknown("%s", text)
	}
}
