package tc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A VF is a virtual function of an SR-IOV card, by its physical function's
// interface and its number.
type VF struct {
	PF     string
	Number int
}

// String gives the VF as `ip link` counts it.
func (v VF) String() string { return fmt.Sprintf("%s vf %d", v.PF, v.Number) }

// A VFRate is what a card's driver keeps of a VF: rates in Mbit/s of what the VF
// sends, 0 for none. Drivers know no rates of what it receives.
type VFRate struct {
	Min, Max int
}

// A PF is a physical function whose VFs are this agent's. VFs that no port
// has lose their rates, but for those that are excluded. Of two with the same
// interface the first counts.
type PF struct {
	Interface string
	Rate      Kbps // what its VFs share; not known unless positive
	Exclude   []int
	Ports     []VFPort
}

// A VFPort is a port that has a VF, and its rates.
type VFPort struct {
	Key       string
	Number    int // of the VF
	Direction Direction
	Min, Max  Kbps // 0 for none
}

// VFs sets rates of VFs. Its methods are called by one goroutine at a time.
type VFs interface {
	// VFRates gives those of all VFs of the PFs that are there.
	VFRates(pfs []string) (map[VF]VFRate, error)

	// VFAddresses returns the MAC addresses of the same VFs.
	VFAddresses(pfs []string) (map[VF]MAC, error)

	// SetVFRate sets both. It wraps ErrUnsupported if the driver cannot do so.
	SetVFRate(VF, VFRate) error
}

// A VFStep changes the rates of one VF.
type VFStep struct {
	VF   VF
	Rate VFRate
}

// String gives the step in one line.
func (s VFStep) String() string {
	return fmt.Sprintf("%v: min %d max %d Mbit/s", s.VF, s.Rate.Min, s.Rate.Max)
}

// PlanVFs returns the steps from the actual rates of VFs to those of their ports. It is pure and
// total. Drivers count in Mbit/s: a guarantee is rounded up, a limit down, but neither to 0, which
// would be none, nor below the guarantee. VFs whose guarantees decrease come first, so that a card
// which refuses more than its capacity has enough for the others.
func PlanVFs(pfs []PF, actual map[VF]VFRate) []VFStep {
	rates := make(map[VF]VFRate)
	for _, pf := range pfs {
		due, _ := pf.rates()
		for v := range actual {
			if _, done := rates[v]; !done && v.PF == pf.Interface && !slices.Contains(pf.Exclude, v.Number) {
				rates[v] = due[v.Number]
			}
		}
	}
	var steps []VFStep
	for v, r := range rates {
		if actual[v] != r {
			steps = append(steps, VFStep{v, r})
		}
	}
	slices.SortFunc(steps, func(a, b VFStep) int {
		return cmp.Or(
			cmp.Compare(a.Rate.Min-actual[a.VF].Min, b.Rate.Min-actual[b.VF].Min),
			cmp.Compare(a.VF.PF, b.VF.PF), cmp.Compare(a.VF.Number, b.VF.Number))
	})
	return steps
}

// rates returns the rates of VFs by number, and the findings.
func (pf PF) rates() (map[int]VFRate, []Finding) {
	ports, findings := pf.accepted()
	limit := min(pf.Rate, maxKbps)
	if limit <= 0 {
		limit = maxKbps * Kbps(len(ports)+1) // not known, so never exceeded
	}
	sum := Kbps(0)
	for _, p := range ports {
		sum += p.Min
	}
	if sum > limit {
		findings = append(findings, pf.link(Egress).oversubscribed(sum, limit))
	}
	rates := make(map[int]VFRate)
	for number, p := range ports {
		rates[number] = vfRate(p, sum, limit)
	}
	return rates, findings
}

// accepted gives the ports whose VF gets rates, by its number.
func (pf PF) accepted() (map[int]Port, []Finding) {
	var findings []Finding
	ports := make(map[int]Port)
	for _, p := range pf.Ports {
		port, reason := Port{Key: p.Key, Min: p.Min, Max: p.Max}.fixed(maxKbps)
		if p.Direction == Ingress {
			if port.Min > 0 || port.Max > 0 {
				findings = append(findings, pf.link(Ingress).finding(p.Key, Unsupported,
					"no driver limits or guarantees what a VF receives"))
			}
			continue
		}
		if refusal := pf.refusal(p, ports); refusal != "" {
			reason = refusal
		} else {
			ports[p.Number] = port
		}
		if reason != "" {
			findings = append(findings, pf.link(Egress).finding(p.Key, Invalid, reason))
		}
	}
	return ports, findings
}

