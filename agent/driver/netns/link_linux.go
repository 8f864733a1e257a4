package netns

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A pair is the two namespaces of a server's interfaces.
type pair struct {
	server       string
	host, inside *space // inside is nil when the server's does not exist
}

// mark is the alias of the host's end of a port's pair: whose it is.
func (s pair) mark(p plug) string { return p.Port + " " + s.server }

// close closes what is open by then.
func (s *pair) close() {
	s.host.close()
	if s.inside != nil {
		s.inside.close()
	}
}

// joinVeth makes a port's veth pair, if it is not as it should be. The host's end is up.
func (s pair) joinVeth(p plug) (tap netlink.Link, err error) {
	tap, err = s.ownTap(p)
	if err != nil {
		return nil, err
	}
	eth, err := s.inside.link(p.eth())
	if err != nil {
		return nil, err
	}
	if tap == nil || eth == nil || eth.Type() != "veth" || eth.Attrs().ParentIndex != tap.Attrs().Index ||
		!bytes.Equal(eth.Attrs().HardwareAddr, p.hardware()) {
		if tap, err = s.recreateVeth(p, tap, eth); err != nil {
			return nil, err
		}
	}
	if err := s.host.LinkSetAlias(tap, s.mark(p)); err != nil {
		return nil, fmt.Errorf("marking interface %s: %w", p.tap(), err)
	}
	if err := s.host.LinkSetUp(tap); err != nil {
		return nil, fmt.Errorf("switching interface %s on: %w", p.tap(), err)
	}
	return tap, nil
}

// recreateVeth replaces an interface by a new veth pair.
func (s pair) recreateVeth(p plug, tap, eth netlink.Link) (netlink.Link, error) {
	if tap != nil {
		if err := s.host.drop(tap); err != nil { // its other end goes with it
			return nil, err
		}
	}
	if err := s.clear(eth); err != nil {
		return nil, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = p.tap()
	err := s.host.LinkAdd(&netlink.Veth{
		LinkAttrs: attrs, PeerName: p.eth(), PeerHardwareAddr: p.hardware(), PeerNamespace: netlink.NsFd(s.inside.ns),
	})
	if err != nil {
		return nil, fmt.Errorf("making the interfaces %s and %s: %w", p.tap(), p.eth(), explain(err))
	}
	return s.host.LinkByName(p.tap())
}

// ownTap returns the host's end of a port's pair, nil when there is none. The port may have
// been another server's before.
func (s pair) ownTap(p plug) (netlink.Link, error) {
	tap, err := s.host.link(p.tap())
	if err != nil || tap == nil {
		return nil, err
	}
	// One without an alias was being created.
	if alias := tap.Attrs().Alias; tap.Type() != "veth" || alias != "" && !strings.HasPrefix(alias, p.Port+" ") {
		return nil, fmt.Errorf("interface %s of the host is not of port %s: it is a %s with the alias %q", p.tap(), p.Port,
			tap.Type(), alias)
	}
	return tap, nil
}

// clear removes an interface with the name of a server's interface.
func (s pair) clear(link netlink.Link) error {
	if link == nil {
		return nil
	}
	if _, ok := deviceOf(link); ok {
		return s.giveBack(link)
	}
	return s.inside.drop(link)
}

// enslave gives the host's end of a pair to a Linux bridge.
func (s pair) enslave(tap netlink.Link, name string) error {
	bridge, err := s.host.link(name)
	if err != nil {
		return err
	}
	if bridge == nil {
		return fmt.Errorf("the host has no bridge %s", name)
	}
	if bridge.Type() != "bridge" {
		return fmt.Errorf("%s is no bridge but a %s", name, bridge.Type())
	}
	if tap.Attrs().MasterIndex == bridge.Attrs().Index {
		return nil
	}
	if err := s.host.LinkSetMaster(tap, bridge); err != nil {
		return fmt.Errorf("giving interface %s to bridge %s: %w", tap.Attrs().Name, name, err)
	}
	return nil
}

// joinNIC makes a macvlan on a NIC, if it is not as it should be.
func (s pair) joinNIC(p plug) error {
	nic, err := s.host.link(p.At)
	if err != nil {
		return err
	}
	if nic == nil {
		return fmt.Errorf("the host has no NIC %s", p.At)
	}
	eth, err := s.inside.link(p.eth())
	if err != nil {
		return err
	}
	if eth != nil && eth.Type() == "macvlan" && eth.Attrs().ParentIndex == nic.Attrs().Index &&
		bytes.Equal(eth.Attrs().HardwareAddr, p.hardware()) {
		return nil
	}
	if err := s.clear(eth); err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.ParentIndex, attrs.HardwareAddr, attrs.Namespace = p.eth(), nic.Attrs().Index, p.hardware(),
		netlink.NsFd(s.inside.ns)
	if err := s.host.LinkAdd(&netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE}); err != nil {
		return fmt.Errorf("making interface %s on NIC %s: %w", p.eth(), p.At, explain(err))
	}
	return nil
}

