package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/ops/heal"
)

// healHelp is in the help texts of all commands that heal.
const healHelp = `Without --apply nothing is changed: the plan is printed, which is a list of
requests. Each refuses a cloud that has changed since it was read, so that a
plan can be kept with --plan, reviewed, and carried out later with --from-plan.
--apply sends the requests, asks first unless --yes is given, and prints each as
a command that can be repeated. It can be interrupted between two requests; the
next run goes on. What releases something is mended with --delete, or when its
code is named with --code; no server is ever deleted. Servers that something is
under way with are left alone. Findings that no request mends are in the plan
with the next command to type.

` + cloudSourceHelp + `
--apply needs the APIs.`

// healExitHelp documents the exit codes of the commands that have no counterpart in nova-manage.
const healExitHelp = `Exit codes:
  0  there is nothing to heal, or all of it was healed
  1  could not look, or was interrupted; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  6  there is something to heal, or something could not be healed`

// The exit codes of the commands that have a counterpart in nova-manage.
const (
	novaBadInput   = 127
	novaUnexpected = 255
)

// newHeal returns "berth heal" with its subcommands.
func newHeal(env environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "heal",
		Short: "Mend what the services of a cloud disagree on",
		Long: `Heal mends what berth audit finds, by requests to the services of any OpenStack
cloud. Every finding of audit is mended by one of these commands, or has the
next command to type in its plan.

` + healHelp,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHealPart(env, heal.Allocations), newHealPart(env, heal.Aggregates), newHealPart(env, heal.Providers), newHealPart(env, heal.Ports), newHealPart(env, ""))
	return cmd
}

// healTexts are the help texts of the commands. The part "" is all.
var healTexts = map[heal.Part]struct{ short, long, exit string }{
	heal.Allocations: {
		"Give servers and their ports the allocations that they lack",
		`Allocations gives servers the allocations that they lack in placement, and their
bound ports the amounts and the providers, as nova-manage placement
heal_allocations does; it also corrects projects, users and types of consumers.
With --force it replaces allocations by what flavors ask for and keeps the share
of the ports. With --delete it deletes what belongs to nothing, as nova-manage
placement audit --delete does, and parts that moves have left on other hosts.

Where several providers can serve a port, --provider decides, then the VIF type
and the address of the PCI device that it is bound with, then what the server
holds and no port names; otherwise the port is not healed.`,
		`Exit codes are those of nova-manage placement heal_allocations. They differ from
those of other commands of berth:

  0    something was healed
  1    --max-count was reached
  2    the compute node of a server is not known
  3    an allocation could not be made or changed
  4    there was nothing to heal, or no --apply
  5    the ports of servers could not be read
  6    a port could not name its provider; the next run goes on
  8    servers of this kind are not healed: VGPU, groups of a flavor
  127  wrong arguments (elsewhere 2)
  255  could not look, or was interrupted (elsewhere 1 and 3)`,
	},
	heal.Aggregates: {
		"Give providers the host aggregates of their hosts",
		`Aggregates puts the providers of hosts into the aggregates of placement that
mirror the host aggregates, as nova-manage placement sync_aggregates does, and
takes them out of those that their hosts have left. Aggregates of placement that
are no host aggregates stay.`,
		`Exit codes are those of nova-manage placement sync_aggregates. They differ from
those of other commands of berth:

  0    providers and host aggregates agree, or agree now; or no --apply
  2    the compute or the placement service failed or refused a request
  3    a provider has changed meanwhile
  4    a member of a host aggregate is not a host
  5    a member has no compute node
  6    a compute node has no provider
  127  wrong arguments (elsewhere 2)
  255  could not look, or was interrupted (elsewhere 1 and 3)`,
	},
	heal.Providers: {
		"Put providers in their place, and delete stale ones",
		`Providers gives the providers of agents and their devices the names and parents
that they must have (which takes a placement service with 1.37), and the trait
of disabled hosts to hosts whose service is disabled. With --delete it deletes
providers of agents, devices and hosts that do not exist any more, children
first, when nothing is allocated from them.`, healExitHelp,
	},
	heal.Ports: {
		"Correct the binding profiles of ports",
		`Ports takes the key allocation out of the binding profiles of ports that must
not have it, and writes it in the format of today. With --delete it takes ports
from servers that were deleted; the ports stay.`, healExitHelp,
	},
	"": {
		"Do all that the other commands do",
		`All does what heal allocations, aggregates, providers and ports do, in an order
in which one does not hinder another.`, healExitHelp,
	},
}

