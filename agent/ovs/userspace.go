package ovs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthcloud/berth/agent/ovsdb"
)

// A Class is what tc adds to a queue of an uplink in the userspace datapath, so
// that it is used.
type Class struct {
	MAC   string // whose packets go through it, in lower case; "" for all others
	Limit int    // packets that may wait in it
}

const (
	filterBase = 20_000 // is the preference of the filter of queue 0; the others follow
	lastClass  = 255    // so far only: tc numbers filters of others from 49152 down

	// The datapath sends all packets of an uplink from one socket, whose buffer has space for some
	// 90 of them with the kernel's default. One class that fills it stops all.
	waiting    = 64
	maxClasses = 16 // or fewer than 4 packets may wait in each
)

// class aims at classes for the queues of uplinks that are in the userspace
// datapath.
func (t *target) class(a Actual) {
	macs := make(map[string]string)
	for id, p := range plugs(a) {
		macs[id] = p.MAC
	}
	for _, device := range slices.Sorted(maps.Keys(t.qos)) {
		d := a.Devices[device]
		if !d.isUplink() || !a.Bridges[d.Bridge].Userspace {
			continue
		}
		queues := t.qos[device].Queues
		for _, n := range slices.Sorted(maps.Keys(queues)) {
			owner := queues[n].Owner
			switch {
			case len(queues) > maxClasses || n > lastClass:
				t.find(UserspaceDatapath, owner, device, fmt.Sprintf("%d queues, of which %d can be used", len(queues), maxClasses))
			case d.ClassErr != nil:
				t.find(UserspaceDatapath, owner, device, d.ClassErr.Error())
			case owner != nobody && macs[owner] == "":
				t.find(UserspaceDatapath, owner, device, "the interface has no external_ids:attached-mac")
			default:
				t.classes[entry{device, n}] = Class{macs[owner], waiting / len(queues)}
			}
		}
	}
}

func (t *target) setClasses(a Actual) (steps []Step) {
	for _, e := range changed(t.classes, func(device string) map[int]Class { return a.Devices[device].Classes }) {
		steps = append(steps, SetClass{e.place, e.number, t.classes[e]})
	}
	return steps
}

func (t *target) removeClasses(a Actual) (steps []Step) {
	for _, device := range slices.Sorted(maps.Keys(a.Devices)) {
		for _, n := range unwanted(device, a.Devices[device].Classes, t.classes) {
			steps = append(steps, RemoveClass{device, n})
		}
	}
	return steps
}

func (step SetClass) apply(ctx context.Context, s *Switch) error {
	parent := fmt.Sprintf("1:%x", step.Number+1)
	leaf := []string{
		"qdisc", "replace", "dev", step.Device, "parent", parent, "pfifo", "limit", strconv.Itoa(step.Class.Limit),
	}
	if _, err := s.tc(ctx, leaf...); err != nil {
		// ovs-vswitchd may not have created the class yet.
		if err := s.settle(ctx); err != nil {
			return err
		}
		if _, err := s.tc(ctx, leaf...); err != nil {
			return err
		}
	}
	if step.Class.MAC == "" {
		return nil
	}
	m, err := net.ParseMAC(step.Class.MAC)
	if err != nil || len(m) != 6 {
		return fmt.Errorf("the MAC address %.40q is none", step.Class.MAC)
	}
	_, _ = s.tc(ctx, step.filter("del")...) // mostly there is none
	_, err = s.tc(ctx, append(step.filter("add"), "protocol", "all", "u32",
		"match", "u32", fmt.Sprintf("0x%x", []byte(m[:4])), "0xffffffff", "at", "-8",
		"match", "u16", fmt.Sprintf("0x%x", []byte(m[4:])), "0xffff", "at", "-4", "flowid", parent)...)
	return err
}

func (step SetClass) filter(verb string) []string {
	return []string{"filter", verb, "dev", step.Device, "parent", "1:", "pref", strconv.Itoa(filterBase + step.Number)}
}

// apply removes the filters and the queue of the class. The class itself is ovs-vswitchd's, which
// cannot remove it while a filter names it.
func (step RemoveClass) apply(ctx context.Context, s *Switch) error {
	_, _ = s.tc(ctx, SetClass{Device: step.Device, Number: step.Number}.filter("del")...)
	_, _ = s.tc(ctx, "qdisc", "del", "dev", step.Device, "parent", fmt.Sprintf("1:%x", step.Number+1))
	remaining, err := s.classes(ctx, step.Device)
	if _, still := remaining[step.Number]; err == nil && still {
		err = errors.New("tc did not remove it")
	}
	return err
}

// settle waits until ovs-vswitchd has done what the database says.
func (s *Switch) settle(ctx context.Context) error {
	next := ovsdb.Mutation{Column: "next_cfg", Mutator: "+=", Value: 1}
	got, err := s.DB.Transact(ctx, ovsdb.Mutate("Open_vSwitch", []ovsdb.Mutation{next}),
		ovsdb.Select("Open_vSwitch", []string{"_uuid", "next_cfg"}))
	if err != nil {
		return err
	}
	for _, row := range got[1].Rows {
		done := ovsdb.If("cur_cfg", ">=", row["next_cfg"])
		if _, err := s.DB.Transact(ctx,
			ovsdb.Wait("Open_vSwitch", 5*time.Second, []string{"_uuid"}, []ovsdb.Row{{"_uuid": row["_uuid"]}},
				done)); err != nil {
			return fmt.Errorf("waiting for ovs-vswitchd: %w", err)
		}
	}
	return nil
}

// classes reads what tc has added to the queues of a device.
func (s *Switch) classes(ctx context.Context, device string) (map[int]Class, error) {
	leaves, err := s.tc(ctx, "qdisc", "show", "dev", device)
	if err != nil {
		return nil, err
	}
	filters, err := s.tc(ctx, "filter", "show", "dev", device, "parent", "1:")
	return parseClasses(leaves, filters), err
}

func (s *Switch) tc(ctx context.Context, args ...string) (string, error) {
	return s.run(ctx, cmp.Or(s.TC, "tc"), args...)
}

var (
	leaf       = regexp.MustCompile(`^qdisc pfifo \S+ parent 1:([0-9a-f]+) limit (\d+)p`)
	preference = regexp.MustCompile(`^filter .*pref (\d+) `)
	matchMAC   = regexp.MustCompile(`^\s*match ([0-9a-f]{8})/(ffffffff at -8|ffff0000 at -4)`)
)

func parseClasses(leaves, filters string) map[int]Class {
	classes := make(map[int]Class)
	for _, line := range strings.Split(leaves, "\n") {
		if m := leaf.FindStringSubmatch(line); m != nil {
			if n, err := strconv.ParseUint(m[1], 16, 16); err == nil && n > 0 && n <= lastClass+1 {
				classes[int(n)-1] = Class{Limit: figure(leaf, line, 2)}
			}
		}
	}
	number, digits := 0, ""
	for _, line := range strings.Split(filters, "\n") {
		if p := figure(preference, line, 1); p != 0 {
			number, digits = p-filterBase, ""
		}
		m := matchMAC.FindStringSubmatch(line)
		if m == nil || number < 0 || number > lastClass {
			continue
		}
		if digits += m[1]; len(digits) == 16 {
			c := classes[number]
			c.MAC = colons(digits[:12])
			classes[number] = c
		}
	}
	return classes
}

// colons writes twelve digits as a MAC address.
func colons(digits string) string {
	var pairs []string
	for i := 0; i < len(digits); i += 2 {
		pairs = append(pairs, digits[i:i+2])
	}
	return strings.Join(pairs, ":")
}
