// Package cloudconfig reads clouds.yaml and the OS_* variables by the rules of openstacksdk and of
// the openstack client, and says how the client would log in. It sends nothing, and it is not for
// the settings of Berth's services, which package config reads.
//
//	clouds.yaml, secure.yaml ── files.go, yaml.go ──▶ sections ─┐
//	clouds-public.yaml, vendors.yaml ── profile.go ─────────────┼─ cloud.go ── names.go
//	environment, command line ── variables.go ──────────────────┘                 │
//	                                       Cloud ◀── auth.go, services.go ────────┤
//	                                       warnings ◀── unused.go ────────────────┘
//
// The less obvious rules:
//
//   - The first file of clouds.yaml, clouds.yml and clouds.json in the working directory, the
//     user's and the system's counts, alone. secure.yaml is looked for in the same way, for itself,
//     and replaces values of the cloud.
//   - The variables that are options of the client's command line apply to a named cloud too. Of a
//     project, a domain and a token, the section auth of the file has precedence over them; of
//     everything else they have precedence.
//   - Without the name of a cloud only these variables count. The cloud envvars is made of all of
//     them.
//   - A domain that is named nowhere is OS_DEFAULT_DOMAIN, or "default", when identity_api_version
//     is 3, else none.
//   - Values in YAML are those of YAML 1.1: yes is true, 0123 is 83, 1:30 is 90.
//
// What the client stops at, and what Berth does not have, is an error that says so; what has no
// effect is a warning. Neither contains a value that may be a secret.
package cloudconfig

import (
	"cmp"
	"errors"
	"time"
)

// Options say which cloud is meant, and where its files are.
type Options struct {
	// Cloud, Region and Interface are of the command line. Empty ones are taken from OS_CLOUD,
	// OS_REGION_NAME and OS_INTERFACE.
	Cloud, Region, Interface string
	// Environ is the environment, as [os.Environ] returns it.
	Environ []string
	// Dir is the working directory, "" for the process's.
	Dir string
	// Site is the system's directory of clouds.yaml, "" for /etc/openstack.
	Site string
}

// ErrUnnamed is the error of Read when neither a cloud is named nor a variable says where to log
// in. An error that wraps it names the clouds that the files have.
var ErrUnnamed = errors.New("no cloud is named")

// The values of Cloud.Type. The client's token_endpoint is AdminToken.
const (
	Password              = "password"
	Token                 = "token"
	V3Password            = "v3password"
	V3Token               = "v3token"
	ApplicationCredential = "v3applicationcredential"
	None                  = "none"
	AdminToken            = "admin_token"
	HTTPBasic             = "http_basic"
)

// A Cloud is how to log in to a cloud and to find its services.
type Cloud struct {
	Name string // "" when the variables alone describe it
	From string // where it is from, for messages
	Type string
	Auth Auth
	Service
	Verify        bool   // of certificates
	CA, Cert, Key string // paths of PEM files, "" for none
	Timeout       time.Duration
	services      map[string]Service
}

// Auth has the credentials and the scope. Those that Cloud.Type has no use for are empty.
type Auth struct {
	URL                                string
	UserID, Username                   string
	UserDomainID, UserDomainName       string
	Password, Token                    string
	CredentialID, CredentialName       string // of an application credential
	CredentialSecret                   string
	ProjectID, ProjectName             string
	ProjectDomainID, ProjectDomainName string
	DomainID, DomainName               string
	SystemScope, TrustID               string
	Endpoint                           string // of all services, without Keystone
}

// A Service is how to find a service in the catalog.
type Service struct {
	Type       string   // in the catalog
	Name       string   // in the catalog, "" for any
	Endpoint   string   // instead of the catalog's, "" for none
	Region     string   // "" for any
	Interfaces []string // the first that the catalog has
}

// Services are the types of the services of which Find knows settings.
var Services = []string{"placement", "compute", "network", "identity", "image"}

// Find returns how to find a service by its type.
func (c *Cloud) Find(kind string) Service {
	s, ok := c.services[kind]
	if !ok {
		s = c.Service
	}
	s.Type = cmp.Or(s.Type, kind)
	return s
}

// SetEndpoint has a service be at an endpoint.
func (c *Cloud) SetEndpoint(kind, endpoint string) {
	s := c.Find(kind)
	s.Endpoint = endpoint
	c.services[kind] = s
}

// Read finds a cloud. The warnings are for standard error; they come with an error too.
func Read(o Options) (c *Cloud, warnings []string, err error) {
	r := newReader(o)
	c, err = r.read()
	return c, r.warnings, err
}
