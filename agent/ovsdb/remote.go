package ovsdb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
)

const defaultPort = "6640" // IANA's for OVSDB

// A Remote is where a server listens, in Open vSwitch's notation: "unix:/path",
// "tcp:host:port" or "ssl:host:port", with IPv6 addresses in brackets.
type Remote struct {
	scheme, address string
}

// ParseRemotes reads a list of remotes with commas between them, as
// ovn-remote and ovn_sb_connection have it. The error names the one that is wrong.
func ParseRemotes(list string) ([]Remote, error) {
	var rs []Remote
	for _, text := range strings.Split(list, ",") {
		r, err := parseRemote(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	return rs, nil
}

func parseRemote(text string) (Remote, error) {
	scheme, address, _ := strings.Cut(text, ":")
	if i := strings.LastIndexByte(text, '@'); i >= 0 { // OVSDB has no passwords; a user may have written one all the same
		text = scheme + ":***" + text[i:]
	}
	bad := fmt.Errorf("the remote %.100q is not of the form unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT", text)
	switch {
	case address == "":
		return Remote{}, bad
	case scheme == "unix":
		return Remote{scheme, address}, nil
	case scheme != "tcp" && scheme != "ssl":
		return Remote{}, bad
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil { // perhaps it has no port
		host, port, err = net.SplitHostPort(address + ":" + defaultPort)
	}
	if err != nil || host == "" || port == "" {
		return Remote{}, bad
	}
	return Remote{scheme, net.JoinHostPort(host, port)}, nil
}

func (r Remote) String() string { return r.scheme + ":" + r.address }

// dial connects to a remote. The settings for TLS serve ssl: remotes.
func dial(ctx context.Context, r Remote, settings *tls.Config) (net.Conn, error) {
	var d net.Dialer
	switch r.scheme {
	case "unix":
		return d.DialContext(ctx, "unix", r.address)
	case "tcp":
		return d.DialContext(ctx, "tcp", r.address)
	}
	if settings == nil {
		return nil, errors.New("a remote with ssl: needs a certificate authority, and often a certificate and key")
	}
	return (&tls.Dialer{NetDialer: &d, Config: settings}).DialContext(ctx, "tcp", r.address)
}
