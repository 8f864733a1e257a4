package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/vishvananda/netlink"
)

// labGroup marks the interfaces of a lab: it is the group that they are created in.
const labGroup = 0xbe70

// labEnd is the bridge outside in which the wires of all hosts meet.
const labEnd = "eth0"

// A line is the part of a wire that is outside, of one host. Its fields are names of interfaces.
type line struct{ wire, bridge, far, port string }

func lineOf(host int) line {
	n := strconv.Itoa(host)
	return line{"wire" + n, "line" + n, "far" + n, "port" + n}
}

// Make makes what is not there yet. What has one of the names and is not a lab's is an
// error.
func (l *Lab) Make(ctx context.Context) error {
	if err := l.check(); err != nil {
		return err
	}
	if err := shareSpaces(); err != nil {
		return err
	}
	for n, name := range l.Hosts {
		if err := l.makeHost(ctx, n, name); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) makeHost(ctx context.Context, n int, name string) error {
	if l.Own {
		s, err := openLab(name)
		if err != nil {
			return err
		}
		s.close()
	}
	host, err := openSpace(hostPath(name))
	if err != nil {
		return err
	}
	defer host.close()
	for _, w := range l.Wires {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.make(host, lineOf(n)); err != nil {
			return fmt.Errorf("the lab's wire from %s to %s: %w", w.NIC, w.Outside, err)
		}
	}
	return nil
}

// hostPath is the path of a host's namespace, "" for that of this process.
func hostPath(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return spacePath(name)
}

// Remove removes every part of the lab that exists, and nothing else. It goes on after a part that
// cannot be removed.
func (l *Lab) Remove(ctx context.Context) error {
	if err := l.check(); err != nil {
		return err
	}
	var errs []error
	for _, name := range l.Hosts {
		if err := ctx.Err(); err != nil {
			return err
		}
		errs = append(errs, l.removeHost(name))
	}
	for _, w := range l.Wires {
		errs = append(errs, removeLab(w.Outside))
	}
	return errors.Join(errs...)
}

// removeHost removes the NICs and bridges of a host, and its namespace if that is the lab's.
func (l *Lab) removeHost(name string) error {
	path := hostPath(name)
	if l.Own && !isSpace(path) {
		return removeSpace(name) // it may have been about to be one
	}
	host, err := openSpace(path)
	if err != nil {
		return err
	}
	defer host.close()
	if l.Own {
		if err := isOurs(host, name); err != nil {
			return err
		}
	}
	for _, w := range l.Wires {
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
	}
	if !l.Own {
		return nil
	}
	return removeSpace(name)
}

// removeLab removes a namespace, which must be a lab's if there is one.
func removeLab(name string) error {
	if path := spacePath(name); isSpace(path) {
		s, err := openSpace(path)
		if err != nil {
			return err
		}
		err = isOurs(s, name)
		s.close()
		if err != nil {
			return err
		}
	}
	return removeSpace(name)
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

// make makes the wire of one host.
func (w Wire) make(host *space, line line) error {
	nic, err := host.labLink(w.NIC)
	if err != nil {
		return err
	}
	outside, err := openLab(w.Outside)
	if err != nil {
		return err
	}
	defer outside.close()
	// The mark comes first: a wire has none at this end.
	end, err := outside.madeBridge(w, labEnd)
	if err != nil {
		return err
	}
	if err := (pair{inside: outside}).up(plug{Addresses: w.Addresses}); err != nil {
		return err
	}
	if err := w.joinOutside(host, outside, nic, line); err != nil {
		return err
	}
	bridge, err := outside.madeBridge(w, line.bridge)
	if err != nil {
		return err
	}
	// Else it would answer for the addresses beyond it, and be a way past the rate.
	if err := outside.LinkSetARPOff(bridge); err != nil {
		return fmt.Errorf("interface %s: %w", line.bridge, err)
	}
	if err := w.joinEnd(outside, line); err != nil {
		return err
	}
	for name, master := range map[string]netlink.Link{line.wire: bridge, line.far: bridge, line.port: end} {
		link, err := outside.LinkByName(name)
		if err == nil {
			err = outside.LinkSetMaster(link, master)
		}
		if err == nil {
			err = outside.LinkSetUp(link)
		}
		if err == nil && name != line.port {
			err = w.shape(outside, link)
		}
		if err != nil {
			return fmt.Errorf("interface %s: %w", name, explain(err))
		}
	}
	return w.onHost(host)
}

// openLab opens a namespace of a lab, and creates it if necessary.
func openLab(name string) (*space, error) {
	path := spacePath(name)
	exists := isSpace(path)
	if err := makeSpace(name); err != nil {
		return nil, err
	}
	s, err := openSpace(path)
	if err != nil {
		return nil, err
	}
	if exists {
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

// joinOutside makes the pair of the NIC and the wire, unless it leads there already.
func (w Wire) joinOutside(host, outside *space, nic netlink.Link, line line) error {
	wire, err := outside.link(line.wire)
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
	err = host.LinkAdd(&netlink.Veth{
		LinkAttrs: w.attributes(w.NIC), PeerName: line.wire, PeerNamespace: netlink.NsFd(outside.ns),
	})
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

// joinEnd makes the pair that leads from a line to where all lines meet.
func (w Wire) joinEnd(outside *space, line line) error {
	far, err := outside.labLink(line.far)
	if err != nil || far != nil {
		return err
	}
	if err := outside.LinkAdd(&netlink.Veth{LinkAttrs: w.attributes(line.far), PeerName: line.port}); err != nil {
		return fmt.Errorf("making %s: %w", line.far, explain(err))
	}
	return nil
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
		QdiscAttrs: netlink.QdiscAttrs{
			LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(labGroup, 0), Parent: netlink.HANDLE_ROOT,
		},
		Rate:   bytes,
		Buffer: netlink.Xmittime(bytes, burst),
		Limit:  burst + uint32(bytes/50), // 20 ms wait at most
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
