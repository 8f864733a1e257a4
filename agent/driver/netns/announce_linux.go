package netns

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// passTime is how long the host's end of a pair may take to forward packets after the other end
// came up.
const passTime = time.Second

// announce broadcasts a frame from the interface of a port, so that switches learn where its MAC
// address is: the server may have been on another host. The frame is a RARP request, as QEMU sends
// it after a migration: it needs no IP address and has no answer.
func (s pair) announce(ctx context.Context, p plug) error {
	if p.Way == byBridge || p.Way == bySwitch {
		if err := s.awaitTap(ctx, p); err != nil {
			return err
		}
	}
	return s.inside.sendRARP(p.eth())
}

// awaitTap waits until the host's end of a port's pair has detected that the other end is up. Until
// then a bridge drops its frames.
func (s pair) awaitTap(ctx context.Context, p plug) error {
	ctx, cancel := context.WithTimeout(ctx, passTime)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		tap, err := s.host.LinkByName(p.tap())
		if err != nil {
			return fmt.Errorf("looking for interface %s: %w", p.tap(), err)
		}
		if tap.Attrs().OperState == netlink.OperUp {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("interface %s is not up: %w", p.tap(), ctx.Err())
		}
	}
}

func (s *space) sendRARP(name string) error {
	link, err := s.LinkByName(name)
	if err != nil {
		return err
	}
	const etherRARP = 0x8035
	addr := unix.SockaddrLinklayer{Ifindex: link.Attrs().Index, Halen: 6, Addr: [8]byte{255, 255, 255, 255, 255, 255}}
	err = apart(func() error {
		if err := netns.Set(s.ns); err != nil {
			return err
		}
		socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0) // receives nothing
		if err != nil {
			return err
		}
		defer unix.Close(socket)
		return unix.Sendto(socket, rarp(etherRARP, link.Attrs().HardwareAddr), 0, &addr)
	})
	if err != nil {
		return fmt.Errorf("announcing interface %s: %w", name, err)
	}
	return nil
}

// rarp is a frame in which an interface requests its own IP address from all others.
func rarp(kind uint16, mac net.HardwareAddr) []byte {
	const shortest = 60 // of a frame
	everybody := slices.Repeat([]byte{255}, 6)
	b := binary.BigEndian.AppendUint16(slices.Concat(everybody, mac), kind)
	b = append(b, 0, 1, 8, 0, 6, 4, 0, 3) // Ethernet, IPv4, the lengths of their addresses; a request
	b = slices.Concat(b, mac, make([]byte, 4), mac)
	return append(b, make([]byte, shortest-len(b))...)
}
