package daemon

import (
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity/hostkey"
)

// identifyHosts has hosts and their agents authenticated by their certificates and keys, in
// addition to the tokens of all other clients. It warns when no host can be identified. With a
// strategy that accepts any token, hosts need no identity (httpapi.NoAuth).
func (s *Server) identifyHosts() {
	b := &s.running.Common().Berth
	agents := httpapi.Agents{
		Certificates: s.certs, Keys: hostkey.New(b.HostSecrets()...),
		TokensForAll: b.HostIdentity == config.HostByToken, Others: s.authenticate,
	}
	switch {
	case s.anyToken:
	case b.HostIdentity == config.HostByToken:
		s.log.Warn("[berth] host_identity is token: every token with the role of agents acts for all hosts; give hosts " +
			"keys or certificates, and remove the setting")
	case agents.Keys.Empty() && b.TLSAgentCAFile == "":
		s.log.Warn("no host can report: set [berth] host_key_secret or tls_agent_ca_file, and give each host its key " +
			"('berth agent key HOST') or certificate; " +
			"host_identity = token accepts tokens as before, for the time of a migration")
	}
	s.authenticate = agents.Authenticate
}
