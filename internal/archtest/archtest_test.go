// Package archtest checks the layers of the tree: which packages a package may import, and that
// every package has a comment. It has tests only; no package imports it.
package archtest

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/berthcloud/berth/"

// rules list the packages of Berth that a package may import; tests may import more. A package
// without a line fails.
var rules = []struct{ pkg, may string }{
	{"fault", ""},
	{"microversion", "httpapi/pyjson"},
	{"changelog", ""},
	{"logging", ""},
	{"osloconfig", ""},
	{"cloudconfig", ""},
	{"config", "osloconfig"},
	{"identity", "fault"},
	{"identity/hostkey", ""},
	{"identity/policy", "fault identity"},
	{"identity/discovery", ""},
	{"identity/keystone", "fault identity identity/discovery osloconfig"},
	{"identity/authcheck", "config identity identity/keystone identity/policy"},
	{"identity/local", "fault identity"},
	{"systemd", ""},
	{"tracing", ""},

	{"placement", "changelog fault"},
	{"placement/snapshot", "fault placement"},
	{"placement/candidates", "fault placement placement/snapshot"},
	{"placement/explain", "fault placement placement/candidates placement/snapshot"},
	{"placement/events", "changelog placement"},
	{"placement/service", "changelog fault placement placement/snapshot"},
	{"placement/providertree", "allocations fault placement"},
	{"placement/providertree/providertreetest", "allocations fault guarantee placement placement/providertree"},
	{"placement/placementtest", "fault internal/golden internal/storetest placement placement/candidates " +
		"placement/snapshot"},
	{"allocations", "fault internal/backoff"},
	{"rows", ""},
	{"watch", "rows"},
	{"guarantee", "allocations"},
	{"network/portlist", ""},
	{"network/intents", "allocations fault rows"},
	{"network/binding", "guarantee"},
	{"network/ipam", "fault"},
	{"network", "allocations fault guarantee network/binding network/intents network/ipam rows watch"},
	{"network/quotas", "fault network"},
	{"network/agents", "fault guarantee network network/binding network/portlist"},
	{"network/security", "fault network network/quotas"},
	{"network/qos", "fault guarantee network"},
	{"network/reallocation", "allocations fault guarantee network network/intents"},
	{"network/topology", "fault network network/agents network/ipam network/qos network/quotas " +
		"network/reallocation network/security"},
	{"network/ports", "allocations fault guarantee network network/agents network/binding network/intents network/ipam " +
		"network/qos network/quotas network/reallocation network/security network/topology rows watch"},
	{"network/routed", "network network/agents placement placement/providertree"},
	{"network/service", "allocations fault network network/agents network/ports network/qos network/quotas " +
		"network/reallocation network/routed network/security network/topology"},
	{"network/networktest", "guarantee internal/storetest network rows"},
	{"network/tracking", "allocations guarantee network placement placement/providertree"},
	{"network/ovnagents", "agent/ovn agent/ovsdb agent/settings config guarantee network network/agents"},
	{"compute", "allocations compute/extraspecs compute/hostlist compute/inventory compute/operation compute/request " +
		"compute/selection fault guarantee placement placement/explain rows watch"},
	{"compute/catalog", "allocations compute compute/extraspecs compute/selection fault"},
	{"compute/computetest", "compute compute/fleet compute/lifecycle compute/scheduler compute/serverports " +
		"compute/servers fault internal/logtest internal/storetest placement/providertree sqlstore sqlstore/rowtable"},
	{"compute/extraspecs", "fault placement"},
	{"compute/fleet", "allocations compute compute/extraspecs compute/hostlist compute/inventory compute/numa " +
		"compute/request fault placement placement/providertree watch"},
	{"compute/hostlist", ""},
	{"compute/inventory", "compute/numa guarantee placement placement/providertree"},
	{"compute/numa", "compute/hostlist"},
	{"compute/lifecycle", "allocations compute compute/hostlist compute/inventory compute/operation compute/request " +
		"compute/scheduler compute/selection compute/serverports fault guarantee placement placement/providertree watch"},
	{"compute/operation", ""},
	{"compute/request", "compute/extraspecs fault guarantee placement placement/candidates placement/explain"},
	{"compute/scheduler", "allocations compute compute/extraspecs compute/hostlist compute/inventory compute/numa " +
		"compute/request compute/selection fault guarantee placement placement/explain"},
	{"compute/selection", "allocations compute/request placement"},
	{"compute/serverports", "compute compute/request fault guarantee"},
	{"compute/servers", "compute compute/extraspecs compute/lifecycle compute/request compute/scheduler " +
		"compute/serverports fault watch"},
	{"sqlstore", "placement placement/events sqlstore/engine sqlstore/logtable sqlstore/migrations sqlstore/sqlconn"},
	{"sqlstore/engine", "changelog fault sqlstore/logtable sqlstore/migrations sqlstore/sqlconn"},
	{"sqlstore/logtable", "changelog sqlstore/sqlconn"},
	{"sqlstore/rowtable", "compute network rows sqlstore/engine sqlstore/logtable sqlstore/migrations sqlstore/sqlconn"},
	{"dbtool", "ops/cloud placement sqlstore sqlstore/engine sqlstore/logtable sqlstore/migrations sqlstore/sqlconn"},
	{"sqlstore/sqlconn", "fault"},
	{"sqlstore/sqlconn/sqlconntest", "sqlstore/sqlconn"},
	{"sqlstore/migrations", ""},

	{"httpserver", ""},
	{"httpapi", "fault httpapi/pyjson httpserver identity identity/hostkey logging microversion"},
	{"httpapi/pyjson", ""},
	{"httpapi/pyschema", "httpapi/pyjson"},
	{"httpapi/placementapi", "changelog fault httpapi httpapi/pyjson httpapi/pyschema httpserver identity " +
		"identity/policy " +
		"microversion placement placement/candidates placement/events placement/explain placement/service " +
		"placement/snapshot"},

	{"httpapi/placementapi/placementapitest", "httpapi httpapi/placementapi identity/policy microversion placement " +
		"placement/service sqlstore"},
	{"httpapi/identityapi", "fault httpapi httpserver identity identity/local"},
	{"images", ""},
	{"httpapi/imageapi", "fault httpapi httpserver images"},
	{"httpapi/view", "httpapi httpapi/pyjson"},
	{"httpapi/computeapi", "compute/catalog compute/fleet compute/servers httpapi httpapi/computeapi/catalogapi " +
		"httpapi/computeapi/fleetapi httpapi/computeapi/serversapi httpapi/computeapi/wire httpapi/pyjson httpapi/view " +
		"httpserver identity/policy microversion"},
	{"httpapi/computeapi/wire", "compute compute/catalog compute/fleet compute/servers fault httpapi httpapi/pyjson " +
		"httpapi/pyschema httpapi/view httpserver identity identity/policy microversion"},
	{"httpapi/computeapi/catalogapi", "compute compute/catalog fault httpapi httpapi/computeapi/wire httpapi/pyjson " +
		"httpapi/pyschema httpapi/view"},
	{"httpapi/computeapi/fleetapi", "compute compute/fleet compute/hostlist compute/inventory fault guarantee httpapi " +
		"httpapi/computeapi/wire httpapi/pyjson httpapi/pyschema httpapi/view"},
	{"httpapi/computeapi/serversapi", "compute compute/servers fault httpapi httpapi/computeapi/wire httpapi/pyjson " +
		"httpapi/pyschema httpapi/view"},
	{"httpapi/resource", "fault httpapi httpapi/pyjson identity identity/policy rows"},
	{"httpapi/networkapi", "fault guarantee httpapi httpapi/pyjson httpapi/resource httpserver identity " +
		"identity/policy network network/agents network/portlist network/ports network/qos network/reallocation " +
		"network/security network/service network/topology"},

	{"agent", "agent/failover agent/settings internal/backoff network/portlist"},
	{"agent/enforce", "agent agent/ovs agent/ovsdb agent/settings agent/tc guarantee network/portlist"},
	{"agent/driver", "compute/hostlist"},
	{"agent/driver/netns", "agent/driver agent/ovsdb compute/hostlist"},
	{"agent/failover", ""},
	{"agent/host", "agent/driver agent/failover compute/hostlist internal/backoff"},
	{"agent/node", "agent/settings compute/inventory compute/numa config guarantee osloconfig placement"},
	{"agent/ovn", "agent/ovsdb"},
	{"agent/ovs", "agent/ovsdb"},
	{"agent/ovsdb", ""},
	{"agent/settings", "config guarantee identity/hostkey osloconfig"},
	{"agent/tc", ""},
	{"agent/tc/tctest", "agent/tc"},
	{"client", "fault identity/hostkey internal/backoff"},
	{"client/placementclient", "allocations client compute compute/inventory compute/operation compute/request " +
		"compute/selection fault microversion placement placement/explain placement/providertree"},
	{"client/neutronclient", "client compute compute/operation compute/request fault guarantee"},
	{"client/glanceclient", "client compute compute/extraspecs"},
	{"client/novaclient", "client fault network"},
	{"client/berthclient", "agent agent/host client compute compute/hostlist network/portlist"},
	{"client/clienttest", "client fault httpapi/placementapi/placementapitest placement/providertree/providertreetest " +
		"placement/service"},
	{"internal/ovstest", "internal/process"},

	{"daemon", "agent/ovsdb changelog client client/glanceclient client/neutronclient client/novaclient " +
		"client/placementclient compute compute/catalog compute/fleet compute/lifecycle compute/request " +
		"compute/scheduler compute/selection compute/serverports compute/servers config console fault guarantee " +
		"httpapi httpapi/computeapi httpapi/networkapi httpapi/placementapi httpserver identity " +
		"identity/authcheck identity/hostkey identity/keystone identity/policy internal/gcpolicy logging " +
		"microversion network network/agents network/ovnagents network/routed network/service network/tracking " +
		"ops/cloud ops/exporter placement placement/candidates placement/events placement/providertree " +
		"placement/service placement/snapshot sqlstore sqlstore/rowtable systemd tracing watch"},
	{"daemon/hostagent", "agent agent/driver agent/driver/netns agent/enforce agent/host agent/node agent/ovsdb " +
		"agent/settings agent/tc client client/berthclient compute compute/inventory config daemon guarantee logging " +
		"osloconfig"},
	{"devcloud", "agent agent/driver agent/driver/netns agent/enforce agent/host agent/settings agent/tc " +
		"client client/berthclient compute compute/catalog compute/inventory compute/numa config console " +
		"daemon daemon/hostagent fault guarantee httpapi httpapi/identityapi httpapi/imageapi identity " +
		"identity/hostkey identity/local images internal/backoff internal/gcpolicy logging network " +
		"ops/cloudapi osloconfig"},
	{"ops/capacity", "fault ops/cloud placement placement/candidates placement/explain placement/snapshot"},
	{"ops/cloud", "placement placement/snapshot"},
	{"ops/novaquery", "compute/extraspecs compute/request guarantee ops/cloud ops/cloud/index placement"},
	{"ops/lookup", "compute/request ops/cloud ops/cloudapi ops/novaquery placement"},
	{"ops/heal", "allocations compute/request ops/audit ops/cloud ops/cloud/index placement placement/candidates " +
		"placement/snapshot"},
	{"ops/doctor", "compute/request guarantee ops/novaquery ops/audit ops/cloud ops/cloud/index ops/heal osloconfig " +
		"placement/explain"},
	{"ops/audit", "guarantee ops/cloud ops/cloud/index placement"},
	{"ops/cloud/index", "compute/extraspecs compute/request guarantee microversion ops/cloud placement"},
	{"ops/audit/audittest", "guarantee ops/audit ops/cloud ops/cloud/cloudtest ops/cloud/index"},
	{"ops/cloud/cloudtest", "guarantee ops/cloud placement/snapshot"},
	{"ops/reshape", "guarantee placement placement/providertree"},
	{"ops/cloudapi", "cloudconfig identity/discovery ops/cloud"},
	{"ops/overview", "ops/cloud placement placement/snapshot"},
	{"ops/records", "ops/cloud placement"},
	{"ops/changefeed", "ops/cloud ops/records"},
	{"ops/exporter", "ops/cloud ops/metrics placement/snapshot"},
	{"ops/metrics", "compute/request ops/audit ops/capacity ops/cloud ops/cloud/index ops/novaquery placement " +
		"placement/snapshot"},
	{"ops/restore", "ops/cloud placement"},
	{"ops/upgrade", "compute/request ops/audit ops/cloud ops/cloud/index ops/heal ops/novaquery osloconfig placement " +
		"placement/candidates placement/snapshot"},
	{"cmd/berth", "*"},
	{"cmd/berth/internal/cli", "daemon internal/manpages osloconfig"},
	{"cmd/berth/internal/database", "cmd/berth/internal/cli config daemon dbtool logging osloconfig sqlstore " +
		"sqlstore/migrations"},
	{"cmd/berth/internal/operators", "allocations client client/placementclient cmd/berth/internal/cli " +
		"cmd/berth/internal/database compute/request config console daemon dbtool fault guarantee httpapi " +
		"httpapi/placementapi httpserver logging microversion ops/audit ops/capacity ops/changefeed ops/cloud " +
		"ops/cloud/index ops/cloudapi ops/doctor placement/explain ops/exporter ops/heal ops/lookup ops/metrics " +
		"ops/novaquery ops/records ops/reshape ops/restore ops/upgrade osloconfig placement " +
		"placement/providertree placement/snapshot systemd"},
	{"console", "compute/request fault httpapi httpapi/placementapi httpserver identity microversion ops/audit " +
		"ops/capacity ops/cloud ops/cloud/index ops/cloudapi placement/explain ops/heal ops/lookup " +
		"ops/metrics ops/novaquery ops/overview ops/records placement placement/events placement/snapshot"},
	{"console/build", ""},
	{"config/configtest", "config internal/upstreamtest osloconfig"},
	{"internal/archtest", "microversion"},
	{"internal/records", ""},
	{"internal/backoff", ""},
	{"internal/certtest", ""},
	{"internal/dbtest", "internal/process"},
	{"internal/keystonetest", "internal/servertest internal/upstreamtest"},
	{"internal/fakehosts", "agent/driver agent/host compute/hostlist"},
	{"internal/gcpolicy", ""},
	{"internal/golden", ""},
	{"internal/growthtest", "internal/racetest"},
	{"internal/logtest", ""},
	{"internal/manpages", "config osloconfig"},
	{"internal/markdown", ""},
	{"internal/novatest", "internal/upstreamtest"},
	{"internal/process", ""},
	{"internal/racetest", ""},
	{"internal/sweep", "internal/racetest"},
	{"internal/clouds", "config dbtool placement placement/snapshot sqlstore sqlstore/migrations"},
	{"internal/rest", black},
	{"internal/server", black},
	{"internal/dialogue/*", black},
	{"internal/servertest", "internal/process"},
	{"internal/sqltest", "config fault internal/dbtest internal/sweep sqlstore sqlstore/migrations sqlstore/sqlconn"},
	{"internal/storetest", "internal/racetest rows"},
	{"internal/traffictest", "internal/ovstest internal/process"},
	{"internal/upstreamtest", ""},

	// The benchmarks use HTTP; only their data sets are written as rows.
	{"bench", "bench/* internal/clouds internal/fakehosts internal/process"},
	{"bench/minimal", "bench/* sqlstore/migrations"},
	{"bench/*", "bench/* internal/clouds internal/fakehosts internal/process"},

	// The black-box tests use HTTP and import only their own packages of Berth.
	{"conformance", black},
	{"conformance/*", black},
}

