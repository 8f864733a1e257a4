package operators

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/ops/capacity"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/explain"
	"github.com/berthcloud/berth/ops/novaquery"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/snapshot"
)

// NewCapacity returns "berth capacity", which has subcommands only.
func NewCapacity(env cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "capacity",
		Short: "Count what still fits, and plan how to drain a host",
		Args:  cli.KnownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCapacityHeadroom(env), newCapacityDrain(env),
		cli.Formerly(env, newCapacityHeadroom(env), "left", "berth capacity headroom"), cli.Formerly(env, newCapacityDrain(env), "empty", "berth capacity drain"))
	return cmd
}

// headroomOptions are the flags of "berth capacity headroom".
type headroomOptions struct {
	serverFlags

	source                             cloudSource
	nova                               novaSettings
	queries, flavors, servers, without []string
	out                                *cli.Output

	owners map[string]string // whose request groups suffixes are
}

// owner says whose request group a suffix is.
func (x *headroomOptions) owner(suffix string) string {
	return cmp.Or(x.owners[suffix], "group "+suffix)
}

// newCapacityHeadroom returns "berth capacity headroom".
func newCapacityHeadroom(env cli.Env) *cobra.Command {
	x := &headroomOptions{owners: map[string]string{}}
	cmd := &cobra.Command{
		Use:   "headroom [--query QUERY | --flavor F | --server S] …",
		Short: "Count how many more servers fit, and what runs out first",
		Long: `Headroom counts how many more claims of a query fit: they are simulated on a
copy of placement's records, each after the ones before, until none fits. For
each host it prints how many, and what it lacks for one more.

A query is what GET /allocation_candidates takes, with its path or without; or
what Nova asks for a server of a flavor, each with an image, and with ports and
networks like those that are given; or for a server like one that exists, with
its flavor and ports. Several of them are a mix: it counts rounds, with one
claim of each, or as many as stand before it (3*...).

When the groups of a query can be served by several providers, or hosts share
providers, the number may be known between two bounds only: the first has been
reached by claims, more than the second cannot fit.

Nothing is looked at that placement does not know: server groups, NUMA and PCI
devices of hosts, filters of Nova. Nova's request filters are those that are on
by default, or in the nova.conf of --nova-config. With --flavor and --server,
hosts whose compute service is disabled or down are left out.

` + cloudSourceHelp + `

Exit codes:
  0  at least one fits
  1  could not look; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  6  none fits`,
		Example: `  berth capacity headroom --os-cloud admin --flavor m1.large --image debian
  berth capacity headroom --os-cloud admin --flavor '3*m1.small' \
      --flavor m1.large
  berth capacity headroom --os-cloud admin --server web1
  berth capacity headroom --config /etc/placement/placement.conf \
      --query 'resources=VCPU:2,MEMORY_MB:4096,DISK_GB:20'
  berth capacity headroom --from-file cloud.json --without cn7 \
      --query '3*resources=VCPU:1' --query 'resources=VCPU:8'`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd, env) },
	}
	x.source.flags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&x.queries, "query", nil, "count claims of `QUERY`, the query string of GET /allocation_candidates; may be repeated")
	f.StringArrayVar(&x.flavors, "flavor", nil, "count servers of `FLAVOR`, a name or id; may be repeated")
	f.StringArrayVar(&x.servers, "server", nil, "count servers like `SERVER`, a name or UUID; may be repeated")
	x.serverFlags.flags(cmd)
	x.nova.flags(cmd)
	f.StringArrayVar(&x.without, "without", nil, "count as if `HOST`, a name or UUID, was not there; may be repeated")
	x.out = cli.AddOutput(cmd)
	return cmd
}

