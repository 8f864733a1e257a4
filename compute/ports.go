package compute

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/guarantee"
)

// A NetworkSpec is one interface of a server: an existing port, or a network in which one is
// created.
type NetworkSpec struct {
	Port    ID `json:"port,omitempty"`
	Network ID `json:"network,omitempty"`
	// Address is the requested one in the network, "" for any.
	Address string `json:"address,omitempty"`
	Tag     string `json:"tag,omitempty"`
}

// A ServerPort is a port of a server.
type ServerPort struct {
	PortRow
	Shown Port // as the network service showed it last
}

// PortsOf returns the ports of servers in their order, by server.
func PortsOf(r Reader, servers []ServerRow) (map[ID][]ServerPort, error) {
	ids := make([]ID, len(servers))
	for i, s := range servers {
		ids[i] = s.ID
	}
	rows, err := Rows[PortRow](r, Where(ByServer, ids...))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b PortRow) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Port, b.Port))
	})
	all := map[ID][]ServerPort{}
	for _, row := range rows {
		p := ServerPort{PortRow: row}
		if err := json.Unmarshal(row.Seen, &p.Shown); err != nil {
			return nil, fmt.Errorf("reading port %s: %w", row.Port, err)
		}
		all[row.Server] = append(all[row.Server], p)
	}
	return all, nil
}

// Record notes a port as the network service showed it.
func (p *PortRow) Record(port Port) error {
	var err error
	p.Network = port.Network
	p.Seen, err = json.Marshal(port)
	return err
}

func NoPort(id ID) error { return NotFound("PortNotFound", "Port id %s could not be found.", id) }

func PortInUse(id ID) error { return Conflict("PortInUse", "Port %s is still in use.", id) }

// Allocated is the allocation of a bound port: its resource request, on the providers that its
// profile names. Without those it is empty.
func (p Port) Allocated() allocations.Amounts {
	allocated := allocations.Amounts{}
	for _, g := range p.ResourceRequest.Groups {
		provider := p.Allocation.Old
		if id, err := guarantee.ParseUUID(g.ID); err == nil && p.Allocation.Groups != nil {
			provider = p.Allocation.Groups[id]
		}
		if provider != (guarantee.UUID{}) {
			allocated = allocated.Plus(allocations.Amounts{provider.String(): g.Resources})
		}
	}
	return allocated
}

// Version returns 4 or 6, 0 for what is no address.
func (a Address) Version() int {
	ip, err := netip.ParseAddr(a.IP)
	switch {
	case err != nil:
		return 0
	case ip.Is4():
		return 4
	}
	return 6
}
