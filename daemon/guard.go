package daemon

import (
	"fmt"
	"net"
	"strings"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpserver"
)

// A Guard protects a service that accepts every client that can reach it, because it has noauth2 or
// is a trial: against other machines by its listeners, and against web pages in a browser on this
// machine by the Host header. A nil Guard allows everything.
type Guard struct {
	Remote bool   // other machines may reach it: the operator has allowed it
	Advice string // for an operator who has not, after the reason
}

// noAuthGuard returns the guard of a service, nil with Keystone.
func noAuthGuard(cfg *config.Service, strategy string) *Guard {
	if strategy == config.StrategyKeystone {
		return nil
	}
	return &Guard{
		Remote: cfg.Berth.AllowRemoteNoAuth,
		Advice: "auth_strategy " + strategy +
			" makes everybody the administrator who reaches it; listen on 127.0.0.1, set auth_strategy = keystone, " +
			"or accept the danger with [berth] allow_remote_noauth = true or --allow-remote-noauth",
	}
}

// check refuses listeners that other machines can reach, unless that is allowed. Unix sockets are
// accepted.
func (g *Guard) check(all []net.Listener) error {
	if g == nil || g.Remote {
		return nil
	}
	for _, ln := range all {
		if tcp, ok := ln.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
			return Fail(WrongSettings, fmt.Errorf("listening on %s, which other machines can reach: %s", tcp, g.Advice))
		}
	}
	return nil
}

// hosts returns the names that requests may have in their Host headers: those in the settings, and
// those of the addresses there.
func (g *Guard) hosts(cfg *config.Service) *httpserver.Hosts {
	if g == nil {
		return nil
	}
	names := cfg.Berth.AllowedHosts
	for _, a := range config.Addresses(cfg.Berth.Listen) {
		if name, _, err := net.SplitHostPort(a.TCP); err == nil && strings.Trim(name, "0:.") != "" { // not any address
			names = append(names[:len(names):len(names)], name)
		}
	}
	return httpserver.NewHosts(names...)
}
