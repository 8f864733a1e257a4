package netns

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// A request is the kernel's struct ifreq with a pointer to what it is about.
type request struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [24 - unsafe.Sizeof(uintptr(0))]byte // its union is so long
}

// sendChecksums has an interface of the server send packets with their checksums. It would
// leave them to the device, which is a switch in userspace that takes packets as they are.
// Netlink knows no such thing.
func (s *space) sendChecksums(name string) error {
	value := struct{ command, on uint32 }{unix.ETHTOOL_STXCSUM, 0}
	r := request{data: unsafe.Pointer(&value)}
	copy(r.name[:unix.IFNAMSIZ-1], name)
	var pinned runtime.Pinner
	pinned.Pin(&value)
	defer pinned.Unpin()
	err := apart(func() error {
		if err := netns.Set(s.ns); err != nil {
			return err
		}
		socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(socket)
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCETHTOOL,
			uintptr(unsafe.Pointer(&r))); errno != 0 {
			return errno
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("having interface %s send checksums: %w", name, err)
	}
	return nil
}