// run counts.
func (x *headroomOptions) run(cmd *cobra.Command, env cli.Env) error {
	if len(x.queries)+len(x.servers)+len(x.flavors) == 0 {
		return cli.Fail(cli.ExitUsage, errors.New("nothing says what is to be counted: --query has a query, --flavor a flavor, --server a server that exists"))
	}
	if err := x.check(len(x.flavors) > 0); err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	if err := x.nova.read(); err != nil {
		return err
	}
	parts := cloud.Parts{Need: cloud.PlacementPart}
	if len(x.flavors) > 0 {
		parts.Try |= cloud.ComputePart // host aggregates
	}
	if len(x.servers) > 0 {
		parts.Need |= cloud.ComputePart
		parts.Try |= cloud.NetworkPart
	}
	mix, err := rawParts(x.queries) // before a cloud is read in vain
	if err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	c, s, err := x.source.snapshot(cmd.Context(), env, parts)
	if err != nil {
		return err
	}
	asked, err := x.asked(cmd, env, c)
	if err != nil {
		return err
	}
	mix = append(mix, asked...)
	var out []int64 // roots of hosts that are left out
	for _, name := range x.without {
		host, err := hostNamed(s, name)
		if err != nil {
			return cli.Fail(cli.ExitUsage, err)
		}
		out = append(out, host.Root().ID)
	}
	if len(x.flavors)+len(x.servers) > 0 { // a query counts what placement would grant
		refused := novaquery.Server{}.Refusals(c)
		for host := range s.Trees() {
			if why := refused(host.Root().Name); why != "" && !slices.Contains(out, host.Root().ID) {
				fmt.Fprintf(env.Stderr, "note: %s is left out: %s\n", host.Root().Name, why)
				out = append(out, host.Root().ID)
			}
		}
	}
	s = s.WithTrees(out, placement.TreeRows{}, s.Built())
	most, r, err := left(cmd, s, mix, x.owner)
	switch {
	case cmd.Context().Err() != nil:
		return cli.Fail(cli.ExitFailure, errors.New("interrupted"))
	case err != nil:
		return cli.Fail(cli.ExitUsage, err)
	}
	if err := x.out.Print(env.Stdout, r); err != nil {
		return err
	}
	if most == 0 {
		return cli.Fail(cli.ExitFindings, errors.New("none fits"))
	}
	return nil
}

// asked returns what Nova asks for the servers that the flags describe or name. The error has its exit code.
func (x *headroomOptions) asked(cmd *cobra.Command, env cli.Env, c *cloud.Cloud) (mix []capacity.Part, err error) {
	if len(x.flavors)+len(x.servers) == 0 {
		return nil, nil
	}
	f, end, err := x.source.finder(cmd.Context(), env, c, x.serverFlags, x.nova, len(x.flavors) > 0)
	if err != nil {
		return nil, err
	}
	defer end()
	add := func(words []string, find func(word string) (novaquery.Server, error)) error {
		for _, word := range words {
			weight, name := weighted(word)
			server, err := find(name)
			if err != nil {
				return lookupFailure(err)
			}
			r, err := f.ask(server)
			if err != nil {
				return cli.Fail(cli.ExitUsage, fmt.Errorf("%s: %w", name, err))
			}
			mix = append(mix, capacity.Part{Name: name, Query: r.Query, Weight: weight})
			owner := f.owner(r)
			for _, g := range r.Query.Groups {
				port, _, _ := strings.Cut(owner(g.Suffix), ", group ") // the class tells groups of a port apart
				x.owners[g.Suffix] = port
			}
		}
		return nil
	}
	err = add(x.servers, func(word string) (novaquery.Server, error) {
		if c.Network == nil {
			return novaquery.Server{}, fmt.Errorf("the ports of server %q are not known: there are no records of the network service", word)
		}
		return f.existing(cmd.Context(), word)
	})
	if err != nil {
		return nil, err
	}
	err = add(x.flavors, func(word string) (novaquery.Server, error) { return f.toCreate(cmd.Context(), word) })
	return mix, err
}

// snapshot reads parts of the records and returns them with their snapshot.
func (s *cloudSource) snapshot(ctx context.Context, env cli.Env, parts cloud.Parts) (*cloud.Cloud, *snapshot.Snapshot, error) {
	c, err := s.read(ctx, env, parts)
	if err != nil {
		return nil, nil, err
	}
	snap, err := c.Snapshot()
	return c, snap, cli.Fail(cli.ExitFailure, err)
}

