package openstack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"go.yaml.in/yaml/v3"
)

// aloneTypes are the authentication types of keystoneauth and the openstack client without Keystone.
var aloneTypes = []string{"none", "admin_token", "token_endpoint"}

// A standalone is a placement service without Keystone, as clouds.yaml has it. Gophercloud's reader of that file leaves out its endpoint.
type standalone struct {
	AuthType string `yaml:"auth_type"`
	Auth     struct {
		Endpoint string `yaml:"endpoint"`
		URL      string `yaml:"url"` // the endpoint's former name
		Token    string `yaml:"token"`
	} `yaml:"auth"`
	Override string `yaml:"placement_endpoint_override"` // takes precedence over the endpoint
	secured  `yaml:",inline"`
}

// A secured is how a cloud's certificates are verified.
type secured struct {
	Verify *bool  `yaml:"verify" json:"verify,omitempty"`
	CACert string `yaml:"cacert" json:"cacert,omitempty"`
	Cert   string `yaml:"cert" json:"cert,omitempty"`
	Key    string `yaml:"key" json:"key,omitempty"`
}

// standalone finds a cloud without Keystone: the one of a name in clouds.yaml, or without a name that of the OS_* variables. It returns nil for a cloud that has
// Keystone, and for one that cannot be read, of which [clouds.Parse] says why.
func (o *Options) standalone(name string) *standalone {
	var s standalone
	if name == "" {
		s.AuthType, s.Auth.Endpoint, s.Auth.Token = o.Getenv("OS_AUTH_TYPE"), o.Getenv("OS_ENDPOINT"), o.Getenv("OS_TOKEN")
	} else {
		places := []string{o.Getenv("OS_CLIENT_CONFIG_FILE")}
		if places[0] == "" { // those of clouds.Parse
			user := cmp.Or(o.Getenv("XDG_CONFIG_HOME"), filepath.Join(o.Getenv("HOME"), ".config"))
			places = []string{"clouds.yaml", filepath.Join(user, "openstack", "clouds.yaml"), "/etc/openstack/clouds.yaml"}
		}
		at := slices.IndexFunc(places, func(path string) bool { _, err := os.Stat(path); return err == nil })
		if at < 0 {
			return nil
		}
		for _, path := range []string{places[at], filepath.Join(filepath.Dir(places[at]), "secure.yaml")} { // what the second one has replaces what the first one has
			var file struct {
				Clouds map[string]yaml.Node `yaml:"clouds"`
			}
			text, err := os.ReadFile(path)
			if err != nil || yaml.Unmarshal(text, &file) != nil {
				continue
			}
			if node, ok := file.Clouds[name]; ok && node.Decode(&s) != nil {
				return nil
			}
		}
	}
	if !slices.Contains(aloneTypes, s.AuthType) {
		return nil
	}
	return &s
}

// connectAlone returns a client of a placement service without Keystone.
func (o *Options) connectAlone(name string, s *standalone) (*Client, error) {
	where := "clouds.yaml"
	if name == "" {
		where = "the OS_* variables"
	}
	place := cmp.Or(s.Override, s.Auth.Endpoint, s.Auth.URL)
	if u, err := url.Parse(place); err != nil || u.Host == "" {
		if name == "" {
			return nil, errors.New("OS_AUTH_TYPE=" + s.AuthType + " wants the URL of the placement service in OS_ENDPOINT")
		}
		return nil, fmt.Errorf("clouds.yaml: the cloud %s with the auth_type %s wants the URL of the placement service as the endpoint in its section auth", name, s.AuthType)
	}
	const only = "standalone"
	text, err := json.Marshal(map[string]any{"clouds": map[string]any{only: struct {
		Auth map[string]string `json:"auth"`
		secured
	}{map[string]string{}, s.secured}}})
	if err != nil {
		return nil, err
	}
	_, _, secure, err := clouds.Parse(append(o.verification(), clouds.WithCloudName(only), clouds.WithCloudsYAML(strings.NewReader(string(text))))...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	provider := &gophercloud.ProviderClient{TokenID: s.Auth.Token}
	c := &Client{source: "the placement service at " + plain(place), name: name}
	c.use(provider, newClient(secure), *o)
	c.catalog = func() (*tokens.ServiceCatalog, error) {
		endpoint := tokens.Endpoint{Interface: string(gophercloud.AvailabilityPublic), URL: place}
		return &tokens.ServiceCatalog{Entries: []tokens.CatalogEntry{{Type: "placement", Endpoints: []tokens.Endpoint{endpoint}}}}, nil
	}
	c.endpoint.Availability = gophercloud.AvailabilityPublic
	return c, nil
}
