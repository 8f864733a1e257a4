package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
)

// UnixPeers is the word in trusted_proxies for the peers on Unix sockets.
const UnixPeers = "unix"

// unixPrefix marks the address of a Unix socket.
const unixPrefix = "unix:"

// An Address is an address to listen on. One of its fields is set.
type Address struct {
	TCP  string // host:port
	Unix string // path of a socket
}

// String returns the address in the syntax of the settings.
func (a Address) String() string {
	if a.Unix != "" {
		return unixPrefix + a.Unix
	}
	return a.TCP
}

// Addresses splits a list in the syntax of Berth.Listen and Berth.MetricsListen. It does not
// validate; see [CheckAddresses].
func Addresses(list string) []Address {
	var all []Address
	for text := range strings.SplitSeq(list, ",") {
		switch path, isUnix := strings.CutPrefix(strings.TrimSpace(text), unixPrefix); {
		case isUnix:
			all = append(all, Address{Unix: path})
		case path != "":
			all = append(all, Address{TCP: path})
		}
	}
	return all
}

// SocketMode returns the permissions of Unix sockets, and 0 for a ListenMode that was not validated
// by loading.
func (b *Berth) SocketMode() fs.FileMode {
	mode, err := strconv.ParseUint(b.ListenMode, 8, 32)
	if err != nil {
		return 0
	}
	return fs.FileMode(mode) & fs.ModePerm
}

// ProxyNetworks returns the networks in TrustedProxies, and whether peers on Unix sockets are
// trusted too. Invalid entries, which loading refuses, are skipped.
func (b *Berth) ProxyNetworks() (networks []netip.Prefix, unix bool) {
	for _, text := range b.TrustedProxies {
		if text == UnixPeers {
			unix = true
		} else if network, err := parseNetwork(text); err == nil {
			networks = append(networks, network)
		}
	}
	return networks, unix
}

// parseNetwork parses a network in CIDR notation, or an address as the network of that address
// only.
func parseNetwork(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.Prefix(addr.BitLen())
	}
	network, err := netip.ParsePrefix(text)
	return network.Masked(), err
}

// checkProxies accepts what ProxyNetworks understands.
func checkProxies(text string) error {
	for entry := range strings.SplitSeq(text, ",") {
		entry = strings.TrimSpace(entry)
		if _, err := parseNetwork(entry); err != nil && entry != "" && entry != UnixPeers {
			return fmt.Errorf("want networks such as 10.0.0.0/8, addresses or the word %s, not %q", UnixPeers, entry)
		}
	}
	return nil
}

// checkHosts refuses what can be no name of a host.
func checkHosts(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); strings.ContainsAny(name, "/ *") {
			return fmt.Errorf("want names or addresses of hosts without ports, such as berth.example.org, not %q", name)
		}
	}
	return nil
}

// CheckAddresses returns an error for a malformed or empty list of addresses, as loading does for
// Berth.Listen.
func CheckAddresses(list string) error { return checkAddresses(list) }

func checkAddresses(text string) error {
	list := Addresses(text)
	if len(list) == 0 {
		return errAddress
	}
	for _, a := range list {
		if err := a.check(); err != nil {
			return err
		}
	}
	return nil
}

var errAddress = errors.New("want host:port, with [ ] around an IPv6 address, or unix:/path")

func (a Address) check() error {
	if a.TCP == "" {
		if !filepath.IsAbs(a.Unix) || len(a.Unix) > maxSocketPath {
			return fmt.Errorf("want unix: and an absolute path of at most %d bytes", maxSocketPath)
		}
		return nil
	}
	if _, port, err := net.SplitHostPort(a.TCP); err != nil || port == "" {
		return errAddress
	}
	return nil
}

// maxSocketPath is the kernel's bound for the path of a socket in bytes, without the final zero.
const maxSocketPath = 107

func checkOptionalAddresses(text string) error {
	if text == "" {
		return nil
	}
	return checkAddresses(text)
}

// checkMode accepts permissions without the bits above them, such as setuid.
func checkMode(text string) error {
	if mode, err := strconv.ParseUint(text, 8, 32); err != nil || mode > uint64(fs.ModePerm) {
		return errors.New("want permissions in octal, such as 0660")
	}
	return nil
}

// checkPrefix accepts paths that need no escaping in links, so that a prefix can be compared with
// the start of a request's path.
func checkPrefix(text string) error {
	if text == "" {
		return nil
	}
	plain := strings.IndexFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`?#%"<>\`, r)
	}) < 0
	if !plain || text[0] != '/' || strings.HasSuffix(text, "/") || strings.Contains(text, "//") {
		return errors.New("want a path such as /placement: a slash first, none last, and nothing that needs escaping")
	}
	return nil
}
