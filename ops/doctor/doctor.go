// Package doctor examines why guaranteed bandwidth does not work in a cloud, from the outside in:
// whether its services can be reached and are new enough, whether agents are alive and placement
// has what they report, whether ports have what they were promised. It is pure: it takes records
// (ops/cloud) and what was measured around them, and sends no requests.
//
// The checks are the table in checks.go. What a rule of ops/audit finds is not searched for again:
// such a check has the codes of the rules. A check whose data was not read is unknown, and never
// ok.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/heal"
)

// A Status is the result of a check.
type Status string

// The results, the worst first.
const (
	Failed  Status = "failed"
	Warning Status = "warning"
	Unknown Status = "unknown"
	OK      Status = "ok"
)

var statuses = []Status{Failed, Warning, Unknown, OK}

// worse reports whether a status is worse than the other one.
func (s Status) worse(than Status) bool {
	return slices.Index(statuses, s) < slices.Index(statuses, than)
}

// Input is what is examined.
type Input struct {
	// Cloud has the records, and the environment where they were measured.
	Cloud *cloud.Cloud
	// Database is the state of placement's database, nil when it was not examined.
	Database *Database
	// Policies are policy files of the placement service.
	Policies []PolicyFile
	// Settings are settings files of one host, whose name is SettingsHost.
	Settings     []SettingsFile
	SettingsHost string
}

// Options restrict what is examined.
type Options struct {
	Checks []string // names; empty for all
	// Server is the UUID or the name of a server that is examined too, "" for none.
	Server string
	// Image is that of the server, nil when it is not known.
	Image *cloud.Image
	// Ports are further ports of the server. One that failed for want of a host has given its ports
	// back.
	Ports []cloud.Port
	// Filters are the request filters of Nova; nil for those of its default settings.
	Filters *request.Settings
	// Host is the name of a host to which checks of hosts are restricted, "" for all.
	Host string
}

// A Report is what Examine returns, with the JSON keys that programs read.
type Report struct {
	Source  string   `json:"source"`
	Results []Result `json:"checks"` // in the order of the table
}

// A Result is that of one check.
type Result struct {
	Check  string `json:"check"`
	Group  string `json:"group"`
	Result Status `json:"result"`
	// Evidence is what was seen, the worst first.
	Evidence []Evidence `json:"evidence"`
	// Means says what follows, and Command is the next command to type; both are "" when the check
	// is ok or unknown.
	Means   string `json:"means"`
	Command string `json:"command"`
}

// An Evidence is one thing that was seen.
type Evidence struct {
	Result  Status `json:"result"`
	Text    string `json:"text"`
	Command string `json:"command"`
}

// Count returns how many results are of a status.
func (r Report) Count(s Status) (n int) {
	for _, result := range r.Results {
		if result.Result == s {
			n++
		}
	}
	return n
}

// Examine makes the checks. Those of a server are made only when the options name one; it is an
// error when the records have no such server, or several of the name, or nothing on the host of the
// options. Those of the database and of files are made when these are given, or when the options
// name the check. It ends with the error of ctx.
func Examine(ctx context.Context, in Input, o Options) (Report, error) {
	x, err := newRun(ctx, in, o)
	if err != nil {
		return Report{}, err
	}
	for _, c := range checks {
		for _, code := range c.codes {
			x.covered[code] = true
		}
	}
	report := Report{Source: in.Cloud.Source, Results: []Result{}}
	for i := range checks {
		c := &checks[i]
		switch named := slices.Contains(o.Checks, c.Name); {
		case len(o.Checks) > 0 && !named, c.Group == serverGroup && o.Server == "", !named && !x.given(c.needs):
			continue
		}
		r := &findings{}
		if reason := x.missing(c.needs); reason != "" {
			r.unknown("%s", reason)
		} else {
			if c.run != nil {
				c.run(x, r)
			}
			if c.codes != nil {
				x.fromAudit(c.codes, r)
			}
		}
		report.Results = append(report.Results, r.result(c))
	}
	return report, nil
}

// A run is the input with what several checks read.
type run struct {
	Input
	Options
	environment *cloud.Environment // without anything when it was not measured
	// readAt is when the records were read, by the caller's clock.
	readAt time.Time
	// audited are what audit finds, and unchecked why it did not search for a code.
	audited   map[audit.Code][]audit.Finding
	unchecked map[audit.Code]string
	// covered are the codes of audit that have a check of their own.
	covered  map[audit.Code]bool
	index    *index.Index
	agents   []*agent // of the host of the options, or all
	networks map[string]*cloud.NetworkOf
	server   *serverRun
}

func newRun(ctx context.Context, in Input, o Options) (*run, error) {
	x := &run{
		Input: in, Options: o, environment: in.Cloud.Environment, readAt: in.Cloud.Ended,
		audited: map[audit.Code][]audit.Finding{}, unchecked: map[audit.Code]string{},
		covered: map[audit.Code]bool{
			audit.PortBindingFailed: true, audit.PortNotBound: true, audit.RequestTraitWithoutProvider: true,
		},
	}
	if x.environment == nil {
		x.environment = &cloud.Environment{}
	}
	if o.Host != "" && !x.known() {
		return nil, fmt.Errorf("no agent, compute service, hypervisor or provider is on a host called %q", o.Host)
	}
	options := audit.Options{Heals: heal.Heals}
	if o.Host != "" {
		options.Hosts = []string{o.Host}
	}
	x.index = index.New(x.Cloud)
	if x.Filters != nil {
		x.index.PCI = x.Filters.PCI
	}
	result := audit.Check(x.index, options)
	for _, f := range result.Findings {
		x.audited[f.Code] = append(x.audited[f.Code], f)
	}
	for _, u := range result.Unchecked {
		for _, code := range u.Codes {
			x.unchecked[code] = u.Reason
		}
	}
	for _, a := range x.index.Agents {
		if x.on(append(a.State.Hypervisors(), a.Host)...) {
			x.agents = append(x.agents, &agent{a})
		}
	}
	if o.Server == "" {
		return x, nil
	}
	return x, x.addServer(ctx)
}