// explain puts an errno into words.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("%w: this kernel has no interfaces of that kind", err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: CAP_NET_ADMIN is needed", err)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%w: it is in use in another way, as a port of a bridge for example", err)
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("%w: another interface on it has this MAC address", err)
	}
	return err
}

// up switches the interface of a port on and gives it its addresses, and those only.
func (s pair) up(p plug) error {
	eth, err := s.inside.link(p.eth())
	if err != nil {
		return err
	}
	if eth == nil {
		return fmt.Errorf("the server has no interface %s any more", p.eth())
	}
	if err := s.inside.LinkSetUp(eth); err != nil {
		return fmt.Errorf("switching interface %s on: %w", p.eth(), explain(err))
	}
	has, err := s.inside.AddrList(eth, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("reading the addresses of interface %s: %w", p.eth(), err)
	}
	desired := map[string]bool{}
	for _, prefix := range p.prefixes() {
		bits := prefix.Addr().BitLen()
		a := netlink.Addr{IPNet: &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), bits)}}
		if prefix.Addr().Is6() {
			a.Flags = unix.IFA_F_NODAD // the network service ensures that no other port has it
		}
		if err := s.inside.AddrReplace(eth, &a); err != nil {
			return fmt.Errorf("giving interface %s the address %s: %w", p.eth(), prefix, err)
		}
		desired[a.IPNet.String()] = true
	}
	for _, a := range has {
		if desired[a.IPNet.String()] || a.Scope != unix.RT_SCOPE_UNIVERSE {
			continue
		}
		if err := s.inside.AddrDel(eth, &a); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("taking the address %s from interface %s: %w", a.IPNet, p.eth(), err)
		}
	}
	return nil
}

// down switches the interface of a port off, if there is one.
func (s pair) down(p plug) error {
	eth, err := s.inside.link(p.eth())
	if err != nil || eth == nil {
		return err
	}
	if err := s.inside.LinkSetDown(eth); err != nil {
		return fmt.Errorf("switching interface %s off: %w", p.eth(), err)
	}
	return nil
}

// part removes what a port has in the kernel, as far as it is there and its own.
func (s pair) part(p plug) error {
	if p.Way == byDevice {
		return s.partDevice(p.Port)
	}
	if p.Way != byNIC {
		// One of another owner is not touched, another server's either.
		if tap, err := s.ownTap(p); err == nil && tap != nil && tap.Attrs().Alias == s.mark(p) {
			if err := s.host.drop(tap); err != nil {
				return err
			}
		}
	}
	if s.inside == nil {
		return nil
	}
	eth, err := s.inside.link(p.eth())
	if err != nil || eth == nil || !bytes.Equal(eth.Attrs().HardwareAddr, p.hardware()) {
		return err
	}
	return s.inside.drop(eth)
}

// empty removes all interfaces of a server, and gives the host's devices back. What is
// neither goes with the namespace.
func (s pair) empty() error {
	all, err := s.inside.LinkList()
	if err != nil {
		return fmt.Errorf("listing the server's interfaces: %w", err)
	}
	for _, link := range all {
		_, isDevice := deviceOf(link)
		switch {
		case isDevice:
			err = s.giveBack(link)
		case link.Type() == "veth" || link.Type() == "macvlan":
			err = s.inside.drop(link)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
