package operators

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/explain"
)

// checkOwn refuses flags that --own has no use for: what names hosts, and what users cannot read.
func (x *explainOptions) checkOwn() error {
	if x.own && (x.server+x.request+x.host+x.Zone+x.Project+x.nova.file != "" || len(x.hints) > 0) {
		return cli.Fail(cli.ExitUsage, errors.New("--own is about a QUERY, or a --flavor with --image, --port and --network"))
	}
	return nil
}

// runOwn has the placement service explain the request to a user who may not see the cloud.
func (x *explainOptions) runOwn(ctx context.Context, args []string) error {
	if x.source.file != "" || x.source.db.Given() {
		return cli.Fail(cli.ExitUsage, errors.New("--own: the placement service answers, and no records are read"))
	}
	client, err := x.source.connect(ctx, x.env)
	if err != nil {
		return lookupFailure(err)
	}
	q, err := x.ownQuery(ctx, client, args)
	if err != nil {
		return lookupFailure(err)
	}
	var own explain.Own
	switch err := client.ExplainOwn(ctx, placementclient.Parameters(q), &own); {
	case errors.Is(err, cloudapi.ErrNotBerth):
		return cli.Fail(cli.ExitFailure, errors.New("the placement service is not Berth's: it explains nothing to users"))
	case err != nil:
		return cli.Fail(cli.ExitFailure, err)
	}
	if err := x.printOwn(&own); err != nil {
		return err
	}
	if !own.Fits {
		return cli.Fail(cli.ExitFindings, errors.New("no host can serve the request now"))
	}
	return nil
}

// ownQuery returns the query of the arguments, or that of Nova's release for the flavor.
func (x *explainOptions) ownQuery(
	ctx context.Context, client *cloudapi.Client, args []string,
) (q placement.Query, err error) {
	if len(args) == 1 {
		q, err = placementapi.CandidatesQuery(placementapi.LoggedQuery(args[0]), microversion.Placement.Max().Minor)
		if err != nil {
			return q, cli.Fail(cli.ExitUsage, fmt.Errorf("the query: %w", err))
		}
		return q, nil
	}
	x.nova.silent = true
	if err := x.nova.read(); err != nil {
		return q, err
	}
	version, err := client.ComputeVersion(ctx)
	if err != nil {
		return q, err
	}
	return x.query(ctx, &cloud.Cloud{Source: client.Source(), Compute: &cloud.Compute{Version: version}})
}

// printOwn prints the answer.
func (x *explainOptions) printOwn(own *explain.Own) error {
	owner := x.owner
	if owner == nil {
		owner = func(suffix string) string { return "group " + suffix }
	}
	r := cli.Result{
		Columns: []string{"Change", "Group", "Name"},
		Value: struct {
			Summary string `json:"summary"`
			*explain.Own
		}{own.Summary(), own},
		Text: func(w io.Writer) error {
			if own.Fits {
				_, err := fmt.Fprintln(w, "A host can serve the request now.")
				return err
			}
			text := "No host can serve the request now, and no single change of it helps.\n"
			if len(own.Changes) > 0 {
				text = "No host can serve the request now. One could with one of these changes:\n"
			}
			for _, c := range own.Changes {
				text += "  if " + c.Describe(owner) + "\n"
			}
			_, err := io.WriteString(w, text)
			return err
		},
	}
	for _, c := range own.Changes {
		r.Rows = append(r.Rows, []any{string(c.Kind), c.Group, c.Name})
	}
	return x.out.Print(x.env, r)
}
