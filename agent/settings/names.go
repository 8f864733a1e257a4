package settings

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
)

// Names is what the machine is called: Host as the kernel says, Canonical as
// libvirt, and so Nova, calls the hypervisor. They are the defaults of [DEFAULT]
// host and of resource_provider_default_hypervisor, and may differ (upstream's
// bug 1853840).
type Names struct {
	Host      string
	Canonical string
}

// LocalNames returns the names of this machine. It uses the resolver, so the context should have a
// deadline; a resolver without an answer is no error.
func LocalNames(ctx context.Context) (Names, error) {
	host, err := os.Hostname()
	if err != nil {
		return Names{}, fmt.Errorf("reading the name of this machine: %w", err)
	}
	return Names{host, canonical(host, func(name string) (string, error) {
		return net.DefaultResolver.LookupCNAME(ctx, name)
	})}, nil
}

// canonical follows libvirt's virGetHostname: a name with a dot and localhost are used as they are,
// others are resolved, and localhost is ignored as a result.
func canonical(host string, lookup func(string) (string, error)) string {
	if strings.Contains(host, ".") || isLocalhost(host) {
		return host
	}
	name, err := lookup(host)
	name = strings.TrimSuffix(name, ".")
	if err != nil || name == "" || isLocalhost(name) {
		return host
	}
	return name
}

func isLocalhost(name string) bool { return strings.HasPrefix(name, "localhost") }