// testOnly are packages that only tests may import.
var testOnly = []string{
	"placement/placementtest", "placement/providertree/providertreetest", "network/networktest", "compute/computetest",
	"ops/audit/audittest", "ops/cloud/cloudtest", "agent/tc/tctest", "client/clienttest", "config/configtest",
	"conformance/*", "internal/certtest", "internal/dialogue/*", "internal/rest", "internal/server",
	"internal/dbtest", "internal/keystonetest", "internal/novatest",
	"internal/ovstest", "internal/servertest", "internal/sqltest", "httpapi/placementapi/placementapitest",
	"internal/storetest", "internal/golden", "internal/growthtest", "internal/logtest", "internal/markdown",
	"internal/racetest", "internal/sweep", "internal/traffictest", "internal/upstreamtest",
}

// black are the packages that the black-box tests and their packages may import.
const black = "conformance/* internal/dialogue/* internal/records internal/rest internal/server " +
	"internal/dbtest internal/fakehosts internal/keystonetest internal/markdown " +
	"internal/process internal/servertest internal/sweep internal/traffictest internal/upstreamtest"

// TestImports checks every file of the tree against the rules.
func TestImports(t *testing.T) {
	for pkg, files := range packages(t) {
		may, ok := allowed(pkg)
		if !ok {
			t.Errorf("package %s has no line in the rules", pkg)
			continue
		}
		for _, f := range files {
			for _, imp := range f.imports {
				if !f.test && !matches(may, imp) {
					t.Errorf("%s imports %s, which its layer may not", f.path, imp)
				}
				if !f.test && matches(testOnly, imp) && !matches(testOnly, pkg) {
					t.Errorf("%s imports %s, which is for tests only", f.path, imp)
				}
				if f.test && strings.HasPrefix(pkg, "conformance") && !matches(strings.Fields(black), imp) {
					t.Errorf("%s imports %s: the black box knows nothing of Berth", f.path, imp)
				}
			}
		}
	}
}

