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
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/ops/capacity"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/novaquery"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/explain"
	"github.com/berthcloud/berth/placement/snapshot"
)

// headroomOptions are the flags of "berth capacity headroom".
type headroomOptions struct {
	serverFlags

	env                                cli.Env
	source                             cloudSource
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
	x := &headroomOptions{env: env, owners: map[string]string{}}
	cmd := &cobra.Command{
		Use:   "headroom [--query QUERY | --flavor F | --server S] …",
		Short: "Count how many more servers fit, and what runs out first",
		Long: `Headroom counts how many more claims of a query fit: they are simulated on a
copy of placement's records, each after the ones before, until none fits. For
each host it prints how many, and what it lacks for one more.

A query is what GET /allocation_candidates takes, with its path or without; or
that of Nova for a server of a flavor, each with an image, and with ports and
networks like those that are given; or for a server like one that exists, with
its flavor and ports. Several of them are a mix: it counts rounds, with one
claim of each, or as many as stand before it (3*...).

When the groups of a query can be served by several providers, or hosts share
providers, the number may be known between two bounds only: the first has been
reached by claims, more than the second cannot fit.

What placement does not know is ignored: server groups, NUMA and PCI devices of
hosts, filters of Nova. Nova's request filters are those that are on by default,
or in the nova.conf of --nova-config. With --flavor and --server, hosts whose
compute service is disabled or down are excluded.

Exit codes:
  0  at least one fits
  1  the records could not be read; standard error says why
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
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd.Context()) },
	}
	x.source.flags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&x.queries, "query", nil,
		"`QUERY`: query string of GET /allocation_candidates to count claims of; may be repeated")
	f.StringArrayVar(&x.flavors, "flavor", nil, "`FLAVOR`: flavor of servers to count (name or ID); may be repeated")
	f.StringArrayVar(&x.servers, "server", nil, "`SERVER`: server to count more like it (name or UUID); may be repeated")
	x.serverFlags.flags(cmd)
	f.StringArrayVar(&x.without, "without", nil, "`HOST`: host to exclude (name or UUID); may be repeated")
	x.out = cli.AddOutput(cmd)
	return cmd
}

// run counts.
func (x *headroomOptions) run(ctx context.Context) error {
	if len(x.queries)+len(x.servers)+len(x.flavors) == 0 {
		return cli.Fail(cli.ExitUsage, errors.New("nothing says what is to be counted: --query has a query, --flavor a "+
			"flavor, --server a server that exists"))
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
	c, s, err := x.source.snapshot(ctx, x.env, parts)
	if err != nil {
		return err
	}
	noteSpentDevices(x.env, c)
	servers, err := x.serverParts(ctx, c)
	if err != nil {
		return err
	}
	mix = append(mix, servers...)
	var excluded []int64 // roots of hosts
	for _, name := range x.without {
		host, err := hostNamed(s, name)
		if err != nil {
			return cli.Fail(cli.ExitUsage, err)
		}
		excluded = append(excluded, host.Root().ID)
	}
	if len(x.flavors)+len(x.servers) > 0 { // a query counts what placement would grant
		refused := novaquery.Server{}.Refusals(c)
		for host := range s.Trees() {
			if why := refused(host.Root().Name); why != "" && !slices.Contains(excluded, host.Root().ID) {
				fmt.Fprintf(x.env.Stderr, "note: %s is excluded: %s\n", host.Root().Name, why)
				excluded = append(excluded, host.Root().ID)
			}
		}
	}
	s = s.WithTrees(excluded, placement.TreeRows{}, s.Built())
	most, r, err := headroom(ctx, s, mix, x.owner)
	switch {
	case ctx.Err() != nil:
		return cli.Fail(cli.ExitFailure, errors.New("interrupted"))
	case err != nil:
		return cli.Fail(cli.ExitUsage, err)
	}
	if err := x.out.Print(x.env, r); err != nil {
		return err
	}
	if most == 0 {
		return cli.Fail(cli.ExitFindings, errors.New("none fits"))
	}
	return nil
}

// serverParts returns Nova's queries for the servers that the flags describe or name. The error has
// its exit code.
func (x *headroomOptions) serverParts(ctx context.Context, c *cloud.Cloud) (mix []capacity.Part, err error) {
	if len(x.flavors)+len(x.servers) == 0 {
		return nil, nil
	}
	f, end, err := x.source.finder(ctx, x.env, c, x.serverFlags, len(x.flavors) > 0)
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
			r, err := f.Query(server)
			if err != nil {
				return cli.Fail(cli.ExitUsage, fmt.Errorf("%s: %w", name, err))
			}
			mix = append(mix, capacity.Part{Name: name, Query: r.Query, Weight: weight})
			owner := f.Owner(r)
			for _, g := range r.Query.Groups {
				port, _, _ := strings.Cut(owner(g.Suffix), ", group ") // the class distinguishes groups of a port
				x.owners[g.Suffix] = port
			}
		}
		return nil
	}
	err = add(x.servers, func(word string) (novaquery.Server, error) {
		if c.Network == nil {
			return novaquery.Server{},
				fmt.Errorf("the ports of server %q are not known: there are no records of the network service", word)
		}
		return f.Existing(ctx, word)
	})
	if err != nil {
		return nil, err
	}
	err = add(x.flavors, func(word string) (novaquery.Server, error) { return f.New(ctx, word) })
	return mix, err
}

// weighted cuts a weight from the front of a word: "3*web" is 3 and "web", and "web" is 1 and
// "web".
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
		raw = placementapi.LoggedQuery(raw)
		q, err := placementapi.CandidatesQuery(raw, microversion.Placement.Max().Minor)
		if err != nil {
			return nil, fmt.Errorf("the query %q: %w", raw, err)
		}
		mix = append(mix, capacity.Part{Name: raw, Query: q, Weight: weight})
	}
	return mix, nil
}

// headroom counts what still fits, and returns it with the number.
func headroom(
	ctx context.Context, s *snapshot.Snapshot, mix []capacity.Part, owner func(string) string,
) (int64, cli.Result, error) {
	if len(mix) > 1 || mix[0].Weight != 1 {
		c, err := capacity.MixHeadroom(ctx, s, mix)
		if err != nil {
			return 0, cli.Result{}, err
		}
		return c.Most, mixResult(c, owner), nil
	}
	c, err := capacity.Headroom(ctx, s, mix[0].Query)
	if err != nil {
		return 0, cli.Result{}, err
	}
	return c.Most, headroomResult(c, owner), nil
}

// headroomResult is what "berth capacity headroom" prints for one query.
func headroomResult(c *capacity.Count, owner func(string) string) cli.Result {
	r := cli.Result{Columns: []string{"Host", "Fits", "Most", "Runs Out"}, Value: struct {
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
		fmt.Fprintf(w, "%s\n%s", howMany(c.Range, "more fit"), outFirst(c.Exhausted, owner))
		return r.WriteHead(w)
	}
	return r
}

// mixResult is what it prints for a mix.
func mixResult(c *capacity.MixCount, owner func(string) string) cli.Result {
	r := cli.Result{Columns: []string{"Host", "Claims Of", "Fits"}, Value: struct {
		Exact bool `json:"exact"`
		*capacity.MixCount
	}{c.Exact(), c}}
	for _, h := range c.Hosts {
		for _, name := range slices.Sorted(maps.Keys(h.Claims)) {
			r.Rows = append(r.Rows, []any{h.Name, name, h.Claims[name]})
		}
	}
	r.Text = func(w io.Writer) error {
		fmt.Fprintf(w, "%s\nno further claim of %s\n%s", howMany(c.Range, "rounds fit"), c.Stops,
			outFirst(c.Exhausted, owner))
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
func outFirst(all []capacity.Exhausted, owner func(string) string) string {
	var lines []string
	for _, o := range all {
		line := fmt.Sprintf("%s: %s\n", cli.Count(int(o.Hosts), "host"),
			missing(explain.Miss{Kind: o.Kind, Group: o.Group, Class: o.Class, Traits: o.Traits, Requested: -1}, owner))
		if len(lines) < 3 && !slices.Contains(lines, line) { // classes of a group have the wrong tree in common
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// missing says what a host lacks. Amounts are omitted when Requested is negative.
func missing(m explain.Miss, owner func(string) string) string {
	var text string
	switch m.Kind {
	case "capacity":
		if text = "not enough " + m.Class; m.Requested >= 0 {
			text = fmt.Sprintf("%s of %s: %d of %d", m.Class, m.Provider, m.Most, m.Requested)
		}
	case "units":
		if text = "no such amount of " + m.Class + " in one allocation"; m.Requested >= 0 {
			text = fmt.Sprintf("%s of %s: %s in one allocation, not %d", m.Class, m.Provider, m.Units(), m.Requested)
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
		text = string(m.Kind)
	}
	if m.Group != "" {
		text += " (" + owner(m.Group) + ")"
	}
	return text
}
