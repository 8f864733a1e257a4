package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/ops/audit"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/index"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/ops/heal"
)

// healParts are the parts of "berth heal" by the words of --only.
var healParts = []string{string(heal.Allocations), string(heal.Aggregates), string(heal.Providers), string(heal.Ports)}

// healOptions are the flags of "berth heal".
type healOptions struct {
	env      cli.Env
	source   cloudSource
	only     []string // parts, all when it is empty
	options  heal.Options
	codes    []string
	choices  []string // --provider
	apply    bool
	yes      bool
	nova     bool         // the exit codes of nova-manage
	settings novaSettings // of which the aliases of PCI devices count
	planFile string
	fromPlan string
	out      *cli.Output
}

// NewHeal returns "berth heal", with the parts under the names of the commands that they were.
func NewHeal(env cli.Env) *cobra.Command {
	cmd := newHealOf(env)
	for _, part := range healParts {
		cmd.AddCommand(cli.Formerly(env, newHealOf(env, part), part, "berth heal --only "+part))
	}
	cmd.AddCommand(cli.Formerly(env, newHealOf(env), "all", "berth heal"))
	return cmd
}

// newHealOf returns the command that heals parts, or all when none is given.
func newHealOf(env cli.Env, parts ...string) *cobra.Command {
	h := &healOptions{env: env, only: parts}
	cmd := &cobra.Command{
		Use:   "heal [--only PART] [--code CODE] [--apply]",
		Short: "Fix what audit finds",
		Long: `Heal fixes what berth audit finds, by requests to the services of any OpenStack
cloud. --only restricts it to one of these parts, or to several:

  allocations  gives servers and their ports the allocations that they lack in
               placement, as nova-manage placement heal_allocations does, and
               corrects projects, users and types of consumers. With --force it
               replaces allocations by what flavors need, without the share of
               the ports. With --delete it deletes those of nothing that exists,
               as nova-manage placement audit --delete does, and what moves have
               not released on other hosts.
  aggregates   puts providers into the aggregates that mirror the host
               aggregates of their hosts, as nova-manage placement
               sync_aggregates does, and takes them out of those that their
               hosts are no longer in. Other aggregates stay.
  providers    gives providers of agents and their devices their names and
               parents (from placement 1.37 on), and disabled hosts their trait.
               With --delete it deletes providers of agents, devices and hosts
               that no longer exist, when nothing is allocated from them.
  ports        corrects the key allocation in the binding profiles of ports.
               With --delete it takes ports from servers that were deleted; the
               ports stay.

Without --apply nothing is changed: the plan is printed, which is a list of
requests. Each refuses a cloud that has changed since it was read, so that a
plan can be written to a file with --plan, reviewed, and carried out later with
--from-plan. --apply sends the requests, after a confirmation unless --yes is
given, and prints each as a command that can be repeated. It can be interrupted
between two requests; the next run continues. What releases something needs
--delete, or its code with --code; no server is ever deleted. Servers with an
operation under way are skipped. Findings that no request fixes are in the plan
with the next command to type.

Where several providers can serve a port, --provider decides, then the VIF type
and the address of the PCI device that it is bound with, then what the server
has allocated and no port names; otherwise the port is not healed. Groups of
flavors, and their PCI devices, have their providers with --provider
SUFFIX=PROVIDER or, for one server, SERVER/SUFFIX=PROVIDER.
--apply needs the APIs.

Exit codes:
  0  there is nothing to heal, or all of it was healed
  1  could not read the cloud, or was interrupted; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  6  there is something to heal, or something could not be healed

With --nova-exit-codes they are those of nova-manage, see berth help exit-codes.`,
		Example: `  berth heal --os-cloud admin
  berth heal --os-cloud admin --apply
  berth heal --os-cloud admin --only allocations,ports --host cn7
  berth heal --os-cloud admin --host cn7 --plan plan.json
  berth heal --os-cloud admin --from-plan plan.json --apply --yes -f json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return h.run(cmd.Context()) },
	}
	var known []string
	for _, k := range audit.Kinds() {
		if part, _ := heal.Rule(k.Code); heal.Heals(k.Code) && (len(parts) == 0 || slices.Contains(parts, string(part))) {
			known = append(known, string(k.Code))
		}
	}
	h.source.flags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&h.only, "only", parts,
		"`PART`: part to heal, all if none is given: "+strings.Join(healParts, ", ")+"; may be repeated")
	f.StringSliceVar(&h.codes, "code", nil,
		"`CODE`: code of findings to fix, also of those that need --delete or --force; may be repeated")
	f.StringArrayVar(&h.options.Servers, "server", nil, "`SERVER`: server to heal (name or UUID); may be repeated")
	f.StringArrayVar(&h.options.Ports, "port", nil, "`PORT`: port to heal (name or UUID); may be repeated")
	f.StringArrayVar(&h.options.Hosts, "host", nil, "`HOST`: host to heal (name); may be repeated")
	f.BoolVar(&h.options.Delete, "delete", false, "also fix what takes a deletion")
	f.BoolVar(&h.options.Force, "force", false, "also replace allocations that differ from the flavor")
	f.BoolVar(&h.options.SkipPorts, "skip-port-allocations", false, "skip ports without allocations")
	f.IntVar(&h.options.Max, "max-count", 0, "`N`: number of servers to heal at most, 0 for all")
	f.StringArrayVar(&h.choices, "provider", nil, "`PORT=PROVIDER`: provider of a port or of a group of a flavor for "+
		"which there are several (names or UUIDs); may be repeated")
	f.BoolVar(&h.apply, "apply", false, "send the requests")
	f.BoolVar(&h.yes, "yes", false, "send them without a confirmation")
	f.StringVar(&h.planFile, "plan", "", "`FILE`: file to write the plan to")
	f.StringVar(&h.fromPlan, "from-plan", "", "`FILE`: plan to carry out, instead of a new one")
	f.BoolVar(&h.nova, "nova-exit-codes", false, "exit with the codes of nova-manage")
	_ = errors.Join( // the flags exist: the lines above
		cmd.RegisterFlagCompletionFunc("only", cli.OneOf(healParts...)),
		cmd.RegisterFlagCompletionFunc("code", cli.OneOf(known...)))
	h.settings.flags(cmd)
	h.out = cli.AddOutput(cmd)
	return cmd
}

// includes reports whether a part is healed.
func (h *healOptions) includes(part heal.Part) bool {
	return len(h.options.Parts) == 0 || slices.Contains(h.options.Parts, part)
}

// usage gives an error about values of flags its exit code, and failed one about all else.
func (h *healOptions) usage(err error) error {
	if h.nova {
		return cli.Fail(cli.NovaBadInput, err)
	}
	return cli.Fail(cli.ExitUsage, err)
}

func (h *healOptions) failed(err error) error {
	code, coded := cli.CodeOf(err)
	switch {
	case h.nova && coded && code == cli.ExitUsage:
		return cli.Fail(cli.NovaBadInput, err)
	case h.nova && (!coded || code == cli.ExitFailure || code == cli.ExitDatabase):
		return cli.Fail(cli.NovaUnexpected, err)
	case coded:
		return err
	}
	return cli.Fail(cli.ExitFailure, err)
}

// run makes or reads the plan, prints it or carries it out.
func (h *healOptions) run(ctx context.Context) error {
	if err := h.check(); err != nil {
		return h.usage(err)
	}
	plan, err := h.plan(ctx)
	if err != nil {
		return err
	}
	if h.planFile != "" {
		if err := writePlan(h.planFile, plan); err != nil {
			return h.failed(err)
		}
		fmt.Fprintf(h.env.Stderr, "the plan is in %s\n", h.planFile)
	}
	if !h.apply || len(plan.Steps) == 0 {
		if err := h.out.Print(h.env, healResult(plan, nil)); err != nil {
			return h.failed(err)
		}
		return h.exit(plan, nil)
	}
	client, err := h.source.connect(ctx, h.env)
	if err != nil {
		return h.failed(err)
	}
	if !h.yes && cli.IsTerminal(h.env.Stdin) {
		writeSteps(h.env.Stderr, plan, nil)
	}
	if err := cli.Confirm(ctx, h.env.Stderr, h.env.Stdin, h.yes); err != nil {
		return h.failed(err)
	}
	results := h.carryOut(ctx, client, plan)
	if err := h.out.Print(h.env, healResult(plan, results)); err != nil {
		return h.failed(err)
	}
	return h.exit(plan, results)
}

// check checks the flags. It sets the parts and the chosen providers of the options.
func (h *healOptions) check() error {
	for _, word := range h.only {
		if !slices.Contains(healParts, word) {
			return fmt.Errorf("--only %s: want %s", word, strings.Join(healParts, ", "))
		}
	}
	h.options.Parts = nil
	for _, part := range heal.Parts { // in the order in which plans have them
		if slices.Contains(h.only, string(part)) {
			h.options.Parts = append(h.options.Parts, part)
		}
	}
	for _, code := range h.codes {
		part, _ := heal.Rule(audit.Code(code))
		switch {
		case part == "":
			return fmt.Errorf("there is no code %q; berth audit --list lists them", code)
		case !h.includes(part):
			return fmt.Errorf("%s is fixed by berth heal --only %s", code, part)
		case !heal.Heals(audit.Code(code)):
			return fmt.Errorf("no request fixes %s; berth audit has the next command to type", code)
		}
		h.options.Codes = append(h.options.Codes, audit.Code(code))
	}
	h.options.Providers = map[string]string{}
	for _, text := range h.choices {
		port, provider, ok := strings.Cut(text, "=")
		if !ok || port == "" || provider == "" {
			return fmt.Errorf("--provider %q: want PORT=PROVIDER, each a name or a UUID", text)
		}
		h.options.Providers[port] = provider
	}
	if err := h.out.Check(healColumns); err != nil {
		return err
	}
	records := h.source.db.Given() || h.source.file != ""
	switch {
	case h.nova && !slices.Equal(h.options.Parts, []heal.Part{heal.Allocations}) &&
		!slices.Equal(h.options.Parts, []heal.Part{heal.Aggregates}):
		return errors.New("--nova-exit-codes is for --only allocations, or for --only aggregates: nova-manage has a " +
			"command for each of them")
	case h.options.Max < 0:
		return errors.New("--max-count: want a number of servers, or 0 for all")
	case h.fromPlan != "" && records:
		return errors.New("--from-plan takes no records: --config, --connection and --from-file are for making a plan")
	case h.fromPlan != "" &&
		(h.planFile != "" || h.options.Delete || h.options.Force || h.options.SkipPorts || h.options.Max > 0 ||
			len(h.codes)+len(h.options.Servers)+len(h.options.Ports)+len(h.options.Hosts)+len(h.choices) > 0):
		return errors.New("--from-plan takes the plan as it is: flags that say what to heal are for making one")
	case h.apply && records:
		return errors.New("--apply needs the APIs: write the plan to a file with --plan, and carry it out with --from-plan " +
			"and --os-cloud")
	case h.yes && !h.apply:
		return errors.New("--yes is for --apply")
	}
	return nil
}

// plan makes the plan, or reads it.
func (h *healOptions) plan(ctx context.Context) (*heal.Plan, error) {
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
		case len(h.options.Parts) > 0 && !slices.Equal(plan.Parts, h.options.Parts):
			return nil, h.usage(fmt.Errorf("%s is a plan of %v; it is carried out without --only, or with these parts",
				h.fromPlan, plan.Parts))
		}
		return plan, nil
	}
	if err := h.settings.read(); err != nil {
		return nil, h.usage(err)
	}
	parts := cloud.Parts{Need: cloud.PlacementPart | cloud.ConsumersPart, Try: cloud.ComputePart | cloud.NetworkPart}
	if h.nova {
		parts.Need |= cloud.ComputePart
	}
	c, err := h.source.read(ctx, h.env, parts)
	if err != nil {
		return nil, h.failed(err)
	}
	// Without its ports the allocation of a server would lack their share.
	if c.Network == nil && !h.options.SkipPorts && h.includes(heal.Allocations) {
		err := errors.New("the ports of servers could not be read, without which their allocations are not known; " +
			"--skip-port-allocations heals what has none")
		if h.nova {
			return nil, cli.Fail(int(heal.NoPorts), err)
		}
		return nil, cli.Fail(cli.ExitFailure, err)
	}
	x := index.New(c)
	x.PCI = h.settings.Request.PCI
	if err := checkNames(h.env, x,
		audit.Options{Servers: h.options.Servers, Ports: h.options.Ports, Hosts: h.options.Hosts}); err != nil {
		return nil, h.usage(err)
	}
	for port, provider := range h.options.Providers {
		if err := knownProvider(c, port, provider); err != nil {
			return nil, h.usage(err)
		}
	}
	return heal.New(x, h.options), nil
}

// knownProvider returns an error for a pair of --provider whose provider no record has, or that is
// neither about a port, nor a group of one, nor a group of a flavor.
func knownProvider(c *cloud.Cloud, owner, provider string) error {
	if !slices.ContainsFunc(c.Placement.Providers, func(p cloud.Provider) bool {
		return p.UUID == provider || p.Name == provider
	}) {
		return fmt.Errorf("--provider %s=%s: there is no provider with the name or UUID %q", owner, provider, provider)
	}
	if c.Network != nil {
		for _, p := range c.Network.Ports {
			if p.UUID == owner || p.Name == owner ||
				p.Request != nil && slices.ContainsFunc(p.Request.Groups, func(g cloud.PortGroup) bool { return g.ID == owner }) {
				return nil
			}
		}
	}
	server, suffix, single := strings.Cut(owner, "/")
	if !single {
		suffix = owner
	}
	if c.Compute != nil {
		for _, s := range c.Compute.Servers {
			if (!single || s.UUID == server || s.Name == server) && hasGroup(&s.Flavor, suffix) {
				return nil
			}
		}
	}
	return fmt.Errorf(
		"--provider %s=%s: there is no port of a server with the name or UUID %q, and no group of a port or of a flavor",
		owner, provider, owner)
}

// deviceGroup matches the suffixes of groups that Nova makes of the PCI devices of a flavor.
var deviceGroup = regexp.MustCompile(`^pci([0-9]+)-[0-9]+$`)

// hasGroup reports whether a flavor may have a request group with a suffix.
func hasGroup(f *cloud.Flavor, suffix string) bool {
	for key := range f.Specs {
		if strings.HasPrefix(key, "resources"+suffix+":") {
			return true
		}
	}
	m := deviceGroup.FindStringSubmatch(suffix)
	aliases := f.Specs["pci_passthrough:alias"]
	if m == nil || aliases == "" {
		return false
	}
	n, err := strconv.Atoi(m[1])
	return err == nil && n <= strings.Count(aliases, ",")
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
func (h *healOptions) carryOut(ctx context.Context, client *cloudapi.Client, plan *heal.Plan) []heal.Result {
	p := cli.NewProgress(h.env)
	defer p.End()
	results := heal.Apply(ctx, plan, client.Do, cloudapi.Message, func(s heal.Step, _ heal.Result) {
		p.Show(func() string { return fmt.Sprintf("sending requests: %d of %d", s.ID, len(plan.Steps)) })
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
	fmt.Fprintf(h.env.Stderr, "note: in the commands, %s OS_TOKEN=$(openstack token issue -f value -c id)\n",
		strings.Join(urls, " "))
	return results
}

// exit returns the error with the exit code of a run, nil for 0. results are nil when nothing was
// sent.
func (h *healOptions) exit(plan *heal.Plan, results []heal.Result) error {
	counts := map[heal.Outcome]int{}
	for _, r := range results {
		counts[r.Outcome]++
	}
	done := counts[heal.Done]
	open := 0
	for _, l := range plan.Unhealed {
		if l.Code != "" {
			open++
		}
	}
	switch {
	case counts[heal.NotSent] > 0:
		return h.failed(fmt.Errorf("interrupted: %d of %s done, %d not sent", done, cli.Count(len(results), "request"),
			counts[heal.NotSent]))
	case h.nova && h.includes(heal.Allocations):
		return allocationsExit(plan, results, done)
	case h.nova:
		return aggregatesExit(h.env.Stderr, plan, results)
	case results == nil && len(plan.Steps) > 0:
		return cli.Fail(cli.ExitFindings,
			fmt.Errorf("there is something to heal: --apply sends %s", cli.Count(len(plan.Steps), "request")))
	case done < len(results):
		return cli.Fail(cli.ExitFindings,
			fmt.Errorf("not all was healed: %d of %s done", done, cli.Count(len(results), "request")))
	case open > 0:
		return cli.Fail(cli.ExitFindings, fmt.Errorf("not healed: %s", cli.Count(open, "finding")))
	case plan.More:
		return cli.Fail(cli.ExitFindings, errMoreServers)
	}
	return nil
}

// errMoreServers is the result of a run that --max-count has ended.
var errMoreServers = errors.New("there are more servers to heal than --max-count")

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
func healResult(plan *heal.Plan, results []heal.Result) cli.Result {
	r := cli.Result{Columns: healColumns}
	commands := make([]string, len(plan.Steps))
	for i, s := range plan.Steps {
		outcome := "planned"
		if results != nil {
			outcome = string(results[i].Outcome)
		}
		commands[i] = heal.Curl(s.Request)
		r.Rows = append(r.Rows, []any{s.ID, outcome, texts(s.Codes), subjects(s.About), s.Why, heal.Describe(s.Request)})
	}
	r.Value = healed{plan, results, commands}
	for _, l := range plan.Unhealed {
		r.Rows = append(r.Rows, []any{nil, "not healed", string(l.Code), subjects(l.About), l.Why, l.Command})
	}
	r.Text = func(w io.Writer) error {
		writeSteps(w, plan, results)
		for _, l := range plan.Unhealed {
			title := "not healed: " + string(l.Code)
			if l.Code == "" {
				title = "skipped"
			}
			fmt.Fprintf(w, "%s\n", title)
			for _, line := range [][2]string{
				{"about", strings.Join(subjects(l.About), ", ")}, {"why", l.Why}, {"next", l.Command},
			} {
				fmt.Fprintf(w, "  %-9s %s\n", line[0], line[1])
			}
			fmt.Fprintln(w)
		}
		if len(plan.Steps)+len(plan.Unhealed) == 0 {
			fmt.Fprintln(w, "nothing to heal")
		}
		return nil
	}
	return r
}

// writeSteps writes the steps of a plan for people, after it was carried out with the commands that
// repeat them.
func writeSteps(w io.Writer, plan *heal.Plan, results []heal.Result) {
	for i, s := range plan.Steps {
		fmt.Fprintf(w, "step %d: %s\n", s.ID, audit.Join(s.Codes))
		lines := [][2]string{{"about", strings.Join(subjects(s.About), ", ")}, {"why", s.Why}}
		if results != nil {
			text := string(results[i].Outcome)
			if results[i].Text != "" {
				text += ": " + results[i].Text
			}
			lines = append(lines, [2]string{"outcome", text}, [2]string{"repeat", heal.Curl(s.Request)})
		} else {
			for _, c := range s.Checks {
				lines = append(lines, [2]string{"if", c.Statement})
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

// texts are codes as texts.
func texts(codes []audit.Code) []string {
	list := make([]string, len(codes))
	for i, code := range codes {
		list[i] = string(code)
	}
	return list
}
