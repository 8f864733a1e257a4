package tc_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/agent/tc"
	"github.com/berthcloud/berth/agent/tc/tctest"
)

func vf(n int) tc.VF { return tc.VF{PF: "ens5", Number: n} }

// vfPort is a promise of what VF n sends.
func vfPort(n int, least, most tc.Kbps) tc.VFPort {
	return tc.VFPort{Key: "port-" + vf(n).String(), Number: n, Direction: tc.Egress, Min: least, Max: most}
}

func enforceVFs(t *testing.T, v tc.VFs, pfs ...tc.PF) tc.VFReport {
	t.Helper()
	r, err := tc.EnforceVFs(v, pfs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func reasons(findings []tc.Finding) []tc.Reason {
	var rs []tc.Reason
	for _, f := range findings {
		rs = append(rs, f.Reason)
	}
	return rs
}

func TestRatesAreRounded(t *testing.T) {
	for _, c := range []struct {
		least, most tc.Kbps
		want        tc.VFRate
	}{
		{0, 0, tc.VFRate{}},
		{1_000_000, 2_000_000, tc.VFRate{Min: 1000, Max: 2000}},
		{1, 0, tc.VFRate{Min: 1}},
		{1001, 0, tc.VFRate{Min: 2}},
		{0, 1, tc.VFRate{Max: 1}},
		{0, 1999, tc.VFRate{Max: 1}},
		{1500, 1900, tc.VFRate{Min: 2, Max: 2}},
		{3000, 2000, tc.VFRate{Min: 2, Max: 2}}, // the limit holds
		{-5, -5, tc.VFRate{}},
		{1 << 40, 1 << 40, tc.VFRate{Min: 2147484, Max: 2147484}},
	} {
		v := tctest.NewVFs("ens5", 1)
		enforceVFs(t, v, tc.PF{Interface: "ens5", Ports: []tc.VFPort{vfPort(0, c.least, c.most)}})
		if got := v.State[vf(0)]; got != c.want {
			t.Errorf("min %d max %d kbit/s became %v, want %v", c.least, c.most, got, c.want)
		}
	}
}

// TestVFsOfOthersKeepTheirRates wants the rates of released VFs to go, but not
// those of excluded VFs and other cards.
func TestVFsOfOthersKeepTheirRates(t *testing.T) {
	v := tctest.NewVFs("ens5", 4)
	other, old := tc.VF{PF: "ens6"}, tc.VFRate{Min: 5, Max: 50}
	v.State[vf(0)], v.State[vf(1)], v.State[vf(2)], v.State[other] = old, old, old, old
	pf := tc.PF{Interface: "ens5", Exclude: []int{2}, Ports: []tc.VFPort{vfPort(1, 10_000, 0), vfPort(2, 10_000, 0)}}
	r := enforceVFs(t, v, pf)
	want := map[tc.VF]tc.VFRate{vf(0): {}, vf(1): {Min: 10}, vf(2): old, vf(3): {}, other: old}
	if diff := cmp.Diff(want, v.State); diff != "" {
		t.Errorf("rates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]tc.Reason{tc.Invalid}, reasons(r.Findings)); diff != "" {
		t.Errorf("findings %v", r.Findings)
	}
	if again := enforceVFs(t, v, pf); len(again.Steps) > 0 {
		t.Errorf("a restart changed %v", again.Steps)
	}
}

// TestCardsWithLimitedGuarantees moves a guarantee between VFs of a card that
// refuses to promise more than it has, even for a moment.
func TestCardsWithLimitedGuarantees(t *testing.T) {
	v := tctest.NewVFs("ens5", 2)
	v.Total = 1000
	v.State[vf(1)] = tc.VFRate{Min: 900}
	r := enforceVFs(t, v, tc.PF{Interface: "ens5", Ports: []tc.VFPort{vfPort(0, 800_000, 0), vfPort(1, 100_000, 0)}})
	if len(r.Findings) > 0 || v.State[vf(0)].Min != 800 || v.State[vf(1)].Min != 100 {
		t.Errorf("rates %v, findings %v", v.State, r.Findings)
	}
}

func TestDriverWithoutGuarantees(t *testing.T) {
	v := tctest.NewVFs("ens5", 2)
	v.NoGuarantee = true
	pf := tc.PF{Interface: "ens5", Ports: []tc.VFPort{vfPort(0, 1000, 0), vfPort(1, 1000, 2000)}}
	for round := range 2 {
		v.Set = nil
		r := enforceVFs(t, v, pf)
		if diff := cmp.Diff([]tc.Reason{tc.Unsupported, tc.Unsupported}, reasons(r.Findings)); diff != "" {
			t.Errorf("round %d: findings %v", round, r.Findings)
		}
		if want := (tc.VFRate{Max: 2}); v.State[vf(1)] != want {
			t.Errorf("round %d: the limit is not enforced alone: %v", round, v.State)
		}
		if want := 3 - round; len(v.Set) != want {
			t.Errorf("round %d: the card got %d requests, want %d: %v", round, len(v.Set), want, v.Set)
		}
	}
}

func TestBlindRoundChangesNothing(t *testing.T) {
	v, k := tctest.NewVFs("ens5", 1), tctest.NewKernel("eth0")
	v.Blind, k.Blind = errors.New("netlink is gone"), errors.New("netlink is gone")
	if _, err := tc.EnforceVFs(v, []tc.PF{{Interface: "ens5", Ports: []tc.VFPort{vfPort(0, 1000, 0)}}}); !errors.Is(
		err, v.Blind) || len(v.Set) > 0 {
		t.Errorf("EnforceVFs gave %v and set %v", err, v.Set)
	}
	if _, err := tc.Enforce(k, nil); !errors.Is(err, k.Blind) {
		t.Errorf("Enforce gave %v", err)
	}
}

func TestDriverWithoutRates(t *testing.T) {
	v := tctest.NewVFs("ens5", 1)
	v.NoRates = true
	r := enforceVFs(t, v, tc.PF{Interface: "ens5", Ports: []tc.VFPort{vfPort(0, 1000, 2000)}})
	if len(r.Findings) != 1 || r.Findings[0].Reason != tc.Unsupported || r.Findings[0].Port != vfPort(0, 0, 0).Key {
		t.Errorf("findings %v, want one that says that the port of VF 0 is not served", r.Findings)
	}
}

func TestPromisesThatVFsCannotKeep(t *testing.T) {
	ingress := vfPort(0, 1000, 0)
	ingress.Direction = tc.Ingress
	none := tc.VFPort{Key: "none", Number: 0, Direction: tc.Ingress}
	for name, c := range map[string]struct {
		pf   tc.PF
		want []tc.Reason
		rate tc.VFRate
	}{
		"Ingress":     {tc.PF{Ports: []tc.VFPort{ingress, none}}, []tc.Reason{tc.Unsupported}, tc.VFRate{}},
		"NoSuchVF":    {tc.PF{Ports: []tc.VFPort{vfPort(7, 1000, 0)}}, []tc.Reason{tc.Missing}, tc.VFRate{}},
		"NoDirection": {tc.PF{Ports: []tc.VFPort{{Min: 1000}}}, []tc.Reason{tc.Invalid}, tc.VFRate{}},
		"TwoPorts": {
			tc.PF{Ports: []tc.VFPort{vfPort(0, 1000, 0), vfPort(0, 7000, 0)}},
			[]tc.Reason{tc.Invalid},
			tc.VFRate{Min: 1},
		},
		"MoreThanItHas": {
			tc.PF{Rate: 10_000, Ports: []tc.VFPort{vfPort(0, 9_000, 0), vfPort(1, 9_000, 0)}},
			[]tc.Reason{tc.Oversubscribed},
			tc.VFRate{Min: 5},
		},
		"AllThatItHas": {
			tc.PF{Rate: 18_000, Ports: []tc.VFPort{vfPort(0, 9_000, 0), vfPort(1, 9_000, 0)}},
			nil,
			tc.VFRate{Min: 9},
		},
		"RateNotKnown": {
			tc.PF{Rate: 0, Ports: []tc.VFPort{vfPort(0, 1<<31-1, 0), vfPort(1, 9_000, 0)}},
			nil,
			tc.VFRate{Min: 2147484},
		},
		"MoreThanAnyHas": {
			tc.PF{Rate: 1, Ports: []tc.VFPort{vfPort(0, 1<<40, 0), vfPort(1, 1<<40, 0)}},
			[]tc.Reason{tc.Oversubscribed},
			tc.VFRate{Min: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := tctest.NewVFs("ens5", 2)
			c.pf.Interface = "ens5"
			r := enforceVFs(t, v, c.pf)
			if diff := cmp.Diff(c.want, reasons(r.Findings)); diff != "" {
				t.Errorf("findings %v (-want +got):\n%s", r.Findings, diff)
			}
			if got := v.State[vf(0)]; got != c.rate {
				t.Errorf("VF 0 has %v, want %v", got, c.rate)
			}
		})
	}
}

// TestVFsConverge wants nothing to be left to do after one round, whatever was
// there.
func TestVFsConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := tctest.NewVFs("ens5", 4)
		for n := range 4 {
			v.State[vf(n)] = tc.VFRate{
				Min: rapid.IntRange(0, 9).Draw(t, "was min"), Max: rapid.IntRange(0, 9).Draw(t, "was max"),
			}
		}
		untouched := maps.Clone(v.State)
		pf := tc.PF{Interface: "ens5", Rate: kbps().Draw(t, "rate"), Exclude: []int{rapid.IntRange(0, 4).Draw(t, "exclude")}}
		for range rapid.IntRange(0, 6).Draw(t, "ports") {
			pf.Ports = append(pf.Ports, vfPort(rapid.IntRange(0, 5).Draw(t, "vf"), kbps().Draw(t, "min"), kbps().Draw(t, "max")))
		}
		if _, err := tc.EnforceVFs(v, []tc.PF{pf}); err != nil {
			t.Fatal(err)
		}
		if steps := tc.PlanVFs([]tc.PF{pf}, v.State); len(steps) > 0 {
			t.Fatalf("there is still to do: %v", steps)
		}
		for vf, prev := range untouched {
			if slices.Contains(pf.Exclude, vf.Number) && v.State[vf] != prev {
				t.Fatalf("%v is excluded, and changed", vf)
			}
		}
	})
}
