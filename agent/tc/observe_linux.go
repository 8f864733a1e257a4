package tc

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// observeTries bounds the reads of a list that changes while the kernel returns it.
const observeTries = 10

// Observe implements Kernel.
func (l *Linux) Observe() (Actual, error) {
	for range observeTries {
		actual, err := l.observe()
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			return actual, err
		}
	}
	return nil, fmt.Errorf("interfaces or qdiscs changed during each of %d readings", observeTries)
}

func (l *Linux) observe() (Actual, error) {
	links, err := l.handle.LinkList()
	if err != nil {
		return nil, fmt.Errorf("listing interfaces: %w", err)
	}
	qdiscs, err := l.handle.QdiscList(nil)
	if err != nil {
		return nil, fmt.Errorf("listing qdiscs: %w", err)
	}
	names := make(map[int]string)
	for _, link := range links {
		names[link.Attrs().Index] = link.Attrs().Name
	}
	byLink := make(map[int][]netlink.Qdisc)
	for _, q := range qdiscs {
		byLink[q.Attrs().LinkIndex] = append(byLink[q.Attrs().LinkIndex], q)
	}
	actual := make(Actual)
	for _, link := range links {
		d, err := l.device(link, byLink[link.Attrs().Index], names)
		if errors.Is(err, unix.ENODEV) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", link.Attrs().Name, err)
		}
		actual[link.Attrs().Name] = d
	}
	return actual, nil
}

func (l *Linux) device(link netlink.Link, qdiscs []netlink.Qdisc, names map[int]string) (d Device, err error) {
	d.Up = isUp(link)
	d.IFB = isIFB(link)
	if root := rootOf(qdiscs); ours(root) {
		d.Tree, err = l.tree(link, root.(*netlink.Htb), qdiscs)
	} else if root != nil {
		major, _ := netlink.MajorMinor(root.Attrs().Handle)
		d.Foreign = fmt.Sprintf("%s %x:", root.Type(), major)
	}
	if err != nil || ingressOf(qdiscs) == nil {
		return d, err
	}
	d.Redirect, err = l.redirection(link, names)
	return d, err
}

// rootOf is the configured root qdisc, nil if there is none: the kernel's default has the handle 0.
func rootOf(qdiscs []netlink.Qdisc) netlink.Qdisc {
	return find(qdiscs, func(a *netlink.QdiscAttrs) bool {
		return a.Parent == netlink.HANDLE_ROOT && a.Handle != 0
	})
}

func ours(root netlink.Qdisc) bool {
	htb, ok := root.(*netlink.Htb)
	return ok && htb.Handle == handleOf(0)
}

// ingressOf is the qdisc that sees what the interface receives, of kind ingress
// or clsact.
func ingressOf(qdiscs []netlink.Qdisc) netlink.Qdisc {
	return find(qdiscs, func(a *netlink.QdiscAttrs) bool { return a.Parent == netlink.HANDLE_INGRESS })
}

func find(qdiscs []netlink.Qdisc, match func(*netlink.QdiscAttrs) bool) netlink.Qdisc {
	i := slices.IndexFunc(qdiscs, func(q netlink.Qdisc) bool { return match(q.Attrs()) })
	if i < 0 {
		return nil
	}
	return qdiscs[i]
}

func (l *Linux) tree(link netlink.Link, root *netlink.Htb, qdiscs []netlink.Qdisc) (*Tree, error) {
	t := &Tree{Default: Minor(root.Defcls), Classes: make(map[Minor]Node)}
	classes, err := l.handle.ClassList(link, 0)
	if err != nil {
		return nil, fmt.Errorf("listing classes: %w", err)
	}
	for _, c := range classes {
		htb, ok := c.(*netlink.HtbClass)
		major, minor := netlink.MajorMinor(c.Attrs().Handle)
		if ok && major == Major {
			t.Classes[Minor(minor)] = node(htb, Minor(minor), qdiscs)
		}
	}
	filters, err := l.handle.FilterList(link, handleOf(0))
	if err != nil {
		return nil, fmt.Errorf("listing filters: %w", err)
	}
	for _, f := range filters {
		t.Filters = append(t.Filters, decodeFilter(f))
	}
	return t, nil
}

func node(c *netlink.HtbClass, minor Minor, qdiscs []netlink.Qdisc) Node {
	n := Node{Class: Class{
		Rate:      Kbps(c.Rate / bytesPerKbps),
		Ceil:      Kbps(c.Ceil / bytesPerKbps),
		Burst:     time.Duration(c.Buffer) * tick,
		CeilBurst: time.Duration(c.Cbuffer) * tick,
		Quantum:   int(c.Quantum),
	}}
	if c.Parent != netlink.HANDLE_ROOT && c.Parent != handleOf(0) {
		_, parent := netlink.MajorMinor(c.Parent)
		n.Parent = Minor(parent)
	}
	if leaf := leafOf(qdiscs, minor); leaf != nil {
		n.Leaf = leaf.Type()
	}
	return n
}

// leafOf is the queue of a class of this package's, nil if it has not its own.
func leafOf(qdiscs []netlink.Qdisc, m Minor) netlink.Qdisc {
	return find(qdiscs, func(a *netlink.QdiscAttrs) bool {
		return a.Parent == handleOf(m) && a.Handle == leafHandle(m)
	})
}
