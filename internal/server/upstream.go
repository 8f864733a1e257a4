package server

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/berthcloud/berth/internal/servertest"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

// Packages are the packages that StartUpstream needs.
const Packages = "placement-api uwsgi-core uwsgi-plugin-python3 python3-pymysql python3-psycopg2"

// UpstreamRoot returns the directory of the system that upstream's Placement
// is taken from: the environment variable BERTH_TEST_UPSTREAM_ROOT, or "" for
// the machine itself. Developers use it to compare with another release.
func UpstreamRoot() string { return os.Getenv("BERTH_TEST_UPSTREAM_ROOT") }

// StartUpstream starts the distribution's Placement, unless the options name a database on a fresh
// one of the kind that ChosenDatabase returns. Without the packages the test fails and names them,
// unless BERTH_TEST_NO_UPSTREAM=1 is set to skip it.
func StartUpstream(t testing.TB, opts Options) *Server {
	t.Helper()
	root := strings.TrimSuffix(opts.Root, "/")
	if opts.Root == "" {
		root = UpstreamRoot()
	}
	app := findUpstream(t, root)
	dir := servertest.Dir(t, upstreamParents(root)...)
	inside := strings.TrimPrefix(dir, root) // the path inside the chroot

	base := baseConfig(connection(t, opts, inside).Upstream)
	base["placement_database"]["sync_on_startup"] = "True"
	base["DEFAULT"] = map[string]string{"default_log_levels": "placement=WARNING,alembic=WARNING"}
	if opts.Policy != "" {
		writeFile(t, dir, "policy.yaml", opts.Policy)
		base["oslo_policy"] = map[string]string{"policy_file": filepath.Join(inside, "policy.yaml")}
	}
	writeFile(t, dir, "placement.conf", Render(base, opts.Config))

	return servertest.Start(t, "upstream's Placement", "/", func(addr string) *exec.Cmd {
		cmd := exec.Command(app.uwsgi, slices.Concat([]string{"--http-socket", addr}, app.args, processes(opts.Processes))...)
		cmd.Env = append(os.Environ(), "OS_PLACEMENT_CONFIG_DIR="+inside, "HOME="+inside)
		cmd.Env = append(cmd.Env, opts.Env...)
		if root != "" {
			cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
			cmd.Dir = "/"
		}
		return cmd
	})
}

// processes returns arguments for n processes, which end with the first.
func processes(n int) []string {
	if n <= 1 {
		return []string{"--processes", "1"}
	}
	return []string{"--master", "--no-orphans", "--processes", strconv.Itoa(n)}
}

// upstreamParents lists the places for upstream's database, best first, or none for the usual ones.
// In a chroot only paths below it exist.
func upstreamParents(root string) []string {
	if root == "" {
		return nil
	}
	return []string{filepath.Join(root, "dev/shm"), filepath.Join(root, "tmp")}
}

// An upstream is how to run the service: the application server and its
// arguments.
type upstream struct {
	uwsgi string
	args  []string
}

// findUpstream finds the service in root. Releases before 12 have a script, later ones a module.
func findUpstream(t testing.TB, root string) upstream {
	t.Helper()
	args := []string{
		"--plugin", "python3", "--need-app", "--die-on-term", "--disable-logging",
		"--threads", "2", "--buffer-size", "65535",
	}
	uwsgi := firstFile(root, "/usr/bin/uwsgi", "/usr/bin/uwsgi-core")
	script := firstFile(root, "/usr/bin/placement-api")
	module := firstFile(root, "/usr/lib/python3/dist-packages/placement/wsgi/api.py")
	switch {
	case uwsgi != "" && module != "":
		return upstream{uwsgi, append([]string{"--plugins-dir", "/usr/lib/uwsgi/plugins", "--plugin", "http"},
			append(args, "--module", "placement.wsgi.api")...)}
	case uwsgi != "" && script != "":
		return upstream{uwsgi, append(args, "--wsgi-file", script)}
	}
	upstreamtest.Missing(t, Packages, "upstream's Placement is not installed")
	return upstream{}
}

func firstFile(root string, paths ...string) string {
	for _, p := range paths {
		if _, err := os.Stat(filepath.Join(root, p)); err == nil {
			return p
		}
	}
	return ""
}

// MasterPolicy is upstream's current policy for releases that still had system scope, so that
// permissions can be compared with them. Current releases refuse a token of system scope before
// they check its roles; here a token must have no system scope, or an empty one.
func MasterPolicy() string {
	rules := map[string]string{
		"reshaper:reshape": "role:service",
		"usages":           "role:admin or role:service or (role:reader and project_id:%(project_id)s)",
	}
	maps.Copy(rules, plainRules())
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		b.WriteString(`"placement:` + name + `": "(` + rules[name] + `) and (system_scope:None or system_scope:)"` + "\n")
	}
	return b.String()
}

// plainRules are the operations that an administrator and a service may do.
func plainRules() map[string]string {
	rules := map[string]string{}
	for _, name := range strings.Fields(`
		allocation_candidates:list
		allocations:delete allocations:list allocations:manage allocations:update
		resource_classes:create resource_classes:delete resource_classes:list
		resource_classes:show resource_classes:update
		resource_providers:aggregates:list resource_providers:aggregates:update
		resource_providers:allocations:list
		resource_providers:create resource_providers:delete resource_providers:list
		resource_providers:show resource_providers:update resource_providers:usages
		resource_providers:inventories:create resource_providers:inventories:delete
		resource_providers:inventories:list resource_providers:inventories:show
		resource_providers:inventories:update
		resource_providers:traits:delete resource_providers:traits:list
		resource_providers:traits:update
		traits:delete traits:list traits:show traits:update`) {
		rules[name] = "role:admin or role:service"
	}
	return rules
}
