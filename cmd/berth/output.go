package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// A result is what an operators' command prints.
type result struct {
	// columns and rows are the result as a table. A row has a value for each column: a string, a number, a bool, a list of strings, or nil.
	columns []string
	rows    [][]any
	// text writes the result for people; nil for the table.
	text func(io.Writer) error
	// value is the result for programs, in the formats json and yaml: a struct with json tags. When it is nil they have a list with
	// an object for each row, whose keys are the columns, as the openstack command has.
	value any
}

// An output is the flags -f and -c of an operators' command, which are those of the openstack command (cliff).
type output struct {
	format  *choice
	columns []string
}

// outputFormats are the formats of cliff's lists.
var outputFormats = []string{"table", "json", "yaml", "csv", "value"}

// addOutput adds the flags to a command.
func addOutput(cmd *cobra.Command) *output {
	o := &output{format: &choice{word: "table", known: outputFormats}}
	cmd.Flags().VarP(o.format, "format", "f", "print the result as `FORMAT`: table, json, yaml, csv or value")
	_ = cmd.RegisterFlagCompletionFunc("format", oneOf(outputFormats...)) // the flag exists: the line above
	cmd.Flags().StringArrayVarP(&o.columns, "column", "c", nil, "print this `COLUMN` of the table only; may be repeated")
	return o
}

// check returns the error of print about a column that a table does not have. A command that changes something calls it before.
func (o *output) check(columns []string) error {
	if _, err := (result{columns: columns}).only(o.columns); err != nil {
		return fail(exitUsage, err)
	}
	return nil
}

// print prints a result in the format of the flags.
func (o *output) print(w io.Writer, r result) error {
	format := o.format.word
	if len(o.columns) > 0 {
		var err error
		if r, err = r.only(o.columns); err != nil {
			return fail(exitUsage, err)
		}
	}
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(r.document())
	case "yaml":
		return writeYAML(w, r.document())
	case "csv":
		return r.writeCSV(w)
	case "value":
		for _, row := range r.rows {
			if _, err := fmt.Fprintln(w, strings.Join(cells(row), " ")); err != nil {
				return err
			}
		}
		return nil
	}
	if r.text != nil {
		return r.text(w)
	}
	return writeTable(w, r.columns, r.rows)
}

// only returns the result as a table of some columns. They stay in the order of the table, as in the openstack command.
func (r result) only(names []string) (result, error) {
	wanted := make([]bool, len(r.columns))
	for _, name := range names {
		at := slices.IndexFunc(r.columns, func(c string) bool { return strings.EqualFold(c, name) })
		if at < 0 {
			return result{}, fmt.Errorf("there is no column %q; the columns are %s", name, strings.Join(r.columns, ", "))
		}
		wanted[at] = true
	}
	next := result{rows: make([][]any, len(r.rows))}
	for at, column := range r.columns {
		if !wanted[at] {
			continue
		}
		next.columns = append(next.columns, column)
		for i, row := range r.rows {
			next.rows[i] = append(next.rows[i], row[at])
		}
	}
	return next, nil
}

// document returns the result as json and yaml have it.
func (r result) document() any {
	if r.value != nil {
		return r.value
	}
	list := make([]map[string]any, len(r.rows))
	for i, row := range r.rows {
		list[i] = make(map[string]any, len(row))
		for k, v := range row {
			list[i][r.columns[k]] = v
		}
	}
	return list
}

// writeYAML writes a value with the keys that it has in JSON.
func writeYAML(w io.Writer, v any) error {
	asJSON, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var node yaml.Node // JSON is YAML; a node keeps the order of keys
	if err := yaml.Unmarshal(asJSON, &node); err != nil {
		return err
	}
	blockStyle(&node)
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	return errors.Join(e.Encode(&node), e.Close())
}

// blockStyle has a value written over several lines, as people write YAML, and strings without the quotes that they do not need.
func blockStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		blockStyle(c)
	}
}

// writeCSV writes the table with a line for the names of the columns. As cliff does by default (--quote nonnumeric), it has quotes
// around all but numbers and booleans, so that a program that reads it can tell them from text.
func (r result) writeCSV(w io.Writer) error {
	var b strings.Builder
	line := func(row []any) {
		for i, text := range cells(row) {
			if _, is := row[i].(bool); row[i] == nil {
				text = `""`
			} else if !is && !isNumber(row[i]) {
				text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(text)
		}
		b.WriteByte('\n')
	}
	head := make([]any, len(r.columns))
	for i, name := range r.columns {
		head[i] = name
	}
	line(head)
	for _, row := range r.rows {
		line(row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTable writes a table in the frame of the openstack command. A column is on the right when it begins with a number.
func writeTable(w io.Writer, columns []string, rows [][]any) error {
	t := table.NewWriter()
	t.Style().Format.Header = text.FormatDefault
	head, sides := make(table.Row, len(columns)), make([]table.ColumnConfig, len(columns))
	for i, name := range columns {
		head[i], sides[i] = name, table.ColumnConfig{Number: i + 1, Align: text.AlignLeft, AlignHeader: text.AlignLeft}
		if len(rows) > 0 && isNumber(rows[0][i]) {
			sides[i].Align, sides[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(sides)
	for _, row := range rows {
		line := make(table.Row, len(row))
		for i, v := range cells(row) {
			line[i] = v
		}
		t.AppendRow(line)
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// isNumber reports whether a cell is a number.
func isNumber(v any) bool {
	switch v.(type) {
	case int, int64, uint64, float64:
		return true
	}
	return false
}

// cells are the values of a row as the openstack command prints them: None for what there is not, 1.0 for a ratio of 1.
func cells(row []any) []string {
	list := make([]string, len(row))
	for i, v := range row {
		switch v := v.(type) {
		case nil:
			list[i] = "None"
		case []string:
			list[i] = strings.Join(v, ", ")
		case bool:
			list[i] = map[bool]string{true: "True", false: "False"}[v]
		case float64:
			list[i] = strconv.FormatFloat(v, 'f', -1, 64)
			if v == math.Trunc(v) {
				list[i] += ".0"
			}
		default:
			list[i] = fmt.Sprint(v)
		}
	}
	return list
}

// orNone returns a cell with a text, or nil for "", which is a value that there is not.
func orNone(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// counted is a number with what is counted.
func counted(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
