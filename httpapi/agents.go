package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/hostkey"
)

// Agents authenticates hosts and their agents, for all services that these report to. Fields do not
// change while it is used.
type Agents struct {
	// Certificates verifies certificates of hosts; nil without TLS.
	Certificates *httpserver.Certificates
	// Keys verifies keys of hosts.
	Keys hostkey.Keys
	// TokensForAll lets every token with the role of agents act for all hosts.
	TokensForAll bool
	// Others authenticates callers by their tokens.
	Others Authenticator
}

// hostPaths are the prefixes of the routes that hosts use, of all services. A certificate or a key
// is accepted there only.
var hostPaths = []string{"/berth/v1/heartbeats", "/berth/v1/hosts/"}

// Authenticate is an [Authenticator]. A host is identified by its certificate, or else by its key,
// and needs no token then. A wrong key is refused, whatever token is sent with it.
func (a Agents) Authenticate(r *http.Request) (identity.Caller, error) {
	if !isHostPath(r.URL.Path) {
		return a.Others(r)
	}
	if a.Certificates != nil {
		if hosts, ok := a.Certificates.Agent(r); ok {
			return hostCaller(hosts), nil
		}
	}
	if key := r.Header.Get(hostkey.Header); key != "" && !a.Keys.Empty() {
		host, ok := a.Keys.Host(key)
		if !ok {
			return identity.Caller{}, fault.New(fault.Denied, codeNotThisHost,
				"The host key is of no secret in [berth] host_key_secret of this service; 'berth agent key' prints keys")
		}
		return hostCaller([]string{host}), nil
	}
	c, err := a.Others(r)
	c.AllHosts = c.AllHosts || a.TokensForAll
	return c, err
}

func isHostPath(path string) bool {
	for _, prefix := range hostPaths {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

func hostCaller(hosts []string) identity.Caller {
	return identity.Caller{UserID: "agent on " + hosts[0], Roles: []string{identity.AgentRole}, Hosts: hosts}
}

// codeNotThisHost is that of the APIs for what their policies refuse.
const codeNotThisHost fault.Code = "PolicyNotAuthorized"

// CheckIsHost refuses callers that act for no host at all. Where the body names the host, it is
// called before the body is read.
func CheckIsHost(ctx context.Context) error {
	if caller, _ := identity.From(ctx); caller.AllHosts || caller.Hosts != nil {
		return nil
	}
	return fault.New(fault.Denied, codeNotThisHost,
		"A token does not identify a host: set a certificate or a host key in the agent's settings "+
			"(network_cert_file, network_host_key_file, compute_cert_file, compute_host_key_file in [berth]); "+
			"for the time of a migration, "+
			"[berth] host_identity = token in those of the service")
}

// CheckHost refuses callers that do not act for a host: hosts read and report what is theirs only.
func CheckHost(ctx context.Context, host string) error {
	if err := CheckIsHost(ctx); err != nil {
		return err
	}
	if caller, _ := identity.From(ctx); !caller.ActsFor(host) {
		return fault.New(fault.Denied, codeNotThisHost, "The certificate or key is of the host %s, and not of %s",
			strings.Join(caller.Hosts, ", "), host)
	}
	return nil
}
