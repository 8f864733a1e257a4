package main

import (
	"net/http"
	"strings"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity"
)

// agentPaths begin the requests that agents make.
const agentPaths = "/berth/v1/"

// knowAgents lets agents in by their certificates, for their own requests and with the
// role that those take; all others show tokens.
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
