package tc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Do implements Kernel.
func (l *Linux) Do(s Step) error {
	if s.Op == AddIFB {
		return l.addIFB(s.Device)
	}
	link, err := l.handle.LinkByName(s.Device)
	if err != nil {
		return l.missing(s, err)
	}
	switch s.Op {
	case DelIFB:
		return l.delIFB(link)
	case SetRoot:
		return l.setRoot(link)
	case DelRoot:
		return l.delRoot(link)
	case SetClass:
		return l.setClass(link, s.Minor, s.Class)
	case DelClass:
		return l.delClass(link, s.Minor)
	case SetLeaf:
		return l.setLeaf(link, s.Minor)
	case SetFilter:
		return l.setFilter(link, s.Filter)
	case DelFilter:
		return l.delFilter(link, s.Filter.Pref)
	case SetRedirect:
		return l.setRedirect(link, s.To)
	case DelRedirect:
		return l.delRedirect(link)
	}
	return fmt.Errorf("%q is no step", s.Op)
}

// missing is the result of a step without its device: a removal has succeeded then.
func (l *Linux) missing(s Step, err error) error {
	var missing netlink.LinkNotFoundError
	removes := []Op{DelIFB, DelRoot, DelClass, DelFilter, DelRedirect}
	if errors.As(err, &missing) && slices.Contains(removes, s.Op) {
		return nil
	}
	return err
}

func (l *Linux) setRoot(link netlink.Link) error {
	root, err := l.root(link)
	if err != nil || ours(root) {
		return err
	}
	if root != nil {
		return fmt.Errorf("there is a root qdisc %s already, which is not this agent's", root.Type())
	}
	htb := netlink.NewHtb(netlink.QdiscAttrs{
		LinkIndex: link.Attrs().Index, Handle: handleOf(0), Parent: netlink.HANDLE_ROOT,
	})
	htb.Defcls = uint32(RestMinor)
	return explain(l.handle.QdiscAdd(htb), "HTB (sch_htb)")
}

func (l *Linux) delRoot(link netlink.Link) error {
	root, err := l.root(link)
	if err != nil || !ours(root) {
		return err
	}
	return explain(l.handle.QdiscDel(root), "")
}

func (l *Linux) root(link netlink.Link) (netlink.Qdisc, error) {
	qdiscs, err := l.handle.QdiscList(link)
	if err != nil {
		return nil, fmt.Errorf("listing qdiscs: %w", err)
	}
	return rootOf(qdiscs), nil
}

// tended gives the qdiscs of the link, or says that its root is not this
// package's any more, so that nothing may be done below it.
func (l *Linux) tended(link netlink.Link) ([]netlink.Qdisc, error) {
	qdiscs, err := l.handle.QdiscList(link)
	if err != nil {
		return nil, fmt.Errorf("listing qdiscs: %w", err)
	}
	if !ours(rootOf(qdiscs)) {
		return nil, fmt.Errorf("it has not the root qdisc %x: any more", Major)
	}
	return qdiscs, nil
}

func (l *Linux) setClass(link netlink.Link, m Minor, c Class) error {
	if _, err := l.tended(link); err != nil {
		return err
	}
	parent := handleOf(RootMinor)
	if m == RootMinor {
		parent = handleOf(0)
	}
	return explain(l.handle.ClassReplace(&netlink.HtbClass{
		ClassAttrs: netlink.ClassAttrs{LinkIndex: link.Attrs().Index, Parent: parent, Handle: handleOf(m)},
		Rate:       uint64(c.Rate) * bytesPerKbps,
		Ceil:       uint64(c.Ceil) * bytesPerKbps,
		Buffer:     uint32(c.Burst / tick),
		Cbuffer:    uint32(c.CeilBurst / tick),
		Quantum:    uint32(c.Quantum),
	}), "")
}

func (l *Linux) delClass(link netlink.Link, m Minor) error {
	root, err := l.root(link)
	if err != nil || !ours(root) {
		return err
	}
	attrs := netlink.ClassAttrs{LinkIndex: link.Attrs().Index, Handle: handleOf(m)}
	err = l.handle.ClassDel(&netlink.HtbClass{ClassAttrs: attrs})
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return explain(err, "")
}

// setLeaf tries the queue that should be there and then the one that every
// kernel with HTB has.
func (l *Linux) setLeaf(link netlink.Link, m Minor) error {
	qdiscs, err := l.tended(link)
	if err != nil || leafOf(qdiscs, m) != nil {
		return err
	}
	attrs := netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Parent: handleOf(m), Handle: leafHandle(m)}
	err = l.handle.QdiscReplace(netlink.NewFqCodel(attrs))
	if errors.Is(err, unix.ENOENT) {
		err = l.handle.QdiscReplace(&netlink.GenericQdisc{QdiscAttrs: attrs, QdiscType: "pfifo"})
	}
	return explain(err, "")
}

func (l *Linux) setFilter(link netlink.Link, f Filter) error {
	if _, err := l.tended(link); err != nil {
		return err
	}
	filters, err := l.filters(link, handleOf(0), f.Pref)
	if err != nil {
		return err
	}
	if len(filters) == 1 && decodeFilter(filters[0]) == f {
		return nil
	}
	if err := l.removeFilters(link, handleOf(0), f.Pref, filters); err != nil {
		return err
	}
	attrs := netlink.FilterAttrs{
		LinkIndex: link.Attrs().Index, Parent: handleOf(0), Priority: f.Pref, Protocol: unix.ETH_P_ALL,
	}
	err = l.handle.FilterAdd(f.flower(attrs))
	if errors.Is(err, unix.ENOENT) {
		err = l.handle.FilterAdd(f.u32(attrs))
	}
	return explain(err, "flower and no u32 classifier (cls_flower, cls_u32)")
}

func (l *Linux) delFilter(link netlink.Link, pref uint16) error {
	root, err := l.root(link)
	if err != nil || !ours(root) {
		return err
	}
	filters, err := l.filters(link, handleOf(0), pref)
	if err != nil {
		return err
	}
	return l.removeFilters(link, handleOf(0), pref, filters)
}

// filters gives those of a priority.
func (l *Linux) filters(link netlink.Link, parent uint32, pref uint16) ([]netlink.Filter, error) {
	all, err := l.handle.FilterList(link, parent)
	if err != nil {
		return nil, fmt.Errorf("listing filters: %w", err)
	}
	return slices.DeleteFunc(all, func(f netlink.Filter) bool { return f.Attrs().Priority != pref }), nil
}

// removeFilters frees a priority at which these filters are. Filters of one
// priority share a classifier, which stays when the last of them goes, unseen,
// and keeps others of another kind out: so it is the classifier that goes.
func (l *Linux) removeFilters(link netlink.Link, parent uint32, pref uint16, filters []netlink.Filter) error {
	for _, f := range filters {
		f.Attrs().Handle = 0
		if err := l.handle.FilterDel(f); err != nil && !errors.Is(err, unix.ENOENT) {
			return explain(err, "")
		}
	}
	attrs := netlink.FilterAttrs{LinkIndex: link.Attrs().Index, Parent: parent, Priority: pref}
	for _, empty := range []netlink.Filter{&netlink.U32{FilterAttrs: attrs}, &netlink.Flower{FilterAttrs: attrs}} {
		err := l.handle.FilterDel(empty)
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) { // none, or of the other kind
			return explain(err, "")
		}
	}
	return nil
}
