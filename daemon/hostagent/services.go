package hostagent

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/client"
)

// agentConnections is the number of idle connections to a service: one for heartbeats, and one for
// each kind of agent that waits for changes.
const agentConnections = 3

// serviceOptions returns options for each of the addresses of a service in the settings, in their
// order.
func serviceOptions(s *agentsettings.Service, log *slog.Logger) ([]client.Options, error) {
	if len(s.URLs) == 0 {
		return nil, fmt.Errorf("[berth] %s_urls: set the address of the %[1]s service, such as http://192.0.2.1", s.Name)
	}
	http, err := client.NewHTTP(agentConnections, client.Trust{
		CAFile: s.CAFile, CertFile: s.CertFile, KeyFile: s.KeyFile,
	})
	if err != nil {
		return nil, fmt.Errorf("[berth] %s_ca_file, %[1]s_cert_file, %[1]s_key_file: %w", s.Name, err)
	}
	var key func() (string, error) // nil without one
	switch {
	case s.HostKeyFile != "":
		key = client.HostKeyFromFile(s.HostKeyFile)
	case s.HostKey != "":
		key = func() (string, error) { return s.HostKey.Reveal(), nil }
	}
	var all []client.Options
	var errs []error
	for _, url := range s.URLs {
		access, err := serviceAccess(s, url)
		if err != nil {
			errs = append(errs, fmt.Errorf("[berth] %s_urls: %w", s.Name, err))
		}
		all = append(all, client.Options{Access: access, HostKey: key, HTTP: http, Timeout: s.Timeout, Log: log})
	}
	return all, errors.Join(errs...)
}

// serviceAccess returns the access to an address of a service: with the token of a file, which is
// read for each request, or else with the token of the settings. Without either it is noauth's,
// for trials.
func serviceAccess(s *agentsettings.Service, url string) (client.Access, error) {
	if s.TokenFile != "" {
		return client.FromFile(url, s.TokenFile)
	}
	return client.Fixed(url, cmp.Or(s.Token.Reveal(), client.NoAuth))
}