// comment is that of a package.
func comment(files []file) (text string) {
	for _, f := range files {
		if text == "" || !f.test {
			text = max(text, f.comment)
		}
	}
	return text
}

// TestPackageComments requires a package comment whose first sentence says what the package is for:
// it begins with the package's name and is read in a list of packages.
func TestPackageComments(t *testing.T) {
	const longest = 360
	for pkg, files := range packages(t) {
		name := pkg[strings.LastIndex(pkg, "/")+1:]
		text := comment(files)
		if !strings.HasPrefix(text, "Package "+name+" ") && !strings.HasPrefix(text, "Command "+name+" ") {
			t.Errorf("package %s does not begin its comment with what it is: %.60q", pkg, text)
			continue
		}
		first := new(doc.Package).Synopsis(text)
		if n := len(first); strings.TrimRight(first, ".:") == first || n > longest {
			t.Errorf("package %s: the first sentence has %d bytes, at most %d, and an end: %q", pkg, n, longest, first)
		}
	}
}

// TestNoBags refuses package names without meaning.
func TestNoBags(t *testing.T) {
	bags := []string{"util", "utils", "common", "helper", "helpers", "types", "models", "misc", "base"}
	for pkg := range packages(t) {
		if slices.Contains(bags, pkg[strings.LastIndex(pkg, "/")+1:]) {
			t.Errorf("package %s: the name says nothing; put the thing next to its user", pkg)
		}
	}
}

