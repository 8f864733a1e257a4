package ovs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/agent/ovs"
)

const (
	dumpedFlows = `OFPST_FLOW reply (OF1.3) (xid=0x2):
 cookie=0x62657274682d716f, priority=60000,reg15=0/0x80000000,in_port=2 actions=meter:100002,set_queue:5,load:0x1->NXM_NX_REG15[31],resubmit(,0)
 cookie=0x62657274682d716f, duration=3.1s, table=0, n_packets=0, n_bytes=0, priority=60000,in_port=3 actions=set_queue:6,load:0x1->NXM_NX_REG15[31],resubmit(,0)
 cookie=0x62657274682d716f, priority=60000,in_port=4 actions=meter:7,resubmit(,0)
`
	dumpedMeters = `OFPST_METER_CONFIG reply (OF1.3) (xid=0x2):
meter=7 kbps bands=
type=drop rate=1

meter=100002 kbps burst stats bands=
type=drop rate=20000 burst_size=16000

meter=100003 kbps bands=
type=drop rate=10
`
)

func TestReadOpenFlow(t *testing.T) {
	if diff := cmp.Diff(map[int]ovs.Flow{2: {Meter: true, Queue: 5}, 3: {Queue: 6}, 4: {}},
		ovs.ParseFlows(dumpedFlows)); diff != "" {
		t.Errorf("flows -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[int]ovs.Meter{100002: {Rate: 20000, Burst: 16000}, 100003: {Rate: 10}},
		ovs.ParseMeters(dumpedMeters)); diff != "" {
		t.Errorf("meters -want +got:\n%s", diff)
	}
}

const (
	dumpedLeaves = `qdisc htb 1: root refcnt 3 r2q 10 default 0x1 direct_packets_stat 0 direct_qlen 1000
qdisc pfifo 8001: parent 1:1 limit 20p
qdisc pfifo 8002: parent 1:b limit 20p
`
	dumpedFilters = `filter protocol all pref 20010 u32 chain 0 
filter protocol all pref 20010 u32 chain 0 fh 800: ht divisor 1 
filter protocol all pref 20010 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid 1:b not_in_hw 
  match 9aa2056f/ffffffff at -8
  match 6dce0000/ffff0000 at -4
filter protocol all pref 1 u32 chain 0 fh 801::800 order 2048 key ht 801 bkt 0 *flowid 1:6 not_in_hw 
  match 00000000/ffffffff at -8
  match 00000000/ffff0000 at -4
filter protocol all pref 49152 u32 chain 0 fh 802::800 order 2048 key ht 802 bkt 0 *flowid 1:6 not_in_hw 
  match 00000000/ffffffff at -8
  match 00000000/ffff0000 at -4
`
)

func TestReadClasses(t *testing.T) {
	want := map[int]ovs.Class{0: {Limit: 20}, 10: {MAC: "9a:a2:05:6f:6d:ce", Limit: 20}}
	if diff := cmp.Diff(want, ovs.ParseClasses(dumpedLeaves, dumpedFilters)); diff != "" {
		t.Errorf("classes -want +got:\n%s", diff)
	}
}

// Any text is read; nothing is negative, and no meter is another's.
func FuzzReadOpenFlow(f *testing.F) {
	f.Add(dumpedFlows)
	f.Add(dumpedMeters)
	f.Add(dumpedLeaves + dumpedFilters)
	f.Add("meter=99999999999999999999 rate=1\n,in_port=65536 actions=set_queue:")
	f.Fuzz(func(t *testing.T, text string) {
		for port, flow := range ovs.ParseFlows(text) {
			if port < 0 || flow.Queue < 0 {
				t.Errorf("port %d has %+v", port, flow)
			}
		}
		for n, c := range ovs.ParseClasses(text, text) {
			if n < 0 || n > 255 || c.Limit < 0 || c.MAC != "" && len(c.MAC) != 17 {
				t.Errorf("class %d has %+v", n, c)
			}
		}
		for n, m := range ovs.ParseMeters(text) {
			if n <= 100000 || n > 165535 || m.Rate < 0 || m.Burst < 0 {
				t.Errorf("meter %d has %+v", n, m)
			}
		}
	})
}
