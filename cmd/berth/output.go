package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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

// only returns the result as a table of some columns, in the order of the flags.
func (r result) only(columns []string) (result, error) {
	next := result{rows: make([][]any, len(r.rows))}
	for _, name := range columns {
		at := slices.IndexFunc(r.columns, func(c string) bool { return strings.EqualFold(c, name) })
		if at < 0 {
			return result{}, fmt.Errorf("there is no column %q; the columns are %s", name, strings.Join(r.columns, ", "))
		}
		next.columns = append(next.columns, r.columns[at])
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

// writeCSV writes the table as cliff does, with a line for the names of the columns.
func (r result) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write(r.columns) // Error has it
	for _, row := range r.rows {
		_ = c.Write(cells(row))
	}
	c.Flush()
	return c.Error()
}

// writeTable writes a table in the frame of the openstack command.
func writeTable(w io.Writer, columns []string, rows [][]any) error {
	t := table.NewWriter()
	t.Style().Format.Header = text.FormatDefault
	head := make(table.Row, len(columns))
	for i, c := range columns {
		head[i] = c
	}
	t.AppendHeader(head)
	for _, row := range rows {
		line := make(table.Row, len(row))
		for i, v := range cells(row) {
			line[i] = v
			if isNumber(row[i]) {
				line[i] = row[i]
			}
		}
		t.AppendRow(line)
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// isNumber reports whether a cell is a number, which tables have on the right.
func isNumber(v any) bool {
	switch v.(type) {
	case int, int64, uint64, float64:
		return true
	}
	return false
}

// cells are the values of a row as text.
func cells(row []any) []string {
	list := make([]string, len(row))
	for i, v := range row {
		switch v := v.(type) {
		case nil:
		case []string:
			list[i] = strings.Join(v, ", ")
		case bool:
			list[i] = map[bool]string{true: "True", false: "False"}[v]
		default:
			list[i] = fmt.Sprint(v)
		}
	}
	return list
}
