package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/dbtool"
)

// The constants of upstream's command (placement.cmd.manage, db_online_data_migrations).
const (
	// migrateBatch is how many rows a transaction changes.
	migrateBatch = 50
	// novaRowsFailed is upstream's code when rows could not be changed, and there are none to change
	// otherwise.
	novaRowsFailed = 2
)

// A migrated is the result of one migration in JSON, with the columns of upstream's table. Both
// numbers are the same: upstream counts the rows that its query matches first, and a migration
// here says only how many rows it has changed.
type migrated struct {
	Name  string `json:"migration"`
	Found int    `json:"found"`
	Done  int    `json:"completed"`
}

// A migration changes at most a given number of rows and returns the number of rows that it has
// changed.
type migration struct {
	name string
	run  func(ctx context.Context, most int) (int, error)
}

// migrations are upstream's online data migrations by their names.
func (db *DB) migrations() []migration {
	berth := db.cfg.Placement
	return []migration{
		{"set_root_provider_ids", db.SetRoots},
		{"create_incomplete_consumers", func(ctx context.Context, most int) (int, error) {
			return db.CreateConsumers(ctx, most, berth.IncompleteConsumerProjectID, berth.IncompleteConsumerUserID)
		}},
	}
}

// migrateOptions are the flags of "berth db online-data-migrations".
type migrateOptions struct {
	env    cli.Env
	source Source
	out    *cli.Output
	count  string
	nova   bool
}

