package cli

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

// A Result is what an operators' command prints.
type Result struct {
	// columns and rows are the result as a table. A row has a value for each column: a string, a number, a bool, a list of strings, or nil.
	Columns []string
	Rows    [][]any
	// text writes the result for people; nil for the table.
	Text func(io.Writer) error
	// value is the result for programs, in the formats json and yaml: a struct with json tags. When it is nil they have a list with
	// an object for each row, whose keys are the columns, as the openstack command has.
	Value any
}

// An Output is the flags -f and -c of an operators' command, which are those of the openstack command (cliff).
type Output struct {
	format  *Choice
	columns []string
}

// outputFormats are the formats of cliff's lists.
var outputFormats = []string{"table", "json", "yaml", "csv", "value"}

// AddOutput adds the flags to a command.
func AddOutput(cmd *cobra.Command) *Output {
	o := &Output{format: &Choice{Word: "table", Known: outputFormats}}
	cmd.Flags().VarP(o.format, "format", "f", "print the result as `FORMAT`: table, json, yaml, csv or value")
	_ = cmd.RegisterFlagCompletionFunc("format", OneOf(outputFormats...)) // the flag exists: the line above
	cmd.Flags().StringArrayVarP(&o.columns, "column", "c", nil, "print this `COLUMN` of the table only; may be repeated")
	return o
}

// Check returns the error of print about a column that a table does not have. A command that changes something calls it before.
func (o *Output) Check(columns []string) error {
	if _, err := (Result{Columns: columns}).only(o.columns); err != nil {
		return Fail(ExitUsage, err)
	}
	return nil
}

// Print prints a result in the format of the flags.
func (o *Output) Print(w io.Writer, r Result) error {
	format := o.format.Word
	if len(o.columns) > 0 {
		var err error
		if r, err = r.only(o.columns); err != nil {
			return Fail(ExitUsage, err)
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
		for _, row := range r.Rows {
			if _, err := fmt.Fprintln(w, strings.Join(Cells(row), " ")); err != nil {
				return err
			}
		}
		return nil
	}
	if r.Text != nil {
		return r.Text(w)
	}
	return WriteTable(w, r.Columns, r.Rows)
}

// only returns the result as a table of some columns. They stay in the order of the table, as in the openstack command.
func (r Result) only(names []string) (Result, error) {
	wanted := make([]bool, len(r.Columns))
	for _, name := range names {
		at := slices.IndexFunc(r.Columns, func(c string) bool { return strings.EqualFold(c, name) })
		if at < 0 {
			return Result{}, fmt.Errorf("there is no column %q; the columns are %s", name, strings.Join(r.Columns, ", "))
		}
		wanted[at] = true
	}
	next := Result{Rows: make([][]any, len(r.Rows))}
	for at, column := range r.Columns {
		if !wanted[at] {
			continue
		}
		next.Columns = append(next.Columns, column)
		for i, row := range r.Rows {
			next.Rows[i] = append(next.Rows[i], row[at])
		}
	}
	return next, nil
}

// document returns the result as json and yaml have it.
func (r Result) document() any {
	if r.Value != nil {
		return r.Value
	}
	list := make([]map[string]any, len(r.Rows))
	for i, row := range r.Rows {
		list[i] = make(map[string]any, len(row))
		for k, v := range row {
			list[i][r.Columns[k]] = v
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
func (r Result) writeCSV(w io.Writer) error {
	var b strings.Builder
	line := func(row []any) {
		for i, text := range Cells(row) {
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
	head := make([]any, len(r.Columns))
	for i, name := range r.Columns {
		head[i] = name
	}
	line(head)
	for _, row := range r.Rows {
		line(row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteTable writes a table in the frame of the openstack command. A column is on the right when it begins with a number.
func WriteTable(w io.Writer, columns []string, rows [][]any) error {
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
		for i, v := range Cells(row) {
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

// Cells are the values of a row as the openstack command prints them: None for what there is not, 1.0 for a ratio of 1.
func Cells(row []any) []string {
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

// OrNone returns a cell with a text, or nil for "", which is a value that there is not.
func OrNone(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Count is a number with what is counted.
func Count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
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