// TestSQLStaysInTheStore refuses database drivers and net/http where they do not
// belong.
func TestSQLStaysInTheStore(t *testing.T) {
	homes := []struct {
		imp  string
		pkgs []string
	}{
		{"database/sql", []string{
			"sqlstore/engine", "sqlstore/sqlconn", "sqlstore/sqlconn/sqlconntest", "internal/sqltest", "internal/dbtest",
			"bench/minimal", "internal/clouds",
		}},
		{"net/http", []string{
			"client", "client/*", "httpapi", "httpapi/computeapi", "httpapi/computeapi/*", "httpapi/identityapi",
			"httpapi/imageapi", "httpapi/networkapi", "httpapi/placementapi", "httpapi/placementapi/placementapitest",
			"httpapi/resource", "httpserver", "identity/keystone", "ops/cloudapi", "ops/exporter", "tracing", "cmd/berth",
			"console", "console/build", "daemon", "devcloud", "internal/fakehosts", "internal/keystonetest", "internal/process",
			"internal/dialogue/*", "internal/rest", "internal/server", "internal/clouds",
			"conformance", "conformance/*", "bench", "bench/*",
		}},
	}
	for pkg, files := range packages(t) {
		for _, f := range files {
			for _, h := range homes {
				if !f.test && slices.Contains(f.outside, h.imp) && !matches(h.pkgs, pkg) {
					t.Errorf("%s imports %s, which belongs into %s", f.path, h.imp, strings.Join(h.pkgs, ", "))
				}
			}
		}
	}
}

