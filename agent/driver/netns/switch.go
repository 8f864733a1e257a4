package netns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berthcloud/berth/agent/ovsdb"
)

const (
	// switchTime is how long Open vSwitch may take to act upon a new interface.
	switchTime = 10 * time.Second
	// lookAgain is the interval of checking whether it has.
	lookAgain = 20 * time.Millisecond
)

// rows are the rows of Open vSwitch that are needed to plug something in or out.
type rows struct {
	bridges, ports, interfaces []ovsdb.Row
}

func (s *Switch) read(ctx context.Context) (*rows, error) {
	results, err := s.DB.Transact(ctx,
		ovsdb.Select("Bridge", []string{"_uuid", "name", "ports", "datapath_type"}),
		ovsdb.Select("Port", []string{"_uuid", "interfaces"}),
		ovsdb.Select("Interface", []string{"_uuid", "name", "external_ids"}),
	)
	if err != nil {
		return nil, fmt.Errorf("reading the switch's database: %w", err)
	}
	return &rows{results[0].Rows, results[1].Rows, results[2].Rows}, nil
}

func uuid(row ovsdb.Row) ovsdb.UUID { return ovsdb.Value[ovsdb.UUID](row, "_uuid") }

// portOf returns the port that has an interface, and the bridge that has the port; "" when
// there is none.
func (r *rows) portOf(iface ovsdb.UUID) (port, bridge ovsdb.UUID, name string) {
	for _, row := range r.ports {
		if !slices.Contains(ovsdb.Values[ovsdb.UUID](row, "interfaces"), iface) {
			continue
		}
		for _, b := range r.bridges {
			if slices.Contains(ovsdb.Values[ovsdb.UUID](b, "ports"), uuid(row)) {
				return uuid(row), uuid(b), ovsdb.Value[string](b, "name")
			}
		}
	}
	return "", "", ""
}

// ids are the external_ids of a server's port, by the convention of all programs that plug ports
// in.
func ids(server string, p plug) map[string]string {
	return map[string]string{"iface-id": p.Port, "iface-status": "active", "attached-mac": p.MAC, "vm-uuid": server}
}

// plugIn gives the host's end of a port to its bridge, and waits until the switch has it.
// It says whether packets go through userspace there.
func (s *Switch) plugIn(ctx context.Context, server string, p plug) (userspace bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, switchTime)
	defer cancel()
	r, err := s.read(ctx)
	if err != nil {
		return false, err
	}
	bridge := r.bridge(p.At)
	if bridge == nil {
		return false, fmt.Errorf("the switch has no bridge %s", p.At)
	}
	ops, err := r.plugging(server, p, uuid(bridge))
	if err != nil {
		return false, err
	}
	if _, err := s.DB.Transact(ctx, ops...); err != nil {
		return false, fmt.Errorf("plugging %s into %s: %w", p.tap(), p.At, err)
	}
	return ovsdb.Value[string](bridge, "datapath_type") == "netdev", s.await(ctx, p)
}

// bridge returns the bridge of a name, nil when there is none.
func (r *rows) bridge(name string) ovsdb.Row {
	for _, row := range r.bridges {
		if ovsdb.Value[string](row, "name") == name {
			return row
		}
	}
	return nil
}

// plugging is what changes the database so that a port is plugged into a bridge.
func (r *rows) plugging(server string, p plug, bridge ovsdb.UUID) (ops []ovsdb.Operation, err error) {
	external := ovsdb.MapOf(ids(server, p))
	for _, row := range r.interfaces {
		if ovsdb.Value[string](row, "name") != p.tap() {
			continue
		}
		port, bridge, name := r.portOf(uuid(row))
		switch other := ovsdb.Pairs[string, string](row, "external_ids")["iface-id"]; {
		case other != p.Port:
			return nil, fmt.Errorf("the switch has an interface %s of another port, %q", p.tap(), other)
		case name == p.At:
			return []ovsdb.Operation{
				ovsdb.Update("Interface", ovsdb.Row{"external_ids": external}, ovsdb.Is("_uuid", uuid(row))),
			}, nil
		case port != "":
			ops = append(ops, without(bridge, port))
		}
	}
	return append(
		ops,
		ovsdb.Insert("Interface", ovsdb.Row{"name": p.tap(), "external_ids": external}, "interface"),
		ovsdb.Insert("Port", ovsdb.Row{"name": p.tap(), "interfaces": ovsdb.Named("interface")}, "port"),
		ovsdb.Mutate("Bridge", []ovsdb.Mutation{
			{Column: "ports", Mutator: "insert", Value: ovsdb.SetOf(ovsdb.Named("port"))},
		},
			ovsdb.Is("_uuid", bridge)),
	), nil
}

// without removes a port from a bridge. The server deletes a row without references by itself.
func without(bridge, port ovsdb.UUID) ovsdb.Operation {
	return ovsdb.Mutate("Bridge", []ovsdb.Mutation{{Column: "ports", Mutator: "delete", Value: ovsdb.SetOf(port)}},
		ovsdb.Is("_uuid", bridge))
}

// await waits until the switch has an interface or says why it cannot have it.
func (s *Switch) await(ctx context.Context, p plug) error {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	var problem error
	for {
		results, err := s.DB.Transact(ctx, ovsdb.Select("Interface", []string{"ofport", "error"}, ovsdb.Is("name", p.tap())))
		switch {
		case ctx.Err() != nil:
			return errors.Join(fmt.Errorf("the switch did not take %s up: %w", p.tap(), ctx.Err()), problem)
		case err != nil:
			return fmt.Errorf("looking for %s in the switch's database: %w", p.tap(), err)
		case len(results[0].Rows) == 0:
			return fmt.Errorf("another program has removed %s from Open vSwitch", p.tap())
		}
		row := results[0].Rows[0]
		if ovsdb.Value[int64](row, "ofport") > 0 {
			return nil
		}
		// It may be about an interface of the same name that was there before.
		if text := ovsdb.Value[string](row, "error"); text != "" {
			problem = errors.New(text)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// pullOut takes a server's port, or all that it has for "", from the switch.
func (s *Switch) pullOut(ctx context.Context, server, port string) error {
	ctx, cancel := context.WithTimeout(ctx, switchTime)
	defer cancel()
	r, err := s.read(ctx)
	if err != nil {
		return err
	}
	var ops []ovsdb.Operation
	for _, row := range r.interfaces {
		ids := ovsdb.Pairs[string, string](row, "external_ids")
		if ids["vm-uuid"] != server || port != "" && ids["iface-id"] != port {
			continue
		}
		if port, bridge, _ := r.portOf(uuid(row)); port != "" {
			ops = append(ops, without(bridge, port))
		}
	}
	if len(ops) == 0 {
		return nil
	}
	if _, err := s.DB.Transact(ctx, ops...); err != nil {
		return fmt.Errorf("taking ports of server %s from the switch: %w", server, err)
	}
	return nil
}