// A healing is a run of a command.
type healing struct {
	env      environment
	part     heal.Part
	source   cloudSource
	options  heal.Options
	choices  []string // --provider
	apply    bool
	yes      bool
	planFile string
	fromPlan string
	out      *output
}

// newHealPart returns the command that heals a part.
func newHealPart(env environment, part heal.Part) *cobra.Command {
	h := &healing{env: env, part: part}
	name := string(part)
	if part == "" {
		name = "all"
	} else {
		h.options.Parts = []heal.Part{part}
	}
	texts := healTexts[part]
	cmd := &cobra.Command{
		Use:   name + " [--code CODE] [--apply]",
		Short: texts.short,
		Long:  texts.long + "\n\n" + healHelp + "\n\n" + texts.exit,
		Example: fmt.Sprintf(`  berth heal %[1]s --os-cloud admin
  berth heal %[1]s --os-cloud admin --host cn7 --plan plan.json
  berth heal %[1]s --os-cloud admin --from-plan plan.json --apply
  berth heal %[1]s --os-cloud admin --apply --yes -f json`, name),
		Args: func(cmd *cobra.Command, args []string) error { return h.usage(noArguments(cmd, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error { return h.run(cmd) },
	}
	if h.nova() {
		cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return h.usage(suggestFlag(cmd, err)) })
	}
	var known []string
	for _, k := range audit.Kinds() {
		if of, _, ok := heal.Mends(k.Code); ok && (part == "" || of == part) {
			known = append(known, k.Code)
		}
	}
	h.source.flags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&h.options.Codes, "code", nil, "mend findings of `CODE` only, also those that need --delete or --force; may be repeated")
	f.StringArrayVar(&h.options.Servers, "server", nil, "mend what is about the server `NAME` or UUID only; may be repeated")
	f.StringArrayVar(&h.options.Ports, "port", nil, "mend what is about the port `NAME` or UUID only; may be repeated")
	f.StringArrayVar(&h.options.Hosts, "host", nil, "mend what is on the host `NAME` only; may be repeated")
	if part != heal.Aggregates {
		f.BoolVar(&h.options.Delete, "delete", false, "also mend what takes a deletion")
	}
	if part == heal.Allocations || part == "" {
		f.BoolVar(&h.options.Force, "force", false, "also replace allocations that differ from the flavor")
		f.BoolVar(&h.options.SkipPorts, "skip-port-allocations", false, "leave out ports without allocations")
		f.IntVar(&h.options.Max, "max-count", 0, "heal `N` servers at most, 0 for all servers")
		f.StringArrayVar(&h.choices, "provider", nil, "take a provider where there are several: `PORT=PROVIDER`; may be repeated")
	}
	f.BoolVar(&h.apply, "apply", false, "send the requests")
	f.BoolVar(&h.yes, "yes", false, "do not ask before they are sent")
	f.StringVar(&h.planFile, "plan", "", "write the plan to `FILE`")
	f.StringVar(&h.fromPlan, "from-plan", "", "take the plan of `FILE` instead of making one")
	_ = cmd.RegisterFlagCompletionFunc("code", oneOf(known...)) // the flag exists: a line above
	h.out = addOutput(cmd)
	return cmd
}

// nova reports whether the command has the exit codes of one of nova-manage.
func (h *healing) nova() bool { return h.part == heal.Allocations || h.part == heal.Aggregates }

// usage gives an error about arguments its exit code, and failed one about all else.
func (h *healing) usage(err error) error {
	if h.nova() {
		return fail(novaBadInput, err)
	}
	return fail(exitUsage, err)
}

func (h *healing) failed(err error) error {
	code, coded := codeOf(err)
	switch {
	case h.nova() && coded && code == exitUsage:
		return fail(novaBadInput, err)
	case h.nova() && (!coded || code == exitFailure || code == exitDatabase):
		return fail(novaUnexpected, err)
	case coded:
		return err
	}
	return fail(exitFailure, err)
}

