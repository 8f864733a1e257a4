// Package audit compares the records of a cloud's services with each other and finds where they
// disagree: allocations of servers that do not exist, ports whose guarantees are not allocated,
// providers that differ from the reports of their agents. It is pure: it takes records (ops/cloud)
// and changes nothing.
//
// What it can find is the table in kinds.go: for each kind a code, what it means, what repairs it,
// and the rule that finds it. A rule runs only when the records that it needs were read. Servers
// with an operation or a move under way are examined only by rules that hold in every state.
//
// # A new code
//
//  1. A constant in codes.go, whose text stays for ever, and a row in kinds.go, next to those about
//     the same records: a severity as docs/operations/audit.md has them, what follows from it, what
//     repairs it, and the records that the rule needs.
//  2. The rule, in the file of what it is about. It calls found with the object that is wrong
//     first, skips what is under way (Busy), and names one cause with one code: where another code
//     already says it, the rule is silent. The command is one that can be typed.
//  3. A fault in audittest/faults.go, for each way in which it arises. Tests inject it into drawn
//     clouds, where it has to be the only finding, and a healthy cloud has none.
//  4. A row in ops/heal/rules.go: what "berth heal" does about it, or that no request repairs it.
//  5. Its row in the table of docs/operations/audit.md, as "berth audit --list -f csv" has the
//     words, and the number of kinds in CHANGELOG.
package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/ops/cloud/index"
)

// A Severity says how much a finding matters.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // a guarantee is not kept, capacity is lost, or an operation will fail
	Warning Severity = "warning" // something will go wrong when something else happens
	Info    Severity = "info"    // worth knowing
)

// Severities are all, the most severe first.
var Severities = []Severity{Error, Warning, Info}

// AtLeast reports whether a severity is the other one or a more severe one.
func (s Severity) AtLeast(than Severity) bool {
	return slices.Index(Severities, s) <= slices.Index(Severities, than)
}

// A Finding is a disagreement of records, with the JSON keys that programs read.
type Finding struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	// About are the records that disagree, the one to read first being the first.
	About []Subject `json:"about"`
	// Actual and Expected are a sentence each, with numbers.
	Actual   string `json:"found"`
	Expected string `json:"expected"`
	Means    string `json:"means"`
	// Command is the next command to type: berth heal where that repairs the finding, or what shows
	// what is needed to decide.
	Command string `json:"command"`
	// ManualCommand is the command for a finding that berth heal cannot repair after all, the same
	// as Command where it never does.
	ManualCommand string `json:"-"`
}

// A Subject is a record that a finding is about.
type Subject struct {
	Kind string `json:"kind"` // server, port, migration, consumer, provider, host, agent, aggregate
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// String returns the subject for people.
func (s Subject) String() string {
	if s.Name == "" || s.Name == s.ID {
		return s.Kind + " " + s.ID
	}
	return fmt.Sprintf("%s %s (%s)", s.Kind, s.ID, s.Name)
}

// A Result is what Check returns.
type Result struct {
	// Findings are in the order of severities, then of the table of codes, then of what they are
	// about.
	Findings []Finding `json:"findings"`
	// Unchecked says which rules did not run, or not for all records, and why.
	Unchecked []Unchecked `json:"unchecked"`
}

// An Unchecked is why some codes were not checked.
type Unchecked struct {
	Codes  []Code `json:"codes"`
	Reason string `json:"reason"`
}

// Options restrict what is checked. Those that are empty restrict nothing.
type Options struct {
	Codes    []Code
	Severity Severity // this or a more severe one
	// Heals reports whether berth heal heals findings of a code: those have its command. Nil is no
	// code.
	Heals func(Code) bool
	// Servers and Ports are UUIDs or names, Hosts are names of hosts or hypervisors. A finding has
	// to be about one of each list that is not empty.
	Servers, Ports, Hosts []string
}

// records are the index of a cloud's records, with what rules have in common.
type records struct{ *index.Index }

// Check compares the records with each other.
func Check(idx *index.Index, o Options) Result {
	x := &records{idx}
	result := Result{Findings: []Finding{}, Unchecked: []Unchecked{}}
	for i := range kinds {
		k := &kinds[i]
		if len(o.Codes) > 0 && !slices.Contains(o.Codes, k.Code) || o.Severity != "" && !k.Severity.AtLeast(o.Severity) {
			continue
		}
		if missing := x.Cloud.Missing(k.needs); missing != nil {
			result.unchecked(k.Code, missing[0])
			continue
		}
		r := &report{x: x, kind: k, heals: o.Heals}
		k.rule(x, r)
		for _, reason := range r.reasons {
			result.unchecked(k.Code, reason)
		}
		slices.SortStableFunc(r.findings, func(a, b Finding) int { return cmp.Compare(a.About[0].ID, b.About[0].ID) })
		for _, f := range r.findings {
			if x.concerns(f, "server", o.Servers) && x.concerns(f, "port", o.Ports) && x.onHost(f, o.Hosts) {
				result.Findings = append(result.Findings, f)
			}
		}
	}
	slices.SortStableFunc(result.Findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(Severities, a.Severity), slices.Index(Severities, b.Severity))
	})
	return result
}

