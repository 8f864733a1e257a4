package nova

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

//go:embed whole.py
var wholeProgram []byte

// Peers are the services that Nova needs. All but Keystone are URLs.
type Peers struct {
	Keystone                  *keystonetest.Keystone
	Placement, Network, Image string
}

// StartWhole starts the distribution's Nova with all its services on loopback, on temporary
// databases of a MariaDB server. The hosts, whose providers get the UUIDs, have ten processors, 8
// GiB, and a card ens5 to physnet0 with four virtual functions; servers on them exist in memory
// only. It adds itself to Keystone's catalogue, and is stopped at the end of the test, which fails
// when Nova is not installed, or is skipped with BERTH_TEST_NO_UPSTREAM=1.
func StartWhole(t testing.TB, n Peers, hosts map[string]string) *servertest.Server {
	t.Helper()
	upstreamtest.Need(t, packages+" python3-fixtures", upstreamtest.Python, module,
		"/usr/lib/python3/dist-packages/fixtures/__init__.py")
	dir := servertest.Dir(t)
	database := func() string { return server.NewDatabase(t, server.MariaDB).Upstream }
	cell0 := database()
	for name, text := range map[string]string{
		"reference.py": string(program), "whole.py": string(wholeProgram),
		"nova.conf": wholeConf(dir, database(), database(), n),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := servertest.Start(t, "Nova", "/", func(addr string) *exec.Cmd {
		cmd := exec.Command(upstreamtest.Python, filepath.Join(dir, "whole.py"), filepath.Join(dir, "nova.conf"), cell0, addr)
		for host, uuid := range hosts {
			cmd.Args = append(cmd.Args, host+"="+uuid)
		}
		cmd.Env = append(os.Environ(), "HOME="+dir, "PYTHONDONTWRITEBYTECODE=1")
		cmd.Dir = dir
		return cmd
	})
	n.Keystone.Service("compute", "nova", s.URL()+"/v2.1")
	return s
}

// wholeConf is the configuration of most deployments with guaranteed bandwidth.
func wholeConf(dir, main, api string, n Peers) string {
	at := func(url, persona string) map[string]string {
		options := server.LoginAs(n.Keystone, persona)
		options["endpoint_override"] = url
		return options
	}
	escaped := strings.NewReplacer("$", "$$").Replace
	return fmt.Sprintf(wholeConfiguration, dir) + server.Render(map[string]map[string]string{
		"database": {"connection": escaped(main)}, "api_database": {"connection": escaped(api)},
		"keystone_authtoken": server.Login(n.Keystone),
		"placement":          at(n.Placement, keystonetest.Placement),
		"neutron":            at(n.Network, "project-admin"), // in Neutron's form
		"glance":             {"endpoint_override": n.Image},
	})
}

const wholeConfiguration = `[DEFAULT]
state_path = %[1]s
transport_url = fake:/
host = controller
compute_driver = whole.Driver
my_ip = 127.0.0.1
service_down_time = 7200
periodic_enable = false
default_log_levels = nova=INFO,oslo_messaging=ERROR,sqlalchemy=WARNING,keystonemiddleware=WARNING,neutronclient=WARNING
[oslo_concurrency]
lock_path = %[1]s
[keystone]
service_type = identity
[pci]
device_spec = {"address": "0000:05:00.*", "physical_network": "physnet0"}
[vnc]
enabled = false
`