// run makes or reads the plan, prints it or carries it out.
func (h *healing) run(cmd *cobra.Command) error {
	if err := h.check(cmd); err != nil {
		return h.usage(err)
	}
	plan, err := h.plan(cmd)
	if err != nil {
		return err
	}
	if h.planFile != "" {
		if err := writePlan(h.planFile, plan); err != nil {
			return h.failed(err)
		}
		fmt.Fprintf(h.env.stderr, "the plan is in %s\n", h.planFile)
	}
	if !h.apply || len(plan.Steps) == 0 {
		if err := h.out.print(h.env.stdout, healResult(plan, nil)); err != nil {
			return h.failed(err)
		}
		return h.exit(plan, nil)
	}
	client, err := h.source.connect(cmd, h.env)
	if err != nil {
		return h.failed(err)
	}
	if !h.yes && isTerminal(cmd.InOrStdin()) {
		writeSteps(h.env.stderr, plan, nil)
	}
	if err := consent(cmd.Context(), h.env.stderr, cmd.InOrStdin(), h.yes); err != nil {
		return h.failed(err)
	}
	results := h.carryOut(cmd.Context(), client, plan)
	if err := h.out.print(h.env.stdout, healResult(plan, results)); err != nil {
		return h.failed(err)
	}
	return h.exit(plan, results)
}

// check looks at the flags.
func (h *healing) check(cmd *cobra.Command) error {
	for _, code := range h.options.Codes {
		of, _, ok := heal.Mends(code)
		switch {
		case of == "":
			return fmt.Errorf("there is no code %q; berth audit --codes lists them", code)
		case h.part != "" && of != h.part:
			return fmt.Errorf("%s is mended by berth heal %s", code, of)
		case !ok:
			return fmt.Errorf("no request mends %s; berth audit has the next command to type", code)
		}
	}
	h.options.Providers = map[string]string{}
	for _, text := range h.choices {
		port, provider, ok := strings.Cut(text, "=")
		if !ok || port == "" || provider == "" {
			return fmt.Errorf("--provider %q: want PORT=PROVIDER, each a name or a UUID", text)
		}
		h.options.Providers[port] = provider
	}
	if err := h.out.check(healColumns); err != nil {
		return err
	}
	other := h.source.db.given() || h.source.file != ""
	switch {
	case h.options.Max < 0:
		return errors.New("--max-count: want a number of servers, or 0 for all")
	case h.fromPlan != "" && other:
		return errors.New("--from-plan takes no records: --config, --connection and --from-file are for making a plan")
	case h.fromPlan != "" && (h.planFile != "" || h.options.Delete || h.options.Force || h.options.SkipPorts || h.options.Max > 0 ||
		len(h.options.Codes)+len(h.options.Servers)+len(h.options.Ports)+len(h.options.Hosts)+len(h.choices) > 0):
		return errors.New("--from-plan takes the plan as it is: flags that say what to heal are for making one")
	case h.apply && other:
		return errors.New("--apply needs the APIs: write the plan to a file with --plan, and carry it out with --from-plan and --os-cloud")
	case h.yes && !h.apply:
		return errors.New("--yes is for --apply")
	}
	return nil
}

// plan makes the plan, or reads it.
func (h *healing) plan(cmd *cobra.Command) (*heal.Plan, error) {
	if h.fromPlan != "" {
		f, err := os.Open(h.fromPlan)
		if err != nil {
			return nil, h.usage(err)
		}
		defer f.Close()
		plan, err := heal.Read(f)
		switch {
		case err != nil:
			return nil, h.usage(fmt.Errorf("%s: %w", h.fromPlan, err))
		case h.part != "" && !slices.Equal(plan.Parts, h.options.Parts):
			return nil, h.usage(fmt.Errorf("%s is a plan of %v; berth heal all carries it out", h.fromPlan, plan.Parts))
		}
		return plan, nil
	}
	parts := cloud.Parts{Placement: cloud.Need, Consumers: cloud.Need, Compute: cloud.Try, Network: cloud.Try}
	if h.nova() {
		parts.Compute = cloud.Need
	}
	c, err := h.source.read(cmd, h.env, parts)
	if err != nil {
		return nil, h.failed(err)
	}
	// Without its ports the allocation of a server would lack their share.
	if c.Network == nil && !h.options.SkipPorts && (h.part == heal.Allocations || h.part == "") {
		err := errors.New("the ports of servers could not be read, without which their allocations are not known; --skip-port-allocations heals what has none")
		if h.nova() {
			return nil, fail(int(heal.NoPorts), err)
		}
		return nil, fail(exitFailure, err)
	}
	if err := checkNames(h.env, c, audit.Options{Servers: h.options.Servers, Ports: h.options.Ports, Hosts: h.options.Hosts}); err != nil {
		return nil, h.usage(err)
	}
	for of, provider := range h.options.Providers {
		if err := knownProvider(c, of, provider); err != nil {
			return nil, h.usage(err)
		}
	}
	return heal.New(c, h.options), nil
}