func allowed(pkg string) ([]string, bool) {
	for _, r := range rules {
		if matches([]string{r.pkg}, pkg) {
			return strings.Fields(r.may), true
		}
	}
	return nil, false
}

// matches reports whether name is in the list, in which "*" matches all and "a/*" all below a.
func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		dir, below := strings.CutSuffix(p, "*")
		return p == name || p == "*" || below && strings.HasPrefix(name, dir)
	})
}

// A file has what the tests check about a Go file.
type file struct {
	path    string
	test    bool
	comment string   // of the package
	imports []string // of Berth's own, without the module's path
	outside []string // the others
}

// packages parses the imports and package comments of the whole tree. It does so in this process,
// so that the test cache records the files as inputs.
func packages(t *testing.T) map[string][]file {
	t.Helper()
	root := filepath.Join("..", "..")
	pkgs := make(map[string][]file)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && skipped(d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parse(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		pkgs[filepath.ToSlash(dir)] = append(pkgs[filepath.ToSlash(dir)], f)
		return err
	})
	if err != nil || len(pkgs) == 0 {
		t.Fatalf("reading the tree: %v, %d packages", err, len(pkgs))
	}
	return pkgs
}

func skipped(dir string) bool {
	return dir == "testdata" || dir == "tools" || dir == "bin" || dir == "node_modules" || len(dir) > 2 && dir[0] == '.'
}

func parse(path string) (file, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return file{}, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return file{}, err
	}
	f := file{path: path, test: strings.HasSuffix(path, "_test.go"), comment: docOf(parsed)}
	for _, spec := range parsed.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, err
		}
		if own, ok := strings.CutPrefix(imp, module); ok {
			f.imports = append(f.imports, own)
		} else {
			f.outside = append(f.outside, imp)
		}
	}
	return f, nil
}

func docOf(f *ast.File) string {
	if f.Doc == nil {
		return ""
	}
	return f.Doc.Text()
}