// weighted cuts a weight from the front of a word: "3*web" is 3 and "web", and "web" is 1 and "web".
func weighted(word string) (int64, string) {
	if number, rest, ok := strings.Cut(word, "*"); ok {
		if n, err := strconv.ParseInt(number, 10, 32); err == nil {
			return n, rest
		}
	}
	return 1, word
}

// rawParts parses query strings.
func rawParts(queries []string) (mix []capacity.Part, err error) {
	for _, word := range queries {
		weight, raw := weighted(word)
		raw = queryString(raw)
		q, err := placementapi.CandidatesQuery(raw, microversion.Placement.Max().Minor)
		if err != nil {
			return nil, fmt.Errorf("the query %q: %w", raw, err)
		}
		mix = append(mix, capacity.Part{Name: raw, Query: q, Weight: weight})
	}
	return mix, nil
}

// likeServer returns what Nova asks for a server like one that exists, by its records: without its image, and segments of its networks.
func likeServer(c *cloud.Cloud, settings request.Settings, name string) (placement.Query, error) {
	if c.Network == nil {
		return placement.Query{}, fmt.Errorf("the ports of server %q are not known: there are no records of the network service", name)
	}
	asked, _, err := novaquery.Of(c, name)
	if err != nil {
		return placement.Query{}, err
	}
	settings.RoutedNetworks = false
	r, err := novaquery.Request(asked, c, settings)
	return r.Query, err
}

// hostNamed finds the tree of a host by the name or UUID of a provider in it.
func hostNamed(s *snapshot.Snapshot, name string) (*snapshot.Tree, error) {
	_, t := s.ProviderNamed(name)
	if t == nil {
		_, t = s.Provider(placement.UUID(name))
	}
	if t == nil {
		return nil, fmt.Errorf("there is no provider with the name or UUID %q", name)
	}
	return t, nil
}

// left counts what is left, and returns it with how many fit.
func left(cmd *cobra.Command, s *snapshot.Snapshot, mix []capacity.Part, owner func(string) string) (int64, cli.Result, error) {
	if len(mix) > 1 || mix[0].Weight != 1 {
		c, err := capacity.LeftOfMix(cmd.Context(), s, mix)
		if err != nil {
			return 0, cli.Result{}, err
		}
		return c.Most, mixResult(c, owner), nil
	}
	c, err := capacity.Left(cmd.Context(), s, mix[0].Query)
	if err != nil {
		return 0, cli.Result{}, err
	}
	return c.Most, leftResult(c, owner), nil
}

// leftResult is what "berth capacity headroom" prints for one query.
func leftResult(c *capacity.Count, owner func(string) string) cli.Result {
	r := cli.Result{Columns: []string{"host", "fits", "most", "runs out"}, Value: struct {
		Exact bool `json:"exact"`
		*capacity.Count
	}{c.Exact(), c}}
	for _, h := range c.Hosts {
		var lacks []string
		for _, m := range h.Misses {
			if text := missing(m, owner); !slices.Contains(lacks, text) {
				lacks = append(lacks, text)
			}
		}
		r.Rows = append(r.Rows, []any{h.Name, h.Least, h.Most, lacks})
	}
	r.Text = func(w io.Writer) error {
		fmt.Fprintf(w, "%s\n%s", howMany(c.Range, "more fit"), outFirst(c.RunsOut, owner))
		return r.WriteHead(w)
	}
	return r
}

// mixResult is what it prints for a mix.
func mixResult(c *capacity.MixCount, owner func(string) string) cli.Result {
	r := cli.Result{Columns: []string{"host", "claims of", "fits"}, Value: struct {
		Exact bool `json:"exact"`
		*capacity.MixCount
	}{c.Exact(), c}}
	for _, h := range c.Hosts {
		for _, name := range slices.Sorted(maps.Keys(h.Claims)) {
			r.Rows = append(r.Rows, []any{h.Name, name, h.Claims[name]})
		}
	}
	r.Text = func(w io.Writer) error {
		fmt.Fprintf(w, "%s\nno further claim of %s\n%s", howMany(c.Range, "rounds fit"), c.Stops, outFirst(c.RunsOut, owner))
		return r.WriteHead(w)
	}
	return r
}

