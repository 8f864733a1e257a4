package cloud

import (
	"slices"
	"time"
)

// Environment are what was measured around the records: how a caller reached the services, and what
// they say of themselves. They have no credentials.
type Environment struct {
	Login     Login      `json:"login"`
	Endpoints []Endpoint `json:"endpoints"`
	// Extensions are the aliases of the network service's API extensions, sorted, and RuleTypes the
	// types of QoS rules that it enforces. Nil is not known.
	Extensions []string `json:"extensions,omitzero"`
	RuleTypes  []string `json:"qos_rule_types,omitzero"`
	// ServiceUsers are the users that services of OpenStack log in as, as far as they have the
	// usual names. Nil is not known.
	ServiceUsers []ServiceUser `json:"service_users,omitzero"`
	// Unread is why the records of a service were not read, by the type of the service.
	Unread map[string]string `json:"unread,omitempty"`
}

// A ServiceUser is the user of a service: nova, neutron or placement.
type ServiceUser struct {
	Name    string   `json:"name"`
	Enabled bool     `json:"enabled"`
	Roles   []string `json:"roles"` // in any project, sorted
}

// A ProjectUser is a user who has servers in a project, with the roles that the user has there.
type ProjectUser struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"` // "" when it is not known
	Project string   `json:"project_id"`
	Roles   []string `json:"roles"` // those that follow from them too, sorted
}

// A Login is how the caller got a token.
type Login struct {
	// Cloud is its name in clouds.yaml, "" without one.
	Cloud string `json:"cloud,omitempty"`
	// URL is that of the identity service, "" when the caller uses none.
	URL     string  `json:"auth_url,omitempty"`
	Problem Problem `json:"problem,omitzero"`

	User    string   `json:"user,omitempty"`
	Project string   `json:"project,omitempty"`
	System  bool     `json:"system_scope,omitempty"`
	Roles   []string `json:"roles,omitzero"` // sorted; nil is not known
	// Issued and Expires are by the clock of the identity service, RequestedAt by the caller's.
	Issued      time.Time `json:"issued_at,omitzero"`
	Expires     time.Time `json:"expires_at,omitzero"`
	RequestedAt time.Time `json:"asked_at,omitzero"`
}

// MaySeePart reports whether services may show the caller a part of their records without saying
// so: the default policies of Nova and Neutron show those of all projects to the role admin only.
func (l Login) MaySeePart() bool { return l.Roles != nil && !slices.Contains(l.Roles, "admin") }

// An Endpoint is the endpoint of a service in the catalog that a caller would use, with what its
// root document says.
type Endpoint struct {
	Service string `json:"service"` // placement, compute, network, identity, image
	// URL is "" when the catalog has none.
	URL     string  `json:"url,omitempty"`
	Problem Problem `json:"problem,omitzero"`
	// Status is that of the answer, 0 for none.
	Status int `json:"status,omitempty"`
	// Min and Max are the microversions, of the image and the network service the newest version
	// only.
	Min string `json:"min_version,omitempty"`
	Max string `json:"max_version,omitempty"`
	// Ahead is by how many seconds the clock of the service is ahead of the caller's, as exact as a
	// second; nil is not known.
	Ahead *float64 `json:"clock_ahead_s,omitempty"`
	// CertificateExpires is zero for an endpoint without TLS.
	CertificateExpires time.Time `json:"certificate_expires,omitzero"`
}

// A Problem is why a request got no answer that can be used.
type Problem struct {
	Kind ProblemKind `json:"kind,omitempty"`
	Text string      `json:"text,omitempty"`
}

// A ProblemKind is what kind of problem it is, "" for none.
type ProblemKind string

// The kinds.
const (
	ProblemAbsent      ProblemKind = "absent"      // the catalog has no such endpoint
	ProblemName        ProblemKind = "name"        // the name of the host cannot be resolved
	ProblemConnection  ProblemKind = "connection"  // nothing listens there, or the network does not lead there
	ProblemTime        ProblemKind = "time"        // there was no answer in time
	ProblemCertificate ProblemKind = "certificate" // the certificate is not trusted
	ProblemCredentials ProblemKind = "credentials" // 401
	ProblemAnswer      ProblemKind = "answer"      // another answer than the API has
	ProblemOther       ProblemKind = "other"
)
