package service_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/sweep"
)

// A question is a cloud, and what is done to it, line by line. These make the cloud:
//
//	host cn1 ovs br0:physnet0:10000:10000 [any=500] [hypervisor=NAME]
//	                                  an agent with devices (egress, ingress) and packet rates, which
//	                                  are below another root than the host's with a hypervisor
//	net net0 vlan:physnet0 [vxlan …]  a network of segments
//	policy gold bw:egress=1000 pkt:any=5 limit:egress=9000
//	port p net0 [policy=gold] [vnic=direct] [owner=compute:nova] [server=s]
//	trunk PARENT SUBPORT                              ports on a wire
//
// and these change something, which is in the answer:
//
//	boot p cn1 bw=br0 [pkt=agent]     compute claims what p requests from these providers, and
//	                                  binds it
//	bind p cn1 [bw=br0] [pkt=agent] [old=br0] [other=br0] [raw=7] [more=switchdev]
//	                                  the same without the claim; or with an allocation of another
//	                                  form
//	set p policy=gold [host=…] [vnic=…] [owner=…] [server=…] [profile=none]
//	set net0 policy=gold              "none" for none
//	rule gold add bw:egress=5         or change, or remove
//	delete p                          or a policy
//	allocate s cn1/br0 EGR=5          the allocations of a server are changed; "allocate s" for none
//	rivals 9                          so many of the next writes to placement come too late
//	silent cn1                        its agents are dead
//	beat cn1 ovs [start] br0:physnet0:10000:10000 [raw=7]
//	                                  an agent reports, and it is said whether it is brought into
//	                                  placement now
//	synced cn1 ovs ok                 how that ended, or why not
//	forget cn1 ovs                    the record of the agent is deleted
//
// The answer to a line is what has changed: ports, and the allocations of servers.
func TestScenarios(t *testing.T) {
	for _, file := range golden.Files(t, "testdata/*.txt") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			golden.Answer(t, file, func(t *testing.T, question []string) []string {
				t.Helper()
				return newFixture(t).play(question)
			})
		})
	}
}

// What a scenario does last may end anywhere, with the process or with placement. Once they are
// back, everything is as it was before, or as it is when nothing ends. A sample has every second
// question.
func TestScenariosSurviveTheEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	for _, file := range golden.Files(t, "testdata/*.txt") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			first, step := sweep.Every(t, 4)
			n := 0
			golden.Answer(t, file, func(t *testing.T, question []string) []string {
				t.Helper()
				if n++; racetest.Enabled && n%10 == 1 || !racetest.Enabled && n%step == first {
					endEverywhere(t, question)
				}
				return newFixture(t).play(question)
			})
		})
	}
}

// endEverywhere plays a question with an end at each step of its last line.
func endEverywhere(t *testing.T, question []string) {
	t.Helper()
	first, last := question[:len(question)-1], question[len(question)-1]
	w := newFixture(t)
	w.play(first)
	before, rivals := w.state(), w.placement.rivals
	w.play([]string{last})
	updates, calls, writes := w.store.updates, w.placement.calls, slices.Clone(w.placement.writes)
	if calls == 0 || strings.HasPrefix(last, "boot ") { // boot is compute's as well
		return // it is one transaction
	}
	after := w.recovered(last)
	again := func(what string, end func(*fixture)) {
		if !slices.Equal(w.state(), before) {
			w = newFixture(t)
			w.play(first)
		}
		w.placement.rivals = rivals
		end(w)
		w.play([]string{last})
		if now := w.recovered(what); !slices.Equal(now, before) && !slices.Equal(now, after) {
			t.Errorf("%s: %s: it is neither as before (-) nor as after it (+):\n%s\nbut\n%s", last, what,
				cmp.Diff(before, after), strings.Join(now, "\n"))
		}
	}
	for at := 1; at <= updates; at++ {
		again(fmt.Sprintf("the process ends with its transaction %d", at), func(w *fixture) { w.store.endAt = at })
		for _, then := range []int{2, 3} { // after what Recover notes, and after what it writes
			again(fmt.Sprintf("the process ends with its transaction %d, and the next with its %d", at, then),
				func(w *fixture) { w.store.endAt, w.store.nextAt = at, then })
		}
	}
	for at := 1; at <= calls; at++ {
		again(fmt.Sprintf("placement ends before call %d", at), func(w *fixture) { w.placement.failAt = at })
	}
	for _, at := range writes {
		again(fmt.Sprintf("placement ends after call %d", at),
			func(w *fixture) { w.placement.failAt, w.placement.afterwards = at, true })
	}
}

// recovered is the state after another process has finished what was left half done.
func (w *fixture) recovered(what string) []string {
	w.t.Helper()
	if w.store.nextAt > 0 {
		w.store.updates, w.store.endAt, w.store.nextAt = 0, w.store.nextAt, 0
		_, _ = w.service.Recover(w.t.Context(), 0) // it ends
	}
	w.store.endAt, w.placement.failAt, w.placement.afterwards, w.placement.rivals = 0, 0, false, 0
	left, err := w.service.Recover(w.t.Context(), 0)
	if err != nil || left != 0 || w.intents() != 0 {
		w.t.Errorf("%s: %d intents are left, %v", what, left, err)
	}
	return w.state()
}
