package daemon

import (
	"net/http"
	"strings"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity"
)

// agentPaths is the path prefix of agents' requests.
const agentPaths = "/berth/v1/"

// knowAgents authenticates agents by their certificates, for agents' requests only and with the
// role that those need; all other clients need tokens.
func knowAgents(certs *httpapi.Certificates, others httpapi.Authenticator) httpapi.Authenticator {
	if certs == nil {
		return others
	}
	return func(r *http.Request) (identity.Caller, error) {
		if strings.HasPrefix(r.URL.Path, agentPaths) {
			if hosts, ok := certs.Agent(r); ok {
				return identity.Caller{UserID: "agent on " + hosts[0], Roles: []string{"service"}, Hosts: hosts}, nil
			}
		}
		return others(r)
	}
}
