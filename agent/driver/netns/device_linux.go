package netns

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A device is the former state of a server's device, which is restored when the server gives it
// back. It is stored in the device's alias.
type device struct {
	port, name, mac string
}

const deviceMark = "berth-device"

func (d device) alias() string { return strings.Join([]string{deviceMark, d.port, d.name, d.mac}, " ") }

// deviceOf reads the alias of a device that a server has.
func deviceOf(link netlink.Link) (device, bool) {
	parts := strings.Fields(link.Attrs().Alias)
	if len(parts) != 4 || parts[0] != deviceMark || len(parts[1]) < ofPort || !interfaceName(parts[2]) {
		return device{}, false
	}
	return device{parts[1], parts[2], parts[3]}, true
}

// between is the name of a device on its way: no other interface has it, here or there.
func (d device) between() string { return "dev" + d.port[:ofPort] }

// deviceOfPort returns the device of a port, nil when it is not in the space.
func (s *space) deviceOfPort(port string) (netlink.Link, error) {
	all, err := s.LinkList()
	if err != nil {
		return nil, fmt.Errorf("listing interfaces: %w", err)
	}
	for _, link := range all {
		if d, ok := deviceOf(link); ok && d.port == port {
			return link, nil
		}
	}
	return nil, nil
}

// joinDevice moves the device at a PCI address into the server. It says where that is
// below the directory pci.
func (s pair) joinDevice(p plug, pci string) error {
	eth, err := s.inside.deviceOfPort(p.Port)
	if err != nil {
		return err
	}
	if eth == nil {
		if err := s.takeDevice(p, pci); err != nil {
			return err
		}
		if eth, err = s.inside.deviceOfPort(p.Port); err != nil || eth == nil {
			return errors.Join(fmt.Errorf("the device at %s did not arrive in the server", p.At), err)
		}
	}
	if eth.Attrs().Name != p.eth() {
		other, err := s.inside.link(p.eth())
		if err != nil {
			return err
		}
		if err := s.clear(other); err != nil {
			return err
		}
		if err := rename(s.inside, eth, p.eth()); err != nil {
			return err
		}
	}
	if bytes.Equal(eth.Attrs().HardwareAddr, p.hardware()) {
		return nil
	}
	if err := s.inside.LinkSetHardwareAddr(eth, p.hardware()); err != nil {
		return fmt.Errorf("giving the device at %s the address %s: %w", p.At, p.MAC, err)
	}
	return nil
}

// takeDevice moves a device from the host into the server.
func (s pair) takeDevice(p plug, pci string) error {
	link, err := s.host.deviceOfPort(p.Port) // on its way already
	if err != nil {
		return err
	}
	if link == nil {
		if link, err = s.host.deviceAt(pci, p.At); err != nil {
			return err
		}
		if other, ok := deviceOf(link); ok {
			return fmt.Errorf("the device at %s is that of port %s", p.At, other.port)
		}
		d := device{p.Port, link.Attrs().Name, cmp.Or(link.Attrs().HardwareAddr.String(), "-")}
		if err := s.host.LinkSetAlias(link, d.alias()); err != nil {
			return fmt.Errorf("marking the device at %s: %w", p.At, err)
		}
	}
	if err := s.host.notifyPF(pci, p); err != nil {
		return err
	}
	if err := rename(s.host, link, device{port: p.Port}.between()); err != nil {
		return err
	}
	if err := s.host.LinkSetNsFd(link, int(s.inside.ns)); err != nil {
		return fmt.Errorf("moving the device at %s into the server: %w", p.At, err)
	}
	return nil
}

// rename changes the name of an interface, which has to be down for it.
func rename(s *space, link netlink.Link, name string) error {
	if link.Attrs().Name == name {
		return nil
	}
	err := s.LinkSetDown(link)
	if err == nil {
		err = s.LinkSetName(link, name)
	}
	if err != nil {
		return fmt.Errorf("renaming interface %s to %s: %w", link.Attrs().Name, name, err)
	}
	return nil
}

// deviceAt finds the network device at a PCI address.
func (s *space) deviceAt(pci, slot string) (netlink.Link, error) {
	names, err := filepath.Glob(filepath.Join(pci, slot, "net", "*"))
	if err != nil {
		return nil, err
	}
	if len(names) != 1 {
		return nil, fmt.Errorf("there is not one network device at %s but %d", slot, len(names))
	}
	link, err := s.link(filepath.Base(names[0]))
	if err == nil && link == nil {
		err = fmt.Errorf("the network device %s at %s is not on the host", filepath.Base(names[0]), slot)
	}
	return link, err
}

// notifyPF sets the MAC address of a virtual function at its physical function: many cards drop
// frames with any other. It does nothing with a driver that does not support that.
func (s *space) notifyPF(pci string, p plug) error {
	name, number, ok := pfOf(filepath.Join(pci, p.At))
	if !ok {
		return nil
	}
	link, err := s.link(name)
	if err != nil || link == nil {
		return err
	}
	err = s.LinkSetVfHardwareAddr(link, number, p.hardware())
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("setting at %s the address of its VF %d: %w", name, number, err)
	}
	return nil
}

// pfOf returns the name of a VF's physical function and its number there.
func pfOf(dir string) (name string, number int, ok bool) {
	// Both patterns are valid, which is all that an error could be about.
	names, _ := filepath.Glob(filepath.Join(dir, "physfn", "net", "*"))
	links, _ := filepath.Glob(filepath.Join(dir, "physfn", "virtfn*"))
	if len(names) != 1 {
		return "", 0, false
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || filepath.Base(target) != filepath.Base(dir) {
			continue
		}
		number, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(link), "virtfn"))
		return filepath.Base(names[0]), number, err == nil
	}
	return "", 0, false
}

// giveBack moves a device of a server back to the host and makes it what it was there.
func (s pair) giveBack(link netlink.Link) error {
	d, ok := deviceOf(link)
	if !ok {
		return fmt.Errorf("interface %s is no device of the host", link.Attrs().Name)
	}
	if err := rename(s.inside, link, d.between()); err != nil {
		return err
	}
	if err := s.inside.LinkSetNsFd(link, int(s.host.ns)); err != nil {
		return fmt.Errorf("moving the device %s back to the host: %w", d.name, err)
	}
	return s.restore(d.port)
}

// restore makes a device that is back on the host, if it is, what it was there.
func (s pair) restore(port string) error {
	link, err := s.host.deviceOfPort(port)
	if err != nil || link == nil {
		return err
	}
	d, _ := deviceOf(link)
	if err := s.host.LinkSetDown(link); err != nil {
		return fmt.Errorf("switching the device %s off: %w", d.name, err)
	}
	if mac, err := net.ParseMAC(d.mac); err == nil && !bytes.Equal(mac, link.Attrs().HardwareAddr) {
		if err := s.host.LinkSetHardwareAddr(link, mac); err != nil {
			return fmt.Errorf("giving the device %s back its address: %w", d.name, err)
		}
	}
	if err := rename(s.host, link, d.name); err != nil {
		return err
	}
	if err := s.host.LinkSetAlias(link, ""); err != nil {
		return fmt.Errorf("taking the mark from the device %s: %w", d.name, err)
	}
	return nil
}

// partDevice gives the device of a port back, wherever it is on its way.
func (s pair) partDevice(port string) error {
	if s.inside != nil {
		link, err := s.inside.deviceOfPort(port)
		if err != nil {
			return err
		}
		if link != nil {
			return s.giveBack(link)
		}
	}
	return s.restore(port)
}
