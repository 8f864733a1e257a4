package trips_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/berthcloud/berth/bench/trips"
	"github.com/berthcloud/berth/internal/process"
)

// echo answers each line with itself.
func echo(t *testing.T) string {
	t.Helper()
	ln, err := process.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					fmt.Fprint(c, line)
				}
			}()
		}
	}()
	return ln.Addr().String()
}

func TestRelayCountsRoundTrips(t *testing.T) {
	ln, err := process.Listen()
	if err != nil {
		t.Fatal(err)
	}
	relay := trips.Start(ln, echo(t))
	defer relay.Close()
	for _, lines := range []int{1, 2, 5} { // a connection each
		c, err := net.Dial("tcp", relay.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		before, r := relay.Trips(), bufio.NewReader(c)
		for i := range lines {
			long := strings.Repeat("x", 100_000*i) + "\n"
			fmt.Fprint(c, long)
			if got, err := r.ReadString('\n'); got != long {
				t.Fatalf("%d bytes came back as %d, %v", len(long), len(got), err)
			}
		}
		if got := relay.Trips() - before; got != int64(lines) {
			t.Errorf("%d lines, one after the other, were %d round trips", lines, got)
		}
	}
}
