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
	// novaRowsFailed is upstream's code when rows could not be changed, and there are none to change otherwise.
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

// newDBMigrate returns "berth db online-data-migrations", with upstream's name as an alias, its exit
// codes and its output.
func newDBMigrate(env cli.Env) *cobra.Command {
	var source Source
	var form *cli.Choice
	var count string
	var nova bool
	cmd := &cobra.Command{
		Use:     "online-data-migrations [--config FILE | --connection URL]\n        [--max-count N] [-f FORMAT]",
		Aliases: []string{"online_data_migrations"},
		Short:   "Complete rows that old releases left incomplete",
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

With --nova-exit-codes they are those of placement-manage and nova-manage:

  1    --max-count rows were changed, and there may be more: run it again
  2    rows could not be changed
  127  --max-count is not a positive number`,
		Example: `  berth db online-data-migrations --config /etc/placement/placement.conf
  until berth db online-data-migrations --max-count 1000; do sleep 10; done`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			most, err := maxCount(cmd.Flags().Changed("max-count"), count, nova)
			if err != nil {
				return err
			}
			return source.Work(cmd.Context(), env, dbtool.Change, func(db *DB) error {
				if err := db.Ready(cmd.Context()); err != nil {
					return fmt.Errorf("the database %s: %w", db.Name, err)
				}
				m := &migrator{steps: db.migrations(), out: env.Stdout, most: most, quiet: form.Json(), nova: nova}
				return m.run(cmd.Context())
			})
		},
	}
	source.Flags(cmd)
	cmd.Flags().StringVar(&count, "max-count", "", "change at most `N` rows")
	cmd.Flags().BoolVar(&nova, "nova-exit-codes", false, "exit with the codes of placement-manage and nova-manage")
	form = cli.AddFormat(cmd, "table")
	return cmd
}

// maxCount parses --max-count; 0 is no bound.
func maxCount(given bool, text string, nova bool) (int, error) {
	if !given {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		code := cli.ExitUsage
		if nova {
			code = cli.NovaBadInput
		}
		return 0, cli.Fail(code, fmt.Errorf("--max-count %s: it must be a positive number", text))
	}
	return n, nil
}

// A migrator runs migrations until no row is left, or once when the number of rows is bounded.
type migrator struct {
	steps []migration
	out   io.Writer
	most  int  // 0 for no bound
	quiet bool // print JSON, and nothing else
	nova  bool // with the exit codes of upstream's command

	done   map[string]int
	failed error // of the last round
}

// run runs the migrations and prints the result. As upstream's command, it fails while there may be
// more rows, and when rows could not be changed. With a bound, errors do not count while the last round has changed rows: what remains may depend on them.
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
	if err := m.print(); err != nil {
		return cli.Fail(cli.ExitFailure, err)
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

// say prints a line of upstream's output, unless the result is JSON.
func (m *migrator) say(format string, args ...any) {
	if !m.quiet {
		fmt.Fprintf(m.out, format, args...)
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

// print prints a table of the migrations that ran, or JSON.
func (m *migrator) print() error {
	all := []migrated{}
	for _, step := range m.steps {
		n, ran := m.done[step.name]
		if ran {
			all = append(all, migrated{step.name, n, n})
		}
	}
	if m.quiet {
		return cli.WriteJSON(m.out, map[string][]migrated{"migrations": all})
	}
	cells := [][]string{{"Migration", "Total Found", "Completed"}}
	for _, one := range all {
		cells = append(cells, []string{one.Name, strconv.Itoa(one.Found), strconv.Itoa(one.Done)})
	}
	_, err := io.WriteString(m.out, centredTable(cells))
	return err
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
	left := (width - len(text)) / 2
	if (width-len(text))%2 == 1 && len(text)%2 == 0 {
		left++
	}
	return strings.Repeat(" ", left) + text + strings.Repeat(" ", width-len(text)-left)
}
