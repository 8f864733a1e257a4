package tc

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ingressParent is where filters for received packets hang, in a qdisc of kind
// ingress as well as in a clsact.
const ingressParent = netlink.HANDLE_MIN_INGRESS

// ifbQueue is the length, in packets, of the queues of an IFB if the kernel has no fq_codel. Its
// own default of 32 is too short to fill a fast link.
const ifbQueue = 1000

func (l *Linux) addIFB(name string) error {
	link, err := l.handle.LinkByName(name)
	var missing netlink.LinkNotFoundError
	if errors.As(err, &missing) {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.TxQLen = name, ifbQueue
		link = &netlink.Ifb{LinkAttrs: attrs}
		err = l.handle.LinkAdd(link)
	}
	if err != nil {
		return explain(err, "IFB devices (ifb)")
	}
	if !isIFB(link) {
		return fmt.Errorf("%s is a %s, not an IFB: rename it", name, link.Type())
	}
	return explain(l.handle.LinkSetUp(link), "")
}

// delIFB keeps the device as long as an interface is redirected to it, which would receive nothing
// any more.
func (l *Linux) delIFB(link netlink.Link) error {
	if !isIFB(link) {
		return fmt.Errorf("it is a %s, not an IFB of this agent", link.Type())
	}
	actual, err := l.Observe()
	if err != nil {
		return err
	}
	for name, d := range actual {
		if d.Redirect == link.Attrs().Name {
			return fmt.Errorf("what %s receives is still led to it", name)
		}
	}
	return explain(l.handle.LinkDel(link), "")
}

func (l *Linux) setRedirect(link netlink.Link, dst string) error {
	target, err := l.handle.LinkByName(dst)
	if err != nil {
		return fmt.Errorf("looking up %s: %w", dst, err)
	}
	if !isUp(target) {
		return fmt.Errorf("%s is down and would swallow all packets", dst)
	}
	filters, err := l.ready(link)
	if err != nil {
		return err
	}
	if len(filters) == 1 && redirectTarget(filters[0]) == target.Attrs().Index {
		return nil
	}
	if err := l.removeFilters(link, ingressParent, RedirectPref, filters); err != nil {
		return err
	}
	return explain(l.handle.FilterAdd(&netlink.U32{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: link.Attrs().Index, Parent: ingressParent, Priority: RedirectPref, Protocol: unix.ETH_P_ALL,
		},
		Actions: []netlink.Action{netlink.NewMirredAction(target.Attrs().Index)},
	}), "u32 classifier or mirred action (cls_u32, act_mirred)")
}

// ready makes sure of a qdisc for what the interface receives, and gives the
// redirections in it.
func (l *Linux) ready(link netlink.Link) ([]netlink.Filter, error) {
	ingress, err := l.ingress(link)
	if err != nil {
		return nil, err
	}
	if ingress != nil {
		return l.filters(link, ingressParent, RedirectPref)
	}
	attrs := netlink.QdiscAttrs{
		LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_INGRESS, Handle: netlink.MakeHandle(0xffff, 0),
	}
	return nil, explain(l.handle.QdiscAdd(&netlink.Ingress{QdiscAttrs: attrs}), "ingress qdisc (sch_ingress)")
}

func (l *Linux) ingress(link netlink.Link) (netlink.Qdisc, error) {
	qdiscs, err := l.handle.QdiscList(link)
	if err != nil {
		return nil, fmt.Errorf("listing qdiscs: %w", err)
	}
	return ingressOf(qdiscs), nil
}

// delRedirect removes the filter, and with it an ingress qdisc in which there is
// nothing else. A clsact is never of this package's making.
func (l *Linux) delRedirect(link netlink.Link) error {
	ingress, err := l.ingress(link)
	if err != nil || ingress == nil {
		return err
	}
	all, err := l.handle.FilterList(link, ingressParent)
	if err != nil {
		return fmt.Errorf("listing filters: %w", err)
	}
	mine, err := l.filters(link, ingressParent, RedirectPref)
	if err != nil {
		return err
	}
	if len(mine) > 0 && len(mine) == len(all) && ingress.Type() == "ingress" {
		return explain(l.handle.QdiscDel(ingress), "")
	}
	return l.removeFilters(link, ingressParent, RedirectPref, mine)
}

// redirection names the device to which this package's filter leads.
func (l *Linux) redirection(link netlink.Link, names map[int]string) (string, error) {
	mine, err := l.filters(link, ingressParent, RedirectPref)
	if err != nil || len(mine) == 0 {
		return "", err
	}
	if name := names[redirectTarget(mine[0])]; len(mine) == 1 && name != "" {
		return name, nil
	}
	return Nowhere, nil
}

// redirectTarget is the index of the device to which a filter leads, 0 for none.
func redirectTarget(f netlink.Filter) int {
	u32, ok := f.(*netlink.U32)
	if !ok || len(u32.Actions) != 1 {
		return 0
	}
	mirred, ok := u32.Actions[0].(*netlink.MirredAction)
	if !ok || mirred.MirredAction != netlink.TCA_EGRESS_REDIR {
		return 0
	}
	return mirred.Ifindex
}
