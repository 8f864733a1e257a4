package devcloud

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/berthcloud/berth/httpapi/identityapi"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/local"
)

// upProject is the project of the users. The ids are constant, so that objects keep their owners
// after a restart with new passwords.
var upProject = local.Project{ID: "d3e0000000000000000000000000d3e0", Name: "demo"}

// The users. admin and demo are for people; the agents and the services have users with the roles
// that theirs have in a real cloud.
const (
	upAdmin   = "admin"
	upDemo    = "demo"
	upAgent   = "berth" // of agents and compute hosts
	upCompute = "nova"
	upNetwork = "neutron"
)

// passwords are those of the users.
type passwords map[string]string

// loadPasswords returns the passwords in the directory, and creates missing ones, or all of them if
// again is set.
func loadPasswords(dir string, renew bool) (passwords, error) {
	path := filepath.Join(dir, "passwords.json")
	text, err := os.ReadFile(path)
	if renew {
		text, err = nil, fs.ErrNotExist
	}
	p := passwords{}
	if err == nil {
		if err := json.Unmarshal(text, &p); err != nil {
			return nil, fmt.Errorf("%s: %w: remove it to have new passwords", path, err)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, user := range []string{upAdmin, upDemo, upAgent, upCompute, upNetwork} {
		if p[user] == "" {
			p[user] = local.NewPassword()
		}
	}
	text, err = json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, err
	}
	return p, writeSecret(path, append(text, '\n'))
}

// The files in the directory of the cloud with the administrator's token, and with the setting that
// hosts' keys are made of, for "berth agent key".
const (
	tokenFile     = "token"
	hostsFile     = "hosts.conf"
	hostsSettings = "[berth]\nhost_key_secret = "
)

// loadSecret returns the secret in a file behind a text, and creates the file when it has none or
// again is set.
func loadSecret(path, before string, renew bool) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	secret := strings.TrimSpace(strings.TrimPrefix(string(text), before))
	if secret == "" || renew {
		secret = local.NewToken()
	}
	return secret, writeSecret(path, []byte(before+secret+"\n"))
}

// writeSecret writes a file that only its owner can read, whatever its mode was before.
func writeSecret(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	err = f.Chmod(0o600)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.Write(text)
	}
	return errors.Join(err, f.Close())
}

// newDirectory returns the users of "berth up". The token is the administrator's, for requests
// without a Keystone client.
func newDirectory(p passwords, token string) *local.Directory {
	d := local.New(
		upProject,
		local.User{
			ID: "ad000000000000000000000000000001", Name: upAdmin, Password: p[upAdmin],
			Roles: []string{"admin", "manager", "member", "reader"},
		},
		local.User{
			ID: "ad000000000000000000000000000002", Name: upDemo, Password: p[upDemo], Roles: []string{"member", "reader"},
		},
		local.User{
			ID: "ad000000000000000000000000000003", Name: upAgent, Password: p[upAgent], Roles: []string{identity.AgentRole},
		},
		local.User{
			ID: "ad000000000000000000000000000004", Name: upCompute, Password: p[upCompute],
			Roles: []string{"admin", "member", "reader", "service"},
		},
		local.User{
			ID: "ad000000000000000000000000000005", Name: upNetwork, Password: p[upNetwork],
			Roles: []string{"admin", "member", "reader", "service"},
		},
	)
	d.Static = token
	return d
}

// cloudsYAML and openrc are the files for the openstack client. They request compute's
// microversion 2.72, the first with which Nova makes servers with ports that have a resource
// request; the client's own default is 2.1.
var cloudsYAML = template.Must(template.New("clouds.yaml").Parse(`# For the openstack client: --os-cloud berth-admin, or berth-demo.
clouds:
{{- range .Users}}
  berth-{{.}}:
    auth:
      auth_url: {{$.URL}}/v3
      username: {{.}}
      password: {{index $.Passwords .}}
      project_name: {{$.Project}}
      user_domain_name: Default
      project_domain_name: Default
    region_name: {{$.Region}}
    identity_api_version: 3
    compute_api_version: "2.72"
    compute_default_microversion: "2.72"
{{- end}}
`))

var openrc = template.Must(template.New("openrc").Parse(`# source this file, and call the openstack client
export OS_AUTH_TYPE=password
export OS_AUTH_URL={{.URL}}/v3
export OS_USERNAME={{.User}}
export OS_PASSWORD={{index .Passwords .User}}
export OS_PROJECT_NAME={{.Project}}
export OS_USER_DOMAIN_NAME=Default
export OS_PROJECT_DOMAIN_NAME=Default
export OS_REGION_NAME={{.Region}}
export OS_IDENTITY_API_VERSION=3
export OS_COMPUTE_API_VERSION=2.72
unset OS_TOKEN OS_ENDPOINT OS_CLOUD
`))

// writeFiles writes clouds.yaml and the openrc files, which have the passwords.
func (c *cloud) writeFiles() error {
	with := struct {
		URL, Project, Region, User string
		Users                      []string
		Passwords                  passwords
	}{
		URL: c.offered(c.identity), Project: upProject.Name, Region: identityapi.Region,
		Users: []string{upAdmin, upDemo}, Passwords: c.passwords,
	}
	errs := []error{c.writeFile("clouds.yaml", cloudsYAML, with)}
	for _, with.User = range with.Users {
		errs = append(errs, c.writeFile(with.User+"-openrc", openrc, with))
	}
	return errors.Join(errs...)
}

// writeFile writes a file with passwords into the directory of the cloud.
func (c *cloud) writeFile(name string, t *template.Template, with any) error {
	var text bytes.Buffer
	if err := t.Execute(&text, with); err != nil {
		return err
	}
	return writeSecret(filepath.Join(c.dir, name), text.Bytes())
}