// knownProvider returns an error for a pair of --provider whose provider no record has, or that is neither about a port, nor a group of one, nor a group of a flavor.
func knownProvider(c *cloud.Cloud, of, provider string) error {
	if !slices.ContainsFunc(c.Placement.Providers, func(p cloud.Provider) bool { return p.UUID == provider || p.Name == provider }) {
		return fmt.Errorf("--provider %s=%s: there is no provider with the name or UUID %q", of, provider, provider)
	}
	if c.Network != nil {
		for _, p := range c.Network.Ports {
			if p.UUID == of || p.Name == of || p.Request != nil && slices.ContainsFunc(p.Request.Groups, func(g cloud.PortGroup) bool { return g.ID == of }) {
				return nil
			}
		}
	}
	if c.Compute != nil {
		for _, s := range c.Compute.Servers {
			for key := range s.Flavor.Specs {
				if strings.HasPrefix(key, "resources"+of+":") {
					return nil
				}
			}
		}
	}
	return fmt.Errorf("--provider %s=%s: there is no port of a server with the name or UUID %q, and no group of a port or of a flavor", of, provider, of)
}

// writePlan writes the file of a plan, which must not be there yet.
func writePlan(name string, p *heal.Plan) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--plan: %s exists, and is not replaced", name)
	}
	if err != nil {
		return err
	}
	return errors.Join(heal.Write(f, p), f.Close())
}

// carryOut sends the requests of a plan.
func (h *healing) carryOut(ctx context.Context, client *cloudapi.Client, plan *heal.Plan) []heal.Result {
	p := newProgress(h.env)
	defer p.end()
	results := heal.Apply(ctx, plan, client.Do, cloudapi.Message, func(s heal.Step, _ heal.Result) {
		p.show(func() string { return fmt.Sprintf("sending requests: %d of %d", s.ID, len(plan.Steps)) })
	})
	var urls []string
	for _, service := range []string{heal.Placement, heal.Network, heal.Compute} {
		if !slices.ContainsFunc(plan.Steps, func(s heal.Step) bool { return s.Request.Service == service }) {
			continue
		}
		if url, err := client.Endpoint(service); err == nil {
			urls = append(urls, heal.Variable(service)+"="+url)
		}
	}
	fmt.Fprintf(h.env.stderr, "note: in the commands, %s OS_TOKEN=$(openstack token issue -f value -c id)\n", strings.Join(urls, " "))
	return results
}

// exit returns the error with the exit code of a run, nil for 0. results are nil when nothing was sent.
func (h *healing) exit(plan *heal.Plan, results []heal.Result) error {
	done, counts := 0, map[heal.Outcome]int{}
	for _, r := range results {
		counts[r.Outcome]++
	}
	done = counts[heal.Done]
	open := 0
	for _, l := range plan.Left {
		if l.Code != "" {
			open++
		}
	}
	switch {
	case counts[heal.Unsent] > 0:
		return h.failed(fmt.Errorf("interrupted: %d of %s done, %d not sent", done, counted(len(results), "request"), counts[heal.Unsent]))
	case h.part == heal.Allocations:
		return h.allocationsExit(plan, results, done)
	case h.part == heal.Aggregates:
		for _, r := range results {
			switch r.Outcome {
			case heal.MovedOn, heal.Skipped:
				return fail(int(heal.SyncChanged), errors.New("providers have changed meanwhile; the next run mends them"))
			case heal.Failed, heal.Unknown:
				return fail(int(heal.SyncRefused), errors.New(r.Text))
			}
		}
		for _, l := range plan.Left {
			if l.Nova != 0 {
				return fail(int(l.Nova), errors.New(l.Why))
			}
		}
		if results == nil && len(plan.Steps) > 0 { // which is no error of sync_aggregates
			fmt.Fprintf(h.env.stderr, "note: nothing was changed: --apply sends %s\n", counted(len(plan.Steps), "request"))
		}
		return nil
	case results == nil && len(plan.Steps) > 0:
		return fail(exitFound, fmt.Errorf("there is something to heal: --apply sends %s", counted(len(plan.Steps), "request")))
	case done < len(results):
		return fail(exitFound, fmt.Errorf("not all was healed: %d of %s done", done, counted(len(results), "request")))
	case open > 0:
		return fail(exitFound, fmt.Errorf("not healed: %s", counted(open, "finding")))
	}
	return nil
}

