package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/ops/reshape"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/providertree"
)

// reshapeOptions are the flags of "berth reshape".
type reshapeOptions struct {
	env    cli.Env
	source cloudSource
	host   string
	file   string
	apply  bool
	dryRun bool
	yes    bool
	out    *cli.Output
}

// NewReshape returns "berth reshape".
func NewReshape(env cli.Env) *cobra.Command {
	o := &reshapeOptions{env: env}
	cmd := &cobra.Command{
		Use:   "reshape --host HOST --moves FILE [--apply]",
		Short: "Move inventories in use between the providers of a host",
		Long: `Reshape moves inventories from providers of a host to others of the same host,
with what servers and migrations have allocated of them, in one request to
placement's reshaper: at no moment is more offered than the host has, and no
server has to leave it. It works on any OpenStack cloud. Hosts move by
themselves what they know, when they start; this is for what nobody but the
operator knows, such as which of two cards has become which.

FILE is a list of moves, in YAML or JSON, - is standard input:

  - from_resource_provider: cn1
    moved_resources: {VGPU: 4}
    to_resource_provider: cn1_pci_0000_84_00_0
    consumers: {5e57b85f-b017-419a-8745-9c406e149f9e: 1}

Providers are names or UUIDs of the host's tree; one that does not exist is
created below the host. A move may have several classes. to_resource_class moves
to another class, VCPU to PCPU for example. consumers says how much of the class
consumers have there; where all of a class moves to one provider, everybody
moves and it can be left out, and where a part of it stays, consumers that no
move names stay.

Without --apply nothing is changed: the tree is printed as it is and as it would
be. A tree that others change meanwhile is read again. The user needs the role
that placement's policy rule placement:reshaper:reshape wants, which is service
by default: an administrator may not.

Exit codes:
  0  there is nothing to move, or all of it was moved
  1  could not read or change the cloud; standard error says why
  2  wrong arguments, or moves that cannot be made
  6  there is something to move (without --apply)`,
		Example: `  berth reshape --os-cloud nova --host cn1 --moves moves.yaml
  berth reshape --os-cloud nova --host cn1 --moves moves.yaml --apply`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.source.apiFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.host, "host", "", "`HOST`: host whose tree changes (name or UUID of its provider)")
	f.StringVar(&o.file, "moves", "", "`FILE`: list of moves; - is standard input")
	f.BoolVar(&o.apply, "apply", false, "send the request")
	f.BoolVar(&o.dryRun, "dry-run", false, "change nothing, which is the default")
	f.BoolVar(&o.yes, "yes", false, "send it without a confirmation")
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run plans the moves, and carries them out.
func (o *reshapeOptions) run(ctx context.Context) error {
	moves, err := o.read()
	if err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	cloud, err := o.source.connect(ctx, o.env)
	if err != nil {
		return err
	}
	service := placementclient.New(client.Options{
		Access: cloud.ServiceAccess("placement"), HTTP: cloud.HTTP(), Retries: 2,
	})
	defer service.Close()
	root, err := rootOf(ctx, service, o.host)
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	tree, err := providertree.Read(ctx, service, root)
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	plan, err := reshape.New(root, tree, moves)
	if err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	if !o.apply || len(plan.Changes) == 0 {
		if err := o.out.Print(o.env, reshapeResult(&plan, false)); err != nil || len(plan.Changes) == 0 {
			return err
		}
		return cli.Fail(cli.ExitFindings, errors.New("nothing was changed; --apply makes the moves"))
	}
	if !o.yes && cli.IsTerminal(o.env.Stdin) {
		writeReshape(o.env.Stderr, &plan, false)
	}
	if err := cli.Confirm(ctx, o.env.Stderr, o.env.Stdin, o.yes); err != nil {
		return err
	}
	plan, err = reshape.Apply(ctx, service, root, moves)
	kind, _ := fault.Of(err)
	switch {
	case err != nil && kind == fault.Unavailable:
		return cli.Fail(cli.ExitFailure, fmt.Errorf("%w; it is not known whether the moves were made: run it again", err))
	case err != nil:
		return cli.Fail(cli.ExitFailure, err)
	}
	return o.out.Print(o.env, reshapeResult(&plan, true))
}

// read checks the flags, and reads the moves.
func (o *reshapeOptions) read() ([]reshape.Move, error) {
	switch {
	case o.host == "":
		return nil, errors.New("--host is absent: the name or the UUID of a host's provider")
	case o.file == "":
		return nil, errors.New("--moves is absent: a file with a list of moves, or -")
	case o.apply && o.dryRun:
		return nil, errors.New("--apply and --dry-run exclude each other")
	case o.yes && !o.apply:
		return nil, errors.New("--yes is for --apply")
	}
	if err := o.out.Check(reshapeColumns); err != nil {
		return nil, err
	}
	in := o.env.Stdin
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	moves, err := reshape.Parse(in)
	if err != nil {
		err = fmt.Errorf("%s: %w", o.file, err)
	}
	return moves, err
}

// rootOf returns the root of a host's tree.
func rootOf(ctx context.Context, c providertree.Placement, host string) (placement.UUID, error) {
	found, err := c.Named(ctx, host)
	if errors.Is(err, allocations.ErrNoProvider) {
		tree, failed := c.Tree(ctx, placement.UUID(host), func(providertree.Provider) bool { return false })
		i := slices.IndexFunc(tree.Providers, func(p providertree.Provider) bool { return string(p.ID) == host })
		if failed != nil || i < 0 {
			return "", fmt.Errorf("placement has no provider with the name or the UUID %s", host)
		}
		found, err = tree.Providers[i], nil
	}
	if err == nil && found.Parent != "" {
		err = fmt.Errorf("%s is not a host: it is below another provider", host)
	}
	return found.ID, err
}

var reshapeColumns = []string{
	"Provider", "Resource Class", "Total", "Allocated", "Total After", "Allocated After",
}

// A reshapeMove is what one consumer has moved.
type reshapeMove struct {
	Consumer  string         `json:"consumer"`
	From      placement.UUID `json:"from_resource_provider"`
	FromClass string         `json:"resource_class"`
	To        placement.UUID `json:"to_resource_provider"`
	ToClass   string         `json:"to_resource_class"`
	Amount    int64          `json:"amount"`
}

// A reshapeDocument is the result for programs.
type reshapeDocument struct {
	Changes []reshape.Change `json:"changes"`
	Moves   []reshapeMove    `json:"moves"`
	Applied bool             `json:"applied"`
}

func reshapeResult(p *reshape.Plan, applied bool) cli.Result {
	doc := reshapeDocument{Changes: p.Changes, Moves: []reshapeMove{}, Applied: applied}
	if doc.Changes == nil {
		doc.Changes = []reshape.Change{}
	}
	for _, m := range p.Moves {
		doc.Moves = append(doc.Moves, reshapeMove{m.Consumer, m.From, m.FromClass, m.To, m.ToClass, m.Amount})
	}
	r := cli.Result{
		Columns: reshapeColumns, Value: doc,
		Text: func(w io.Writer) error { return writeReshape(w, p, applied) },
	}
	for _, c := range p.Changes {
		r.Rows = append(r.Rows, []any{
			c.Provider, c.Class, c.Before.Total, c.Before.Allocated, c.After.Total, c.After.Allocated,
		})
	}
	return r
}

// writeReshape writes the changes of a tree as a diff, and who moves.
func writeReshape(w io.Writer, p *reshape.Plan, applied bool) error {
	if len(p.Changes) == 0 {
		_, err := fmt.Fprintln(w, "There is nothing to move: all moves were made already.")
		return err
	}
	names := map[placement.UUID]string{}
	for _, c := range p.Changes {
		names[c.UUID] = c.Provider
	}
	last := ""
	for _, c := range p.Changes {
		if c.Provider != last {
			created := ""
			if c.New {
				created = " (new)"
			}
			fmt.Fprintf(w, "  %s%s\n", c.Provider, created)
			last = c.Provider
		}
		if c.Before.Total > 0 {
			fmt.Fprintf(w, "-   %s: %d, %d allocated\n", c.Class, c.Before.Total, c.Before.Allocated)
		}
		if c.After.Total > 0 {
			fmt.Fprintf(w, "+   %s: %d, %d allocated\n", c.Class, c.After.Total, c.After.Allocated)
		}
	}
	consumers := map[string]bool{}
	for _, m := range p.Moves {
		consumers[m.Consumer] = true
		fmt.Fprintf(w, "%s: %d %s of %s → %d %s of %s\n", m.Consumer, m.Amount, m.FromClass, names[m.From], m.Amount,
			m.ToClass,
			names[m.To])
	}
	verb := "would change"
	if applied {
		verb = "changed"
	}
	_, err := fmt.Fprintf(w, "One request %s %s with %s of allocations of %s.\n", verb, cli.Count(len(names), "provider"),
		cli.Count(len(p.Moves), "move"), cli.Count(len(consumers), "consumer"))
	return err
}
