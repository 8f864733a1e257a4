package netns

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"github.com/vishvananda/netlink"
)

// labGroup marks the interfaces of a lab: it is the group that they are created in.
const labGroup = 0xbe70

// Names in the namespace outside.
const (
	labWire, labBridge, labFar, labEnd = "wire", "bridge", "far", "eth0"
)

// Make makes what is not there yet. What has one of the names and is not a lab's is an
// error.
func (l *Lab) Make(ctx context.Context) error {
	if err := shareSpaces(); err != nil {
		return err
	}
	if err := l.makeHost(); err != nil {
		return err
	}
	return l.each(ctx, func(host *space, w Wire) error { return w.make(host) })
}

// makeHost makes the host's namespace, if it is the lab's.
func (l *Lab) makeHost() error {
	if !l.Own {
		return nil
	}
	if err := l.check(); err != nil {
		return err
	}
	s, err := openLab(l.Namespace)
	if err == nil {
		s.close()
	}
	return err
}

// Remove removes all that there is of it, and nothing else.
func (l *Lab) Remove(ctx context.Context) error {
	if l.Own && !isSpace(spacePath(l.Namespace)) { // the wires may be there still
		if err := l.makeHost(); err != nil {
			return err
		}
	}
	if err := l.each(ctx, func(host *space, w Wire) error { return w.remove(host) }); err != nil || !l.Own {
		return err
	}
	return removeSpace(l.Namespace)
}

func (l *Lab) each(ctx context.Context, fn func(host *space, w Wire) error) error {
	if err := l.check(); err != nil {
		return err
	}
	path := l.Namespace
	if path != "" && !filepath.IsAbs(path) {
		path = spacePath(path)
	}
	host, err := openSpace(path)
	if err != nil {
		return err
	}
	defer host.close()
	for _, w := range l.Wires {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(host, w); err != nil {
			return fmt.Errorf("the lab's wire from %s to %s: %w", w.NIC, w.Outside, err)
		}
	}
	return nil
}

func isLab(link netlink.Link) bool { return link.Attrs().Group == labGroup }

// labLink returns an interface of a lab, nil when there is none of the name.
func (s *space) labLink(name string) (netlink.Link, error) {
	link, err := s.link(name)
	if err == nil && link != nil && !isLab(link) {
		return nil, fmt.Errorf("there is an interface %s that is not a lab's", name)
	}
	return link, err
}

// attributes are those of an interface to create.
func (w Wire) attributes(name string) netlink.LinkAttrs {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.Group = name, labGroup
	return attrs
}

func (w Wire) make(host *space) error {
	nic, err := host.labLink(w.NIC)
	if err != nil {
		return err
	}
	outside, err := openLab(w.Outside)
	if err != nil {
		return err
	}
	defer outside.close()
	if err := w.joinOutside(host, outside, nic); err != nil {
		return err
	}
	bridge, err := outside.madeBridge(w, labBridge)
	if err != nil {
		return err
	}
	// Else it would answer for the addresses beyond it, and be a way past the rate.
	if err := outside.LinkSetARPOff(bridge); err != nil {
		return fmt.Errorf("interface %s: %w", labBridge, err)
	}
	far, err := w.end(outside)
	if err != nil {
		return err
	}
	wire, err := outside.LinkByName(labWire)
	if err != nil {
		return err
	}
	for _, link := range []netlink.Link{wire, far} {
		err := outside.LinkSetMaster(link, bridge)
		if err == nil {
			err = outside.LinkSetUp(link)
		}
		if err == nil {
			err = w.shape(outside, link)
		}
		if err != nil {
			return fmt.Errorf("interface %s: %w", link.Attrs().Name, explain(err))
		}
	}
	return w.onHost(host)
}