// allocationsExit is exit of heal allocations: the code of the first problem, as heal_allocations has it.
func (h *healing) allocationsExit(plan *heal.Plan, results []heal.Result, done int) error {
	for i, r := range results {
		if r.Outcome == heal.Done {
			continue
		}
		code := heal.NotAllocated
		if plan.Steps[i].Request.Service == heal.Network {
			code = heal.NotNamed
		}
		return fail(int(code), fmt.Errorf("not all was healed: %d of %s done", done, counted(len(results), "request")))
	}
	for _, l := range plan.Left {
		if l.Nova != 0 {
			return fail(int(l.Nova), errors.New(l.Why))
		}
	}
	switch {
	case results == nil && len(plan.Steps) > 0:
		return fail(int(heal.Nothing), fmt.Errorf("nothing was changed: --apply sends %s", counted(len(plan.Steps), "request")))
	case done == 0:
		return fail(int(heal.Nothing), errors.New("there is nothing to heal"))
	case plan.More:
		return fail(int(heal.MaxReached), errors.New("there are more servers to heal than --max-count"))
	}
	return nil
}

// A healed is the result for programs.
type healed struct {
	Plan *heal.Plan `json:"plan"`
	// Results are what became of the steps, null when nothing was sent.
	Results []heal.Result `json:"results"`
	// Commands repeat the requests of the steps.
	Commands []string `json:"commands"`
}

var healColumns = []string{"Step", "Outcome", "Codes", "About", "Why", "Request"}

// healResult is a plan, and what became of it, as it is printed.
func healResult(plan *heal.Plan, results []heal.Result) result {
	r := result{columns: healColumns}
	commands := make([]string, len(plan.Steps))
	for i, s := range plan.Steps {
		outcome := "planned"
		if results != nil {
			outcome = string(results[i].Outcome)
		}
		commands[i] = heal.Curl(s.Request)
		r.rows = append(r.rows, []any{s.ID, outcome, s.Codes, subjects(s.About), s.Why, heal.Describe(s.Request)})
	}
	r.value = healed{plan, results, commands}
	for _, l := range plan.Left {
		r.rows = append(r.rows, []any{nil, "not healed", l.Code, subjects(l.About), l.Why, l.Command})
	}
	r.text = func(w io.Writer) error {
		writeSteps(w, plan, results)
		for _, l := range plan.Left {
			title := "not healed: " + l.Code
			if l.Code == "" {
				title = "left alone"
			}
			fmt.Fprintf(w, "%s\n", title)
			for _, line := range [][2]string{{"about", strings.Join(subjects(l.About), ", ")}, {"why", l.Why}, {"next", l.Command}} {
				fmt.Fprintf(w, "  %-9s %s\n", line[0], line[1])
			}
			fmt.Fprintln(w)
		}
		if len(plan.Steps)+len(plan.Left) == 0 {
			fmt.Fprintln(w, "nothing to heal")
		}
		return nil
	}
	return r
}

// writeSteps writes the steps of a plan for people, after it was carried out with the commands that repeat them.
func writeSteps(w io.Writer, plan *heal.Plan, results []heal.Result) {
	for i, s := range plan.Steps {
		fmt.Fprintf(w, "step %d: %s\n", s.ID, strings.Join(s.Codes, ", "))
		lines := [][2]string{{"about", strings.Join(subjects(s.About), ", ")}, {"why", s.Why}}
		if results != nil {
			text := string(results[i].Outcome)
			if results[i].Text != "" {
				text += ": " + results[i].Text
			}
			lines = append(lines, [2]string{"outcome", text}, [2]string{"repeat", heal.Curl(s.Request)})
		} else {
			for _, c := range s.Checks {
				lines = append(lines, [2]string{"if", c.Says})
			}
			for _, id := range s.After {
				lines = append(lines, [2]string{"after", fmt.Sprintf("step %d", id)})
			}
			lines = append(lines, [2]string{"request", heal.Describe(s.Request)})
			if s.Request.Body != nil {
				lines = append(lines, [2]string{"body", string(s.Request.Body)})
			}
		}
		for _, line := range lines {
			fmt.Fprintf(w, "  %-9s %s\n", line[0], line[1])
		}
		fmt.Fprintln(w)
	}
}

// subjects are what a finding is about, for people.
func subjects(about []audit.Subject) []string {
	var list []string
	for _, s := range about {
		list = append(list, s.String())
	}
	return list
}