// newDBMigrate returns "berth db online-data-migrations", with upstream's name as an alias, its
// exit codes and its output.
func newDBMigrate(env cli.Env) *cobra.Command {
	o := &migrateOptions{env: env}
	cmd := &cobra.Command{
		Use:     "online-data-migrations [--config FILE | --connection URL]\n        [--max-count N] [-f FORMAT]",
		Aliases: []string{"online_data_migrations"},
		Short:   "Complete rows that old releases have not completed",
		Long: `Online-data-migrations does what placement-manage db online_data_migrations
does: it sets the root of providers without one, and creates missing records of
consumers that have allocations, with [placement] incomplete_consumer_project_id
and incomplete_consumer_user_id. Upgrades (berth db sync) need it.

It works in batches, each in a transaction of its own. It may be repeated, run
while services use the database, and run several times at once. A SQLite file
can be used by one berth at a time: stop the service first.

Exit codes:
  0  complete
  1  rows could not be changed; standard error says why
  2  wrong arguments or settings
  3  the database cannot be used
  4  the database is in use by another process
  6  --max-count rows were changed, and there may be more: run it again

With --nova-exit-codes they are those of placement-manage and nova-manage, see
berth help exit-codes.`,
		Example: `  berth db online-data-migrations --config /etc/placement/placement.conf
  until berth db online-data-migrations --max-count 1000; do sleep 10; done`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.source.Flags(cmd.Flags())
	cmd.Flags().StringVar(&o.count, "max-count", "", "`N`: number of rows to change at most")
	cmd.Flags().BoolVar(&o.nova, "nova-exit-codes", false, "exit with the codes of placement-manage and nova-manage")
	o.out = cli.AddOutput(cmd)
	return cmd
}

// run completes rows.
func (o *migrateOptions) run(ctx context.Context) error {
	if err := o.out.Check(migrationColumns); err != nil {
		return err
	}
	most, err := o.most()
	if err != nil {
		return err
	}
	return o.source.Work(ctx, o.env, dbtool.Change, func(db *DB) error {
		if err := db.Ready(ctx); err != nil {
			return fmt.Errorf("the database %s: %w", db.Name, err)
		}
		m := &migrator{steps: db.migrations(), most: most, env: o.env, out: o.out, nova: o.nova}
		return m.run(ctx)
	})
}

// most parses --max-count; 0 is no bound.
func (o *migrateOptions) most() (int, error) {
	if o.count == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(o.count)
	if err != nil || n < 1 {
		code := cli.ExitUsage
		if o.nova {
			code = cli.NovaBadInput
		}
		return 0, cli.Fail(code, fmt.Errorf("--max-count %s: it must be a positive number", o.count))
	}
	return n, nil
}

// A migrator runs migrations until no row remains, or once when the number of rows is bounded.
type migrator struct {
	steps []migration
	env   cli.Env
	out   *cli.Output
	most  int  // 0 for no bound
	nova  bool // with the exit codes of upstream's command

	done   map[string]int
	failed error // of the last round
}

// run runs the migrations and prints the result. As upstream's command, it fails while there may be
// more rows, and when rows could not be changed. With a bound, errors do not count while the last
// round has changed rows: what remains may depend on them.
func (m *migrator) run(ctx context.Context) error {
	m.done = make(map[string]int)
	if m.most == 0 {
		m.say("Running batches of %d until complete\n", migrateBatch)
	}
	last := m.round(ctx)
	for last > 0 && m.most == 0 && ctx.Err() == nil {
		last = m.round(ctx)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.out.Print(m.env, m.result()); err != nil {
		return err
	}
	switch {
	case m.failed != nil && (m.most == 0 || last == 0):
		code := cli.ExitFailure
		if m.nova {
			code = novaRowsFailed
		}
		return cli.Fail(code, fmt.Errorf("some rows could not be changed: %w", m.failed))
	case last > 0:
		code := cli.ExitFindings
		if m.nova {
			code = cli.ExitFailure // upstream's, too
		}
		return cli.Fail(code, fmt.Errorf("%d rows were changed, and there may be more: run it again", last))
	}
	return nil
}

// say prints a line of upstream's output, unless the result is for programs.
func (m *migrator) say(format string, args ...any) {
	if m.out.ForPeople() {
		fmt.Fprintf(m.env.Stdout, format, args...)
	}
}

// round runs each migration once, within the bound for all of them, and returns the number of
// changed rows.
func (m *migrator) round(ctx context.Context) (changed int) {
	most := m.most
	if most == 0 {
		most = migrateBatch
	}
	m.failed = nil
	for _, step := range m.steps {
		n, err := step.run(ctx, most-changed)
		if err != nil {
			m.failed = errors.Join(m.failed, fmt.Errorf("%s: %w", step.name, err))
			n = 0
		}
		if n > 0 {
			m.say("%d rows matched query %s, %d migrated\n", n, step.name, n)
		}
		m.done[step.name] += n
		if changed += n; changed >= most {
			break
		}
	}
	return changed
}

var migrationColumns = []string{"Migration", "Total Found", "Completed"}

// result is the migrations that ran as they are printed.
func (m *migrator) result() cli.Result {
	all := []migrated{}
	r := cli.Result{Columns: migrationColumns}
	lines := [][]string{r.Columns}
	for _, step := range m.steps {
		if n, ran := m.done[step.name]; ran {
			all = append(all, migrated{step.name, n, n})
			r.Rows = append(r.Rows, []any{step.name, n, n})
			lines = append(lines, []string{step.name, strconv.Itoa(n), strconv.Itoa(n)})
		}
	}
	r.Value = map[string][]migrated{"migrations": all}
	r.Text = func(w io.Writer) error {
		_, err := io.WriteString(w, centredTable(lines))
		return err
	}
	return r
}

// centredTable formats rows, the first of which has the titles, as Python's PrettyTable does:
// scripts read upstream's output.
func centredTable(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	rule := "+"
	for _, w := range widths {
		rule += strings.Repeat("-", w+2) + "+"
	}
	text := rule + "\n"
	for n, row := range rows {
		text += "|"
		for i, cell := range row {
			text += " " + centred(cell, widths[i]) + " |"
		}
		text += "\n"
		if n == 0 || n == len(rows)-1 {
			text += rule + "\n"
		}
	}
	return text
}

// centred centres a text as PrettyTable does: an odd space is on the right of texts with an odd
// length, and on the left of others.
func centred(text string, width int) string {
	remaining := (width - len(text)) / 2
	if (width-len(text))%2 == 1 && len(text)%2 == 0 {
		remaining++
	}
	return strings.Repeat(" ", remaining) + text + strings.Repeat(" ", width-len(text)-remaining)
}
