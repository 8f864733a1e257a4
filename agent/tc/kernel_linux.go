package tc

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// answerTime is how long the kernel may take to answer one request.
const answerTime = 10 * time.Second

// Linux is the running kernel's traffic control, and its VFs, over netlink.
type Linux struct {
	handle *netlink.Handle
}

// Open connects to the kernel, in the network namespace of that name (as `ip
// netns` knows it) or path, or in the caller's own if it is "". Making changes
// needs CAP_NET_ADMIN there.
func Open(namespace string) (*Linux, error) {
	h, err := open(namespace)
	if err != nil {
		return nil, fmt.Errorf("opening netlink in network namespace %q: %w", namespace, err)
	}
	if err := h.SetSocketTimeout(answerTime); err != nil {
		h.Close()
		return nil, fmt.Errorf("setting netlink's time-out: %w", err)
	}
	return &Linux{h}, nil
}

func open(namespace string) (*netlink.Handle, error) {
	if namespace == "" {
		return netlink.NewHandle(unix.NETLINK_ROUTE)
	}
	get := netns.GetFromName
	if filepath.IsAbs(namespace) {
		get = netns.GetFromPath
	}
	ns, err := get(namespace)
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	return netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
}

// Close ends the connection. What was set stays.
func (l *Linux) Close() { l.handle.Close() }

// explain describes an errno and marks those that a retry does not cure. Two of them mean that the
// kernel lacks the kind of object.
func explain(err error, kind string) error {
	absent := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP)
	switch {
	case err == nil:
		return nil
	case absent && kind != "":
		return fmt.Errorf("%w: this kernel has no %s", ErrUnsupported, kind)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: the agent needs CAP_NET_ADMIN", err)
	}
	return err
}

// isIFB reports whether a device is one that this package makes.
func isIFB(link netlink.Link) bool {
	return link.Type() == "ifb" && strings.HasPrefix(link.Attrs().Name, ifbPrefix)
}

func isUp(link netlink.Link) bool { return link.Attrs().Flags&net.FlagUp != 0 }

// handleOf is the number of a class of ours.
func handleOf(m Minor) uint32 { return netlink.MakeHandle(Major, uint16(m)) }

// leafHandle is the handle of its own queue.
func leafHandle(m Minor) uint32 { return netlink.MakeHandle(LeafMajor+uint16(m), 0) }
