// Package upgrade says what a release of OpenStack will change in a cloud, or demand of it, from
// the records of the cloud as it is. It is pure: it takes records (ops/cloud) and sends no
// requests.
//
// The checks are the table in checks.go. Each is about one release, and runs when the upgrade goes
// through that release. Its facts are those of the release's notes and code, named in its row.
package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/osloconfig"
)

// A Status is the result of a check, or of one thing that it has seen.
type Status string

// The results, the most urgent first.
const (
	Required Status = "required" // to be done before the upgrade, or something stops working
	Changes  Status = "changes"  // changed by the release itself, or possible with it
	Unknown  Status = "unknown"  // what it reads was not read
	OK       Status = "ok"       // of no concern to this cloud
)

var statuses = []Status{Required, Changes, Unknown, OK}

// Input is what is examined.
type Input struct {
	// Cloud has the records, and the environment where it was measured.
	Cloud *cloud.Cloud
	// To is the release to upgrade to.
	To request.Release
	// Flavors are all flavors; nil when they were not read. Those of servers count then.
	Flavors []cloud.Flavor
	// Users are those who have servers, with their roles; nil when they were not read.
	Users []cloud.ProjectUser
	// Requests are Nova's request filters, and Zone and DefaultZone as novaquery.Server has them.
	Requests          request.Settings
	Zone, DefaultZone string
	// Settings are those of a nova.conf, nil when none was given. PCIInPlacement is its
	// [filter_scheduler] pci_in_placement, and Aliases are its [pci] alias.
	Settings       map[osloconfig.Name]string
	PCIInPlacement bool
	Aliases        []string
}

// A Report is what Check returns, with the JSON keys that programs read.
type Report struct {
	Source string `json:"source"`
	// From is the release that the cloud's Nova is, "" when it is not known, and To the one to upgrade
	// to.
	From string `json:"from"`
	To   string `json:"to"`
	// Results are in the order of the table.
	Results []Result `json:"checks"`
}

// A Result is that of one check.
type Result struct {
	Check string `json:"check"`
	// Release is the one that the check is about, and Service the service whose release it is.
	Release string `json:"release"`
	Service string `json:"service"`
	Result  Status `json:"result"`
	// Evidence is what was seen, the most urgent first.
	Evidence []Evidence `json:"evidence"`
	// Means says what follows, and Next is the next command to type, or the page to read; both are ""
	// when the check is ok or unknown.
	Means string `json:"means"`
	Next  string `json:"next"`
}

// An Evidence is one thing that was seen.
type Evidence struct {
	Result Status `json:"result"`
	Text   string `json:"text"`
	Next   string `json:"next"`
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

// Check makes the checks of the releases that the upgrade goes through. It ends with the error of
// ctx.
func Check(ctx context.Context, in Input) (Report, error) {
	in.Requests.NUMA, in.Requests.NonNUMA = index.NUMA(in.Cloud)
	x := &run{Input: in, ctx: ctx, index: index.New(in.Cloud), environment: in.Cloud.Environment}
	if x.environment == nil {
		x.environment = &cloud.Environment{}
	}
	report := Report{Source: in.Cloud.Source, To: in.To.String(), Results: []Result{}}
	if x.from, x.known = index.Release(in.Cloud); x.known {
		report.From = x.from.String()
	}
	for i := range checks {
		c := &checks[i]
		if c.Since > x.To || c.Since <= x.from && c.Since != 0 {
			continue
		}
		r := &findings{}
		if missing := x.Cloud.Missing(c.needs); missing != nil {
			r.unknown("%s", strings.Join(missing, " "))
		} else {
			c.run(x, r)
		}
		if ctx.Err() != nil {
			return Report{}, ctx.Err()
		}
		report.Results = append(report.Results, r.result(c, x.To))
	}
	return report, nil
}

// A run is the input with what several checks read.
type run struct {
	Input
	ctx   context.Context // of one call of Check
	index *index.Index
	// from is the release of the cloud's Nova, Zed when it is not known.
	from        request.Release
	known       bool
	environment *cloud.Environment // without anything when it was not measured
	named       []cloud.Flavor     // see flavors
}

// flavors are all flavors or, where they were not read, those that servers have kept, each once.
func (x *run) flavors() []cloud.Flavor {
	if x.Flavors != nil || x.named != nil {
		return append(slices.Clone(x.Flavors), x.named...)
	}
	seen := map[string]bool{}
	for _, s := range x.index.Compute.Servers {
		if key := fmt.Sprint(s.Flavor); !seen[key] {
			seen[key] = true
			x.named = append(x.named, s.Flavor)
		}
	}
	return x.named
}

// unlisted adds that flavors without servers were not examined, where that is so.
func (x *run) unlisted(r *findings) {
	if x.Flavors == nil {
		r.unknown("The list of flavors was not read: only those of servers were examined.")
	}
}

// count is a number with what is counted.
func count(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun
	case 1:
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// list names some of what there is.
func list(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// findings collect what a check sees.
type findings struct{ list []Evidence }

func (r *findings) add(s Status, next, format string, args ...any) {
	r.list = append(r.list, Evidence{Result: s, Text: fmt.Sprintf(format, args...), Next: next})
}

func (r *findings) required(next, format string, args ...any) { r.add(Required, next, format, args...) }

func (r *findings) changes(next, format string, args ...any) { r.add(Changes, next, format, args...) }

func (r *findings) unknown(format string, args ...any) { r.add(Unknown, "", format, args...) }

func (r *findings) ok(format string, args ...any) { r.add(OK, "", format, args...) }

// result is the result of a check. One that saw nothing is ok.
func (r *findings) result(c *Row, to request.Release) Result {
	if r.list == nil {
		r.ok("%s", c.None)
	}
	slices.SortStableFunc(r.list, func(a, b Evidence) int {
		return cmp.Compare(slices.Index(statuses, a.Result), slices.Index(statuses, b.Result))
	})
	result := Result{
		Check: c.Name, Release: cmp.Or(c.Since, to).String(), Service: c.Service, Result: r.list[0].Result,
		Evidence: r.list,
	}
	if result.Result == Required || result.Result == Changes {
		result.Means, result.Next = c.Means, r.list[0].Next
	}
	return result
}
