package netns_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/internal/traffictest"
)

const slot = "0000:05:10.1"

// addDevice gives a machine a device with a PCI address, which is VF 1 of nic0: an end of
// a veth pair stands for it, as its driver does not care.
func (m *machine) addDevice(name, mac string) {
	m.t.Helper()
	m.ip("link", "add", name, "address", mac, "type", "veth", "peer", "name", "card")
	m.ip("link", "set", name, "up")
	dir := filepath.Join(m.config.PCI, slot)
	pf := filepath.Join(m.config.PCI, "0000:05:00.0")
	for _, d := range []string{filepath.Join(dir, "net", name), filepath.Join(pf, "net", "nic0")} {
		m.must(os.MkdirAll(d, 0o700))
	}
	m.must(os.Symlink("../0000:05:00.0", filepath.Join(dir, "physfn")))
	m.must(os.Symlink("../"+slot, filepath.Join(pf, "virtfn1")))
}

// direct returns the nth port, with the device.
func direct(n int) hostlist.Port {
	p := port(n)
	p.VNIC, p.VIF, p.Slot = "direct", "hw_veb", slot
	return p
}

const theDevice = "eth0 veth fa:16:3e:00:00:01 up 192.0.2.1/24"

// hostHas wants an interface of the host to be as it was.
func (m *machine) hostHas(name, mac string) {
	m.t.Helper()
	got := m.ip("-d", "link", "show", "dev", name)
	if !strings.Contains(got, mac) || strings.Contains(got, "alias") {
		m.t.Errorf("the host has %s, want it with the address %s and without a mark", got, mac)
	}
}

// A server that has a device has it itself, with the port's address. It goes back as it was,
// also under a name that servers' interfaces have.
func TestDevices(t *testing.T) {
	for _, name := range []string{"ens5v1", "eth0"} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.addDevice(name, "0a:00:00:00:00:07")
			s := m.server(direct(1), port(2))
			for range 2 {
				m.must(m.driver.Build(t.Context(), s))
				m.wantState(s.ID, built(s.ID, "", direct(1), port(2)))
				m.wantInside(s.ID, theDevice, "eth1 veth fa:16:3e:00:00:02 up 192.0.2.2/24")
			}
			for range 2 {
				m.must(m.driver.Unplug(t.Context(), s.ID, direct(1).ID))
				m.hostHas(name, "0a:00:00:00:00:07")
			}
			m.must(m.driver.Plug(t.Context(), s.ID, direct(1)))
			m.wantInside(s.ID, theDevice, "eth1 veth fa:16:3e:00:00:02 up 192.0.2.2/24")
			other := m.server(direct(3))
			m.must(os.RemoveAll(filepath.Join(m.config.PCI, slot, "net", name))) // as the kernel does
			refused(t, m.driver.Build(t.Context(), other), "there is not one network device at "+slot)
			m.must(m.driver.Destroy(t.Context(), s.ID))
			m.hostHas(name, "0a:00:00:00:00:07")
		})
	}
}

// A device comes back wherever its driver was interrupted, also when the file is lost.
func TestDevicesOnTheirWay(t *testing.T) {
	const mark = "berth-device 00000001-90a7-4000-8000-000000000000 ens5v1 0a:00:00:00:00:07"
	for name, interrupt := range map[string]func(m *machine, id string){
		"Marked": func(m *machine, id string) {},
		"Between": func(m *machine, id string) {
			m.ip("link", "set", "ens5v1", "down", "name", "dev00000001-90", "address", "fa:16:3e:00:00:01")
		},
		"Inside": func(m *machine, id string) {
			m.ip("link", "set", "ens5v1", "down", "name", "dev00000001-90", "address", "fa:16:3e:00:00:01")
			m.ip("link", "set", "dev00000001-90", "netns", m.config.Prefix+id)
		},
		"FileIsLost": func(m *machine, id string) {
			m.ip("link", "set", "ens5v1", "down", "name", "eth7")
			m.ip("link", "set", "eth7", "netns", m.config.Prefix+id)
			m.must(os.Remove(m.file(id)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.addDevice("ens5v1", "0a:00:00:00:00:07")
			s := m.server()
			m.must(m.driver.Build(t.Context(), s))
			s.Ports = []hostlist.Port{direct(1)}
			text, err := os.ReadFile(m.file(s.ID))
			m.must(err)
			plug := `"plugs": [{"port": "` + direct(1).ID + `", "way": "device", "at": "` + slot + `", "mac": "` +
				direct(1).MAC + `"}]`
			half := strings.NewReplacer(`"plugs": []`, plug, `"plugs": null`, plug).Replace(string(text))
			m.must(os.WriteFile(m.file(s.ID), []byte(half), 0o600))
			m.ip("link", "set", "ens5v1", "alias", mark)
			interrupt(m, s.ID)
			m.must(m.driver.Destroy(t.Context(), s.ID))
			m.wantState(s.ID, nil)
			m.hostHas("ens5v1", "0a:00:00:00:00:07")
		})
	}
}

// A device that was on its way into a server arrives there when it is built again.
func TestDevicesGoOn(t *testing.T) {
	m := newMachine(t)
	m.addDevice("ens5v1", "0a:00:00:00:00:07")
	s := m.server(direct(1))
	m.must(m.driver.Build(t.Context(), s))
	traffictest.Run(t, "ip", "-n", m.config.Prefix+s.ID, "link", "set", "eth0", "down", "name", "dev00000001-90")
	traffictest.Run(t, "ip", "-n", m.config.Prefix+s.ID, "link", "set", "dev00000001-90", "netns", m.host)
	m.must(m.driver.Start(t.Context(), s.ID, "b"))
	m.wantInside(s.ID, theDevice)
}
