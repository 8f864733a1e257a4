package keystonetest

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/servertest"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

// packages are the packages that Start needs.
const packages = "keystone uwsgi-core uwsgi-plugin-python3"

// setUpTime bounds each program that prepares the data, generously because
// machines that run tests are busy.
const setUpTime = 120 * time.Second

// Options configure a Keystone. The zero value is the configuration of most deployments.
type Options struct {
	// TokenLife is the validity of tokens, in whole seconds; 0 means an hour.
	TokenLife time.Duration
}

// A Keystone is a running Keystone: a server, whose URL is without the version. Its
// methods are for one goroutine, the test's.
type Keystone struct {
	*servertest.Server

	t    testing.TB
	dir  string
	http http.Client

	ids map[string]string // of projects, users and roles, by "project/demo"

	life       time.Duration // of tokens
	adminToken string        // of the administrator
	adminSince time.Time
}

// Start starts a Keystone with the personas, or ends the test, which with -short it skips.
func Start(t testing.TB, opts Options) *Keystone {
	t.Helper()
	if testing.Short() {
		t.Skip("starts Keystone: not with -short")
	}
	upstreamtest.Need(t, packages, manage, script, python, uwsgi, plugin)
	base := prepared(t)
	k := newKeystone(t)
	if err := os.CopyFS(k.dir, os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	k.readIDs()
	k.writeConfig(opts)
	k.launch()
	return k
}

func newKeystone(t testing.TB) *Keystone {
	t.Helper()
	return &Keystone{t: t, dir: servertest.Dir(t), ids: make(map[string]string), http: http.Client{Timeout: setUpTime}}
}

// launch starts Keystone with its own address in its catalogue.
func (k *Keystone) launch() {
	k.t.Helper()
	k.Server = servertest.Start(k.t, "Keystone", "/v3", func(addr string) *exec.Cmd {
		k.sql("update endpoint set url = ? where service_id in (select id from service where type = 'identity')",
			"http://"+addr+"/v3")
		cmd := exec.Command(uwsgi, "--plugin", "python3", "--http-socket", addr, "--wsgi-file", script,
			"--need-app", "--die-on-term", "--processes", "1", "--threads", "4", "--buffer-size", "65535",
			"--add-header", "Connection: close")
		cmd.Env = append(os.Environ(), "OS_KEYSTONE_CONFIG_FILES="+filepath.Join(k.dir, "keystone.conf"), "HOME="+k.dir)
		return cmd
	})
}