// howMany says a number that is exact or between bounds.
func howMany(r capacity.Range, what string) string {
	if r.Exact() {
		return fmt.Sprintf("%d %s (exact)", r.Least, what)
	}
	return fmt.Sprintf("%d %s, and no more than %d can", r.Least, what, r.Most)
}

// outFirst says what runs out on most hosts, in a line for each kind, three at most.
func outFirst(all []capacity.RunsOut, owner func(string) string) string {
	var lines []string
	for _, o := range all {
		line := fmt.Sprintf("%s: %s\n", cli.Count(int(o.Hosts), "host"), missing(explain.Miss{Kind: o.Kind, Group: o.Group, Class: o.Class, Traits: o.Traits, Asked: -1}, owner))
		if len(lines) < 3 && !slices.Contains(lines, line) { // classes of a group have the wrong tree in common
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// missing says what a host lacks. Amounts are left out when Asked is negative.
func missing(m explain.Miss, owner func(string) string) string {
	var text string
	switch m.Kind {
	case "capacity":
		if text = "not enough " + m.Class; m.Asked >= 0 {
			text = fmt.Sprintf("%s of %s: %d of %d", m.Class, m.Provider, m.Most, m.Asked)
		}
	case "units":
		if text = "no such amount of " + m.Class + " in one allocation"; m.Asked >= 0 {
			text = fmt.Sprintf("%s of %s: %s in one allocation, not %d", m.Class, m.Provider, m.Units(), m.Asked)
		}
	case "in_tree":
		text = "not the requested host"
	case "inventory":
		text = "no inventory of " + m.Class
	case "required", "root_required":
		text = "lacks " + strings.Join(m.Traits, ", ")
	case "forbidden":
		text = "has " + strings.Join(m.Traits, ", ")
	case "combination":
		text = "not all groups together"
	default:
		text = m.Kind
	}
	if m.Group != "" {
		text += " (" + owner(m.Group) + ")"
	}
	return text
}

// newCapacityDrain returns "berth capacity drain".
func newCapacityDrain(env cli.Env) *cobra.Command {
	var source cloudSource
	var nova novaSettings
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "drain HOST",
		Short: "Plan where the servers of a host go, move by move",
		Long: `Drain finds another host for everything that has allocations on HOST, the name
or UUID of a provider. Moves are simulated in their order, big servers first,
each on what the ones before leave, so that they can be carried out one by one.
It changes nothing.

For a server whose flavor and ports are in the records it asks what Nova would.
Otherwise, with --config for example, a consumer is taken to need the classes
and amounts that it has, of providers with the same CUSTOM_PHYSNET_* and
CUSTOM_VNIC_TYPE_* traits; the output says so. The host, hosts that are disabled
and those whose compute service is down are left out.

Both hosts of a move are held until it is confirmed. What servers have on shared
providers is counted twice as well, unless only a plan that confirms each move
before the next is found, which the output says.

Servers go only where their server groups and the zones that they are bound to
let them, as far as the compute service tells: groups of all projects to
administrators, zones from 2.96 on. Soft policies are preferences, and ignored.
Not looked at are NUMA and PCI devices of hosts, and requirements of images.

` + cloudSourceHelp + `

Exit codes:
  0  there is a plan for all, or nothing is on the host
  1  could not look; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  6  something has no place, or is moving already`,
		Example: `  berth capacity drain --os-cloud admin cn7
  berth capacity drain --config /etc/placement/placement.conf cn7 -f json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes the name or UUID of one host", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := nova.read(); err != nil {
				return err
			}
			c, s, err := source.snapshot(cmd.Context(), env, cloud.All)
			if err != nil {
				return err
			}
			host, err := hostNamed(s, args[0])
			if err != nil {
				return cli.Fail(cli.ExitUsage, err)
			}
			holders, waiting, err := capacity.Holders(c, s, host, func(of *cloud.Server) (placement.Query, error) { return likeServer(c, nova.settings, of.UUID) })
			if err != nil {
				return cli.Fail(cli.ExitFailure, err)
			}
			if c.Compute != nil {
				nova.note(env)
				if c.Compute.Groups == nil {
					fmt.Fprintln(env.Stderr, "note: there are no records of server groups: moves that they forbid are planned too")
				}
				zones := slices.ContainsFunc(c.Compute.Aggregates, func(a cloud.Aggregate) bool { return a.Metadata["availability_zone"] != "" })
				if zones && !c.Compute.ZonesKnown {
					fmt.Fprintln(env.Stderr, "note: the compute service does not say which zones servers are bound to (before 2.96): moves out of them are planned too")
				}
			}
			refused := novaquery.Server{}.Refusals(c)
			unfit := func(t *snapshot.Tree) bool { return refused(t.Root().Name) != "" }
			plan, err := capacity.Empty(cmd.Context(), s, host, holders, unfit)
			switch {
			case cmd.Context().Err() != nil:
				return cli.Fail(cli.ExitFailure, errors.New("interrupted"))
			case err != nil:
				return cli.Fail(cli.ExitFailure, err)
			}
			plan.Waiting = waiting
			if err := out.Print(env.Stdout, planResult(plan, c)); err != nil {
				return err
			}
			if n := len(plan.Stuck) + len(plan.Waiting); n > 0 {
				return cli.Fail(cli.ExitFindings, fmt.Errorf("%s cannot be emptied: %d of %d consumers have no place or are moving", plan.Host, n, n+len(plan.Moves)))
			}
			return nil
		},
	}
	source.flags(cmd)
	nova.flags(cmd)
	out = cli.AddOutput(cmd)
	return cmd
}

// planResult is what "berth capacity drain" prints: a line for each consumer. Reasons name the ports of groups, in the result for people.
func planResult(p *capacity.Plan, c *cloud.Cloud) cli.Result {
	var groups []string
	if c.Network != nil {
		for i := range c.Network.Ports {
			if of := &c.Network.Ports[i]; of.Request != nil {
				for _, g := range of.Request.Groups {
					groups = append(groups, "group "+cmp.Or(g.ID, of.UUID)+":", "port "+cmp.Or(of.Name, of.UUID)+":") // as ask calls them
				}
			}
		}
	}
	named := strings.NewReplacer(groups...)
	r := cli.Result{Columns: []string{"move", "consumer", "name", "to", "note"}, Value: p}
	assumed := 0
	for i, m := range p.Moves {
		r.Rows = append(r.Rows, []any{i + 1, m.Consumer, m.Name, m.To, nil})
		assumed += min(len(m.Assumed), 1)
	}
	for _, s := range p.Stuck {
		note := "no place: " + s.Reason
		if s.Alone {
			note = "no place beside the others: " + s.Reason
		}
		r.Rows = append(r.Rows, []any{nil, s.Consumer, s.Name, nil, note})
		assumed += min(len(s.Assumed), 1)
	}
	for _, w := range p.Waiting {
		r.Rows = append(r.Rows, []any{nil, w.Consumer, nil, nil, w.Reason})
	}
	r.Text = func(w io.Writer) error {
		all := len(p.Moves) + len(p.Stuck) + len(p.Waiting)
		switch {
		case all == 0:
			_, err := fmt.Fprintf(w, "nothing has allocations on %s\n", p.Host)
			return err
		case all == len(p.Moves):
			fmt.Fprintf(w, "%s can be emptied with %s\n", p.Host, cli.Count(all, "move"))
		case p.Proven && len(p.Stuck) > 0:
			fmt.Fprintf(w, "%s cannot be emptied; these moves can be made, %d of %d\n", p.Host, len(p.Moves), all)
		default:
			fmt.Fprintf(w, "no plan was found that empties %s; these moves can be made, %d of %d\n", p.Host, len(p.Moves), all)
		}
		if p.Confirm {
			fmt.Fprintln(w, "each move has to be confirmed before the next begins")
		}
		if assumed > 0 {
			fmt.Fprintf(w, "%d of them are taken to need what they have: their flavors and ports are not known\n", assumed)
		}
		var rows [][]any
		for _, row := range r.Rows {
			row = slices.Clone(row)
			for i, v := range row {
				if v == nil {
					row[i] = ""
				}
			}
			row[4] = named.Replace(row[4].(string))
			rows = append(rows, row)
		}
		return cli.WriteTable(w, r.Columns, rows)
	}
	return r
}
