// Package server starts the services of black-box tests: Berth's own program, and the
// distribution's Placement to compare it with. It is not for production: every service listens on
// loopback with a temporary database and is stopped at the end of the test that started it.
package server

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/keystonetest"
	"github.com/berthcloud/berth/internal/servertest"
)

// Options configure a service. The zero value is a service with noauth2 and its defaults.
type Options struct {
	// Config overrides options of placement.conf: section, option, value.
	Config map[string]map[string]string

	// Database is the SQLAlchemy URL of the database. Empty means a fresh one.
	Database string

	// Processes is how many processes upstream's service has; 0 means one.
	Processes int

	// Policy is the text of a policy file, in YAML. Empty means no file.
	Policy string

	// Root is the directory of the system that StartUpstream takes the service from. Empty means
	// the result of UpstreamRoot, "/" the machine itself.
	Root string

	// Env has further environment variables, each as KEY=value.
	Env []string
}

// A Server is one running service. Its methods are for one goroutine, the
// test's.
type Server = servertest.Server

// writeFile writes a configuration file or ends the test.
func writeFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Render writes sections in oslo.config's format; later layers win.
func Render(layers ...map[string]map[string]string) string {
	all := map[string]map[string]string{}
	for _, l := range layers {
		for section, opts := range l {
			if all[section] == nil {
				all[section] = map[string]string{}
			}
			for k, v := range opts {
				all[section][k] = v
			}
		}
	}
	var b strings.Builder
	for _, section := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "[%s]\n", section)
		for _, k := range slices.Sorted(maps.Keys(all[section])) {
			fmt.Fprintf(&b, "%s = %s\n", k, all[section][k])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Login is a service's credentials at a Keystone, to check tokens and for requests to others: the
// options of the groups keystone_authtoken, placement and the like.
func Login(k *keystonetest.Keystone) map[string]string { return LoginAs(k, keystonetest.Placement) }

// LoginAs is Login for another persona of a project.
func LoginAs(k *keystonetest.Keystone, name string) map[string]string {
	p := keystonetest.Find(name)
	return map[string]string{
		"auth_type": "password", "auth_url": k.URL(), "username": p.Name, "password": p.Password,
		"user_domain_name": "Default", "project_name": p.Project, "project_domain_name": "Default",
	}
}
