package operators

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/cmd/berth/internal/database"
	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
)

// CompletionTime is how long a shell waits for names from a cloud. A service that does not answer
// by then has no completions.
const CompletionTime = 2 * time.Second

// namedFlags are the flags whose values are names from a cloud, in the commands that read one.
var namedFlags = map[string]string{
	"host": cloudapi.Hosts, "without": cloudapi.Hosts, "server": cloudapi.Servers, "flavor": cloudapi.Flavors,
	"image": cloudapi.Images,
	"port":  cloudapi.Ports, "network": cloudapi.Networks, "tree": cloudapi.Hosts, "class": cloudapi.Classes,
	"consumer": consumers,
}

// consumers are the UUIDs of placement's consumers. A cloud's APIs have no list of them: there it
// is servers.
const consumers = "consumer"

// CompleteNames adds completions of names from a cloud to a command and all below it that read one:
// to flags, and to an argument HOST.
func CompleteNames(cmd *cobra.Command, env cli.Env) {
	if cmd.Flags().Lookup("os-cloud") != nil {
		for name, kind := range namedFlags {
			if f := cmd.Flags().Lookup(name); f != nil && f.NoOptDefVal == "" {
				_ = cmd.RegisterFlagCompletionFunc(name, names(env, kind)) // the flag exists, and has none
			}
		}
		if strings.HasSuffix(cmd.Use, " HOST") {
			host := names(env, cloudapi.Hosts)
			cmd.ValidArgsFunction = func(
				cmd *cobra.Command, args []string, prefix string,
			) ([]cobra.Completion, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return host(cmd, args, prefix)
			}
		}
	}
	for _, sub := range cmd.Commands() {
		CompleteNames(sub, env)
	}
}

// names completes names of a kind from the cloud, the database or the file that the flags name, or
// the variables. It offers the id of what has no name or shares it. It is silent about what it
// cannot read.
func names(env cli.Env, kind string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), CompletionTime)
		defer cancel()
		weight := "" // of berth capacity headroom: 3*small
		if number, rest, ok := strings.Cut(prefix, "*"); ok {
			weight, prefix = number+"*", rest
		}
		all, byID := readNames(ctx, cmd, env, kind, prefix)
		count := map[string]int{}
		for _, n := range all {
			count[n.Name]++
		}
		var offers []cobra.Completion
		for _, n := range all {
			word, description := n.Name, n.ID
			if n.Name == "" || count[n.Name] > 1 || byID {
				word, description = n.ID, n.Name
			}
			switch {
			case !strings.HasPrefix(word, prefix):
			case word == description:
				offers = append(offers, weight+word)
			default:
				offers = append(offers, cobra.CompletionWithDesc(weight+word, description))
			}
		}
		slices.Sort(offers)
		return offers, cobra.ShellCompDirectiveNoFileComp
	}
}

// readNames returns what there is of a kind, and whether it is named by its ids only, as consumers
// are. Where servers are not on record they are consumers.
func readNames(
	ctx context.Context, cmd *cobra.Command, env cli.Env, kind, prefix string,
) (all []cloudapi.Named, byID bool) {
	flag := func(name string) string { return cmd.Flag(name).Value.String() }
	source := database.Source{Connection: flag("connection"), Once: true}
	source.Files, _ = cmd.Flags().GetStringArray("config") // every command that reads a cloud has both
	source.Dirs, _ = cmd.Flags().GetStringArray("config-dir")
	records := cloudSource{file: flag("from-file")}
	switch {
	case records.file == "-":
		return nil, false
	case records.file != "":
		c, err := records.readFile(nil)
		if err != nil {
			return nil, false
		}
		if kind == cloudapi.Servers && c.Compute == nil {
			kind = consumers
		}
		return namesInRecords(c, kind), kind == consumers
	case source.Given():
		env.Stderr = io.Discard
		if kind == cloudapi.Servers {
			kind = consumers
		}
		_ = source.Work(ctx, env, dbtool.Look, func(db *database.DB) error { // the names that were read
			list, err := db.Names(ctx, kind, prefix)
			for _, n := range list {
				all = append(all, cloudapi.Named(n))
			}
			return err
		})
		return all, kind == consumers
	}
	o := cloudapi.Options{
		Cloud: flag("os-cloud"), Region: flag("os-region-name"), Interface: flag("os-interface"), Environ: env.Environ,
	}
	client, err := cloudapi.Connect(ctx, o)
	if err != nil {
		return nil, false
	}
	list, named := kind, prefix
	if kind == consumers {
		list, named = cloudapi.Servers, "" // which are found by the beginning of their names
	}
	all, _ = client.Names(ctx, list, named) // the names that were read
	return all, kind == consumers
}

// namesInRecords returns what records have of a kind.
func namesInRecords(c *cloud.Cloud, kind string) (all []cloudapi.Named) {
	switch {
	case kind == cloudapi.Hosts && c.Placement != nil:
		for _, p := range c.Placement.Providers {
			if p.Parent == "" {
				all = append(all, cloudapi.Named{ID: p.UUID, Name: p.Name})
			}
		}
	case kind == cloudapi.Classes && c.Placement != nil:
		for _, class := range c.Placement.Classes {
			all = append(all, cloudapi.Named{ID: class, Name: class})
		}
	case kind == consumers && c.Placement != nil:
		for _, consumer := range c.Placement.Consumers {
			all = append(all, cloudapi.Named{ID: consumer.UUID, Name: consumer.Project})
		}
	case kind == cloudapi.Servers && c.Compute != nil:
		for _, s := range c.Compute.Servers {
			all = append(all, cloudapi.Named{ID: s.UUID, Name: s.Name})
		}
	case kind == cloudapi.Ports && c.Network != nil:
		for _, p := range c.Network.Ports {
			all = append(all, cloudapi.Named{ID: p.UUID, Name: p.Name})
		}
	}
	return all
}