// Intersect returns the result of a second check without the findings that the first one does not
// have. A finding is the same when its code and the records that it is about are; numbers in it may
// have changed.
func Intersect(first, second Result) Result {
	seen := map[string]bool{}
	key := func(f Finding) string {
		ids := []string{string(f.Code)}
		for _, s := range f.About {
			ids = append(ids, s.Kind, s.ID)
		}
		return strings.Join(ids, " ")
	}
	for _, f := range first.Findings {
		seen[key(f)] = true
	}
	result := Result{Findings: []Finding{}, Unchecked: second.Unchecked}
	for _, f := range second.Findings {
		if seen[key(f)] {
			result.Findings = append(result.Findings, f)
		}
	}
	return result
}

func (r *Result) unchecked(code Code, reason string) {
	for i := range r.Unchecked {
		if r.Unchecked[i].Reason == reason {
			r.Unchecked[i].Codes = append(r.Unchecked[i].Codes, code)
			return
		}
	}
	r.Unchecked = append(r.Unchecked, Unchecked{Codes: []Code{code}, Reason: reason})
}

// A report collects what the rule of a kind finds.
type report struct {
	x        *records
	kind     *Kind
	heals    func(Code) bool
	findings []Finding
	reasons  []string
}

// add adds a finding, to which it adds what all findings of the kind have.
func (r *report) add(f Finding) {
	f.Code, f.Severity, f.Means, f.ManualCommand = r.kind.Code, r.kind.Severity, r.kind.Means, f.Command
	if r.heals != nil && r.heals(f.Code) {
		f.Command = fmt.Sprintf("berth heal --code %s %s", f.Code, r.x.selector(f.About))
	}
	r.findings = append(r.findings, f)
}

// selector is the flag that selects what a finding is about.
func (x *records) selector(about []Subject) string {
	s := about[0]
	if s.Kind == "aggregate" && len(about) > 1 {
		s = about[1]
	}
	switch s.Kind {
	case "port":
		return "--port " + s.ID
	case "host":
		return "--host " + s.ID
	case "provider":
		if p := x.ByUUID[s.ID]; p != nil {
			return fmt.Sprintf("--host '%s'", x.RootOf(p).Name)
		}
	}
	return "--server " + s.ID
}

// addUnchecked says once why the rule did not read some records.
func (r *report) addUnchecked(reason string) {
	if !slices.Contains(r.reasons, reason) {
		r.reasons = append(r.reasons, reason)
	}
}

// concerns reports whether a finding is about one of the records of a kind that are named.
// Consumers and migrations are named as servers are.
func (x *records) concerns(f Finding, kind string, names []string) bool {
	if len(names) == 0 {
		return true
	}
	return slices.ContainsFunc(f.About, func(s Subject) bool {
		switch {
		case s.Kind == kind:
		case kind == "server" && (s.Kind == "consumer" || s.Kind == "migration"):
		case kind == "server" && s.Kind == "port" && x.Ports[s.ID] != nil:
			s.ID = x.Ports[s.ID].Device
		default:
			return false
		}
		return slices.Contains(names, s.ID) || s.Name != "" && slices.Contains(names, s.Name)
	})
}

// onHost reports whether a finding is about something on one of the hosts.
func (x *records) onHost(f Finding, hosts []string) bool {
	if len(hosts) == 0 {
		return true
	}
	return slices.ContainsFunc(f.About, func(s Subject) bool {
		for _, name := range x.hostsOf(s) {
			if slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
				return true
			}
		}
		return false
	})
}