// refusal says why a port's VF does not get its rates, "" if it does.
func (pf PF) refusal(p VFPort, ports map[int]Port) string {
	first, twice := ports[p.Number]
	switch {
	case p.Direction != Egress:
		return fmt.Sprintf("%q is no direction: give egress or ingress", p.Direction)
	case twice:
		return fmt.Sprintf("port %s has VF %d too, and is served", first.Key, p.Number)
	case slices.Contains(pf.Exclude, p.Number):
		return fmt.Sprintf("VF %d is excluded from this agent's", p.Number)
	}
	return ""
}

// link is the PF as findings name it.
func (pf PF) link(d Direction) Link { return Link{Interface: pf.Interface, Direction: d} }

// vfRate rounds to Mbit/s. What is cut anyway is rounded down, else the sum
// would exceed the card's rate again.
func vfRate(p Port, sum, limit Kbps) VFRate {
	r := VFRate{Min: int((p.Min + 999) / 1000), Max: int(p.Max / 1000)}
	if p.Min > 0 && sum > limit {
		r.Min = max(int(scaled(p.Min, sum, limit)/1000), 1)
	}
	if p.Max > 0 {
		r.Max = max(r.Max, r.Min, 1)
	}
	return r
}

// CheckVFs returns the rates that are not, or will not be, enforced. It is pure, and in the order
// of PFs.
func CheckVFs(pfs []PF, actual map[VF]VFRate) []Finding {
	var findings []Finding
	for _, pf := range pfs {
		due, fs := pf.rates()
		findings = append(findings, fs...)
		for _, number := range slices.Sorted(maps.Keys(due)) {
			if _, ok := actual[VF{pf.Interface, number}]; !ok {
				findings = append(findings, pf.link(Egress).finding(
					holder(pfs, VF{pf.Interface, number}), Missing, fmt.Sprintf("there is no VF %d", number)))
			}
		}
	}
	return findings
}

// A VFReport is what a round of EnforceVFs did and could not do.
type VFReport struct {
	Steps    []VFStep
	Findings []Finding
}

// EnforceVFs is one round: observe, plan, apply, report. It fails only if
// nothing can be observed. A card that cannot guarantee gets the limit alone,
// and every round reports the guarantee.
func EnforceVFs(v VFs, pfs []PF) (VFReport, error) {
	names := make([]string, len(pfs))
	for i, pf := range pfs {
		names[i] = pf.Interface
	}
	actual, err := v.VFRates(names)
	if err != nil {
		return VFReport{}, fmt.Errorf("reading rates of VFs: %w", err)
	}
	r := VFReport{Steps: PlanVFs(pfs, actual), Findings: CheckVFs(pfs, actual)}
	for _, s := range r.Steps {
		if err := applyVF(v, s, actual[s.VF]); err != nil {
			r.Findings = append(r.Findings, failedVF(s, holder(pfs, s.VF), err))
		}
	}
	return r, nil
}

// applyVF sets both rates, or the limit alone if both cannot be had.
func applyVF(v VFs, s VFStep, prev VFRate) error {
	err := v.SetVFRate(s.VF, s.Rate)
	single := VFRate{Max: s.Rate.Max}
	if err == nil || s.Rate.Min == 0 || s.Rate.Max == 0 {
		return err
	}
	if prev == single {
		return fmt.Errorf("the guarantee is not enforced, the limit is: %w", err)
	}
	if limitErr := v.SetVFRate(s.VF, single); limitErr != nil {
		return errors.Join(err, limitErr)
	}
	return fmt.Errorf("the guarantee is not enforced, the limit is: %w", err)
}

// holder is the key of the port that has the VF, "" if none has.
func holder(pfs []PF, v VF) string {
	for _, pf := range pfs {
		if pf.Interface == v.PF {
			ports, _ := pf.accepted()
			return ports[v.Number].Key
		}
	}
	return ""
}

func failedVF(s VFStep, port string, err error) Finding {
	reason := Failed
	if errors.Is(err, ErrUnsupported) {
		reason = Unsupported
	}
	l := Link{Interface: s.VF.PF, Direction: Egress}
	return l.finding(port, reason, fmt.Sprintf("%v: %v", s, err))
}
