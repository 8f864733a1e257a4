package daemon

import (
	"net"
	"testing"
)

// anywhere is a listener at all addresses.
type anywhere struct{ net.Listener }

func (anywhere) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 5000} }

func TestRemoteCallersAreAllowedWhenSaidTwice(t *testing.T) {
	for _, g := range []*Guard{nil, {Remote: true}} {
		if err := g.check([]net.Listener{anywhere{}}); err != nil {
			t.Errorf("%+v refuses: %v", g, err)
		}
	}
}
