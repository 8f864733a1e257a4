package tc_test

import (
	"fmt"
	"testing"

	"github.com/berthcloud/berth/agent/tc"
	"github.com/berthcloud/berth/internal/traffictest"
)

// A lab is a host with two servers and a NIC, and what is at the other end of
// the NIC's wire. Each is a network namespace:
//
//	quiet ──tap0─┐
//	             bridge ──nic════wire── outside
//	loud ───tap1─┘
type lab struct {
	host, quiet, loud, outside string
	kernel                     *tc.Linux
}

// The lab's addresses, and where iperf3 listens outside.
const (
	outsideIP           = "192.0.2.1"
	quietPort, loudPort = 5201, 5202
)

func newLab(t *testing.T) *lab {
	t.Helper()
	needKernel(t, "iperf3")
	l := &lab{
		host: namespace(t, "host"), quiet: namespace(t, "quiet"),
		loud: namespace(t, "loud"), outside: namespace(t, "outside"),
	}
	traffictest.Run(t, "ip", "-n", l.host, "link", "add", "bridge", "type", "bridge")
	traffictest.Run(t, "ip", "-n", l.host, "link", "set", "bridge", "up")
	for i, end := range []struct{ host, ns string }{{"nic", l.outside}, {"tap0", l.quiet}, {"tap1", l.loud}} {
		traffictest.Run(t, "ip", "-n", l.host, "link", "add", end.host, "type", "veth",
			"peer", "name", "eth0", "address", mac(byte(i)).String(), "netns", end.ns)
		traffictest.Run(t, "ip", "-n", l.host, "link", "set", end.host, "master", "bridge", "up")
		traffictest.Run(t, "ip", "-n", end.ns, "address", "add", fmt.Sprintf("192.0.2.%d/24", i+1), "dev", "eth0")
		traffictest.Run(t, "ip", "-n", end.ns, "link", "set", "eth0", "up")
	}
	l.kernel = openIn(t, l.host)
	traffictest.Serve(t, l.outside, quietPort)
	traffictest.Serve(t, l.outside, loudPort)
	return l
}

// TestGuaranteeHolds lets a server with one connection keep its guarantee
// against another server with many, in both directions, and use more when that one is
// done. Other load of the machine may spoil an attempt.
func TestGuaranteeHolds(t *testing.T) {
	const (
		link      = 500_000 // kbit/s
		guarantee = 200_000
		tries     = 3
	)
	for _, direction := range []tc.Direction{tc.Egress, tc.Ingress} {
		t.Run(string(direction), func(t *testing.T) {
			l := newLab(t)
			quiet := traffictest.Flow{
				Namespace: l.quiet, Server: outsideIP, Port: quietPort, Connections: 1, Download: direction == tc.Ingress,
			}
			loud := traffictest.Flow{
				Namespace: l.loud, Server: outsideIP, Port: loudPort, Connections: 16, Download: direction == tc.Ingress,
			}
			with := func(p tc.Port) {
				enforce(t, l.kernel, tc.Link{Interface: "nic", Direction: direction, Rate: link, Ports: []tc.Port{p}})
			}
			for try := 1; ; try++ {
				with(tc.Port{Key: "all", Max: link})
				without := traffictest.Measure(t, 2, quiet, loud)
				with(tc.Port{Key: "quiet", MAC: mac(1), Min: guarantee})
				together := traffictest.Measure(t, 3, quiet, loud)
				single := traffictest.Measure(t, 2, quiet)
				t.Logf("try %d: kbit/s without a guarantee %d, with it %d, alone %d", try, without, together, single)
				switch {
				case together[0] >= guarantee*95/100 && single[0] > together[0]*3/2:
					if without[0] >= guarantee*95/100 {
						t.Log("the other server sent too little for this to prove much")
					}
					return
				case try == tries:
					t.Fatalf("the server got %d kbit/s with the other one and %d without it; guaranteed are %d of %d",
						together[0], single[0], guarantee, link)
				}
			}
		})
	}
}
