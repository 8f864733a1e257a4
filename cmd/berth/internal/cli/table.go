package cli

import (
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// A fitted is what a table is written to that fits a number of columns, 0 for as many as it takes.
type fitted struct {
	io.Writer
	width int
}

// WriteTable writes a table in the frame of the openstack command. A column is on the right when it
// begins with a number. The writer of [Result.Text] has the width of the terminal, which the table
// fits.
func WriteTable(w io.Writer, columns []string, rows [][]any) error {
	t := table.NewWriter()
	t.Style().Format.Header = text.FormatDefault
	head, configs := make(table.Row, len(columns)), make([]table.ColumnConfig, len(columns))
	widths := make([]int, len(columns))
	for i, name := range columns {
		head[i], configs[i] = name, table.ColumnConfig{Number: i + 1, Align: text.AlignLeft, AlignHeader: text.AlignLeft}
		widths[i] = utf8.RuneCountInString(name)
		if len(rows) > 0 && isNumber(rows[0][i]) {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	t.AppendHeader(head)
	for _, row := range rows {
		line := make(table.Row, len(row))
		for i, v := range cells(row) {
			line[i] = v
			widths[i] = max(widths[i], utf8.RuneCountInString(v))
		}
		t.AppendRow(line)
	}
	if f, ok := w.(fitted); ok && f.width > 0 {
		for i, width := range fit(widths, f.width) {
			configs[i].WidthMax, configs[i].WidthMaxEnforcer = width, text.WrapSoft
		}
	}
	t.SetColumnConfigs(configs)
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// narrowest is the width to which a column is shrunk at most, as cliff does: a table with many
// columns is rather too wide.
const narrowest = 8

// fit returns the widths of columns in a table of a total width. As cliff with --fit-width it keeps
// columns that are narrower than their share, and divides what these do not take among the others.
func fit(widths []int, total int) []int {
	fitting := slices.Clone(widths)
	room, wide := total-1-3*len(widths), len(widths)
	kept := make([]bool, len(widths))
	for changed := true; changed && wide > 0; {
		changed = false
		share := room / wide
		for i, width := range widths {
			if !kept[i] && width <= share {
				kept[i], changed = true, true
				room -= width
				wide--
			}
		}
	}
	for i := range widths {
		if !kept[i] {
			fitting[i] = max(narrowest, room/wide)
			room -= room / wide
			wide--
		}
	}
	return fitting
}

// peopleRows is how many lines of a long table people get.
const peopleRows = 20

// WriteHead writes the beginning of the table.
func (r Result) WriteHead(w io.Writer) error {
	rows := r.Rows[:min(len(r.Rows), peopleRows)]
	if err := WriteTable(w, r.Columns, rows); err != nil {
		return err
	}
	if more := len(r.Rows) - len(rows); more > 0 {
		fmt.Fprintf(w, "and %d lines more; -f csv prints all\n", more)
	}
	return nil
}