// known reports whether there may be something on the host of the options: a record is, or some
// records were not read.
func (x *run) known() bool {
	c := x.Cloud
	if c.Network == nil || c.Compute == nil || c.Placement == nil {
		return true
	}
	return slices.ContainsFunc(c.Network.Agents, func(a cloud.Agent) bool { return x.on(a.Host) }) ||
		slices.ContainsFunc(c.Compute.Services, func(s cloud.Service) bool { return x.on(s.Host) }) ||
		slices.ContainsFunc(c.Compute.Hypervisors, func(h cloud.Hypervisor) bool { return x.on(h.Host, h.Hostname) }) ||
		slices.ContainsFunc(c.Placement.Providers, func(p cloud.Provider) bool { return p.Parent == "" && x.on(p.Name) })
}

// The inputs besides the records that a check cannot do without. They continue the parts of the
// records.
const (
	databaseInput cloud.Part = cloud.EndOfParts << iota
	policiesInput
	settingsInput
)

// given reports whether the caller gave what a check is about, where that is not the cloud itself.
func (x *run) given(parts cloud.Part) bool {
	return (parts&databaseInput == 0 || x.Database != nil) && (parts&policiesInput == 0 || len(x.Policies) > 0) &&
		(parts&settingsInput == 0 || len(x.Settings) > 0)
}

// missing returns what a check needs and the input does not have, "" when it has all. The check
// records-read has the reasons.
func (x *run) missing(parts cloud.Part) string {
	list := x.Cloud.Missing(parts)
	if parts&databaseInput != 0 && x.Database == nil {
		list = append(list, "Placement's database was not read; --config or --connection names it.")
	}
	if parts&policiesInput != 0 && len(x.Policies) == 0 {
		list = append(list, "No policy file of the placement service is known; --policy-file names one.")
	}
	if parts&settingsInput != 0 && len(x.Settings) == 0 {
		list = append(list, "No settings file was given; --settings names one.")
	}
	return strings.Join(list, " ")
}

// fromAudit adds what audit finds: errors fail a check, warnings warn, and what is worth knowing is
// a note.
func (x *run) fromAudit(codes []audit.Code, r *findings) {
	n := 0
	for _, code := range codes {
		if reason := x.unchecked[code]; reason != "" {
			r.unknown("%s", reason)
		}
		for _, f := range x.audited[code] {
			n++
			status := map[audit.Severity]Status{audit.Error: Failed, audit.Warning: Warning, audit.Info: OK}[f.Severity]
			r.add(status, f.Command, fmt.Sprintf("%s: %s; expected: %s (%s)", f.About[0], f.Actual, f.Expected, f.Code))
		}
	}
	if n == 0 && r.list == nil {
		r.ok("audit finds none of: %s", audit.Join(codes))
	}
}

// count is a number with what is counted, of which it takes the singular.
func count(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun
	case 1:
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// findings collect what a check sees.
type findings struct {
	list []Evidence
	seen map[Evidence]bool // in the list
}

// add adds what was seen, once.
func (r *findings) add(s Status, command, text string) {
	e := Evidence{Result: s, Text: text, Command: command}
	if r.seen == nil {
		r.seen = map[Evidence]bool{}
	}
	if !r.seen[e] {
		r.seen[e] = true
		r.list = append(r.list, e)
	}
}

func (r *findings) ok(format string, args ...any) { r.add(OK, "", fmt.Sprintf(format, args...)) }

func (r *findings) unknown(format string, args ...any) {
	r.add(Unknown, "", fmt.Sprintf(format, args...))
}

func (r *findings) warn(command, format string, args ...any) {
	r.add(Warning, command, fmt.Sprintf(format, args...))
}

func (r *findings) fail(command, format string, args ...any) {
	r.add(Failed, command, fmt.Sprintf(format, args...))
}

// worst is the worst status so far.
func (r *findings) worst() Status {
	worst := OK
	for _, e := range r.list {
		if e.Result.worse(worst) {
			worst = e.Result
		}
	}
	return worst
}

// mostGood is how many things that are ok a result has; a big cloud has thousands.
const mostGood = 20

// result is the result of a check. One that saw nothing is unknown.
func (r *findings) result(c *Check) Result {
	if r.list == nil {
		r.unknown("There is nothing to check.")
	}
	slices.SortStableFunc(r.list, func(a, b Evidence) int {
		return cmp.Compare(slices.Index(statuses, a.Result), slices.Index(statuses, b.Result))
	})
	if good := slices.IndexFunc(r.list, func(e Evidence) bool { return e.Result == OK }); good >= 0 &&
		len(r.list)-good > mostGood {
		omitted := len(r.list) - good - mostGood
		r.list = append(r.list[:good+mostGood], Evidence{Result: OK, Text: fmt.Sprintf("and %d more that are ok", omitted)})
	}
	result := Result{Check: c.Name, Group: c.Group, Result: r.worst(), Evidence: r.list}
	if result.Result.worse(Unknown) {
		result.Means, result.Command = c.Means, r.list[0].Command
	}
	return result
}