// openLab opens a namespace of a lab, and creates it if necessary.
func openLab(name string) (*space, error) {
	path := spacePath(name)
	there := isSpace(path)
	if err := makeSpace(name); err != nil {
		return nil, err
	}
	s, err := openSpace(path)
	if err != nil {
		return nil, err
	}
	if there {
		if err := isOurs(s, name); err != nil {
			s.close()
			return nil, err
		}
	}
	lo, err := s.LinkByName("lo")
	if err == nil {
		err = s.LinkSetUp(lo)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// isOurs returns an error unless a namespace is a lab's, or has nothing in it.
func isOurs(s *space, name string) error {
	all, err := s.LinkList()
	if err != nil {
		return err
	}
	foreign := ""
	for _, link := range all {
		switch up := link.Attrs().Flags&net.FlagUp != 0; {
		case isLab(link):
			return nil
		case link.Attrs().Name != "lo" && (up || link.Type() == "veth"): // and not what every namespace has
			foreign = link.Attrs().Name
		}
	}
	if foreign != "" {
		return fmt.Errorf("the namespace %s, which has an interface %s, is not a lab's", name, foreign)
	}
	return nil
}

// joinOutside makes the wire, unless it leads there already.
func (w Wire) joinOutside(host, outside *space, nic netlink.Link) error {
	wire, err := outside.link(labWire)
	if err != nil {
		return err
	}
	if nic != nil && wire != nil && wire.Attrs().ParentIndex == nic.Attrs().Index {
		return nil
	}
	if nic != nil {
		if err := host.drop(nic); err != nil {
			return err
		}
	}
	if wire != nil { // its other end may have been removed with its namespace, and this one not yet
		if err := outside.drop(wire); err != nil {
			return err
		}
	}
	// The mark comes first: a wire has none at this end.
	if _, err := outside.madeBridge(w, labBridge); err != nil {
		return err
	}
	err = host.LinkAdd(&netlink.Veth{LinkAttrs: w.attributes(w.NIC), PeerName: labWire, PeerNamespace: netlink.NsFd(outside.ns)})
	if err != nil {
		return fmt.Errorf("making %s: %w", w.NIC, explain(err))
	}
	return nil
}

// madeBridge returns a bridge of a lab that is up.
func (s *space) madeBridge(w Wire, name string) (netlink.Link, error) {
	bridge, err := s.labLink(name)
	if err != nil {
		return nil, err
	}
	if bridge == nil {
		if err := s.LinkAdd(&netlink.Bridge{LinkAttrs: w.attributes(name)}); err != nil {
			return nil, fmt.Errorf("making bridge %s: %w", name, explain(err))
		}
		if bridge, err = s.LinkByName(name); err != nil {
			return nil, err
		}
	}
	return bridge, s.LinkSetUp(bridge)
}

// end makes the pair that has the outside's addresses, and returns its nearer end.
func (w Wire) end(outside *space) (netlink.Link, error) {
	far, err := outside.labLink(labFar)
	if err != nil {
		return nil, err
	}
	if far == nil {
		if err := outside.LinkAdd(&netlink.Veth{LinkAttrs: w.attributes(labFar), PeerName: labEnd}); err != nil {
			return nil, fmt.Errorf("making %s: %w", labEnd, explain(err))
		}
		if far, err = outside.LinkByName(labFar); err != nil {
			return nil, err
		}
	}
	return far, pair{inside: outside}.up(plug{Addresses: w.Addresses})
}

// shape limits an interface to the rate, in the direction in which it sends.
func (w Wire) shape(s *space, link netlink.Link) error {
	if w.Rate == 0 {
		return nil
	}
	bytes := uint64(w.Rate) * 1000 / 8 // a second
	// So much may come at once: the clock ticks every 4 ms, and segments are put
	// together to 64 KiB.
	burst := uint32(bytes/100 + 1<<16)
	return s.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(labGroup, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       bytes,
		Buffer:     netlink.Xmittime(bytes, burst),
		Limit:      burst + uint32(bytes/50), // 20 ms wait at most
	})
}

// onHost sets the NIC up, and adds it to its bridge if it has one.
func (w Wire) onHost(host *space) error {
	nic, err := host.LinkByName(w.NIC)
	if err != nil {
		return err
	}
	if err := host.LinkSetUp(nic); err != nil {
		return fmt.Errorf("switching %s on: %w", w.NIC, err)
	}
	if w.Bridge == "" {
		return nil
	}
	bridge, err := host.madeBridge(w, w.Bridge)
	if err != nil {
		return err
	}
	if err := host.LinkSetMaster(nic, bridge); err != nil {
		return fmt.Errorf("giving %s to bridge %s: %w", w.NIC, w.Bridge, err)
	}
	return nil
}

func (w Wire) remove(host *space) error {
	if path := spacePath(w.Outside); isSpace(path) {
		outside, err := openSpace(path)
		if err != nil {
			return err
		}
		err = isOurs(outside, w.Outside)
		outside.close()
		if err != nil {
			return err
		}
	}
	for _, name := range []string{w.NIC, w.Bridge} {
		if name == "" {
			continue
		}
		link, err := host.link(name)
		if err != nil {
			return err
		}
		if link != nil && isLab(link) {
			if err := host.drop(link); err != nil {
				return err
			}
		}
	}
	return removeSpace(w.Outside)
}
