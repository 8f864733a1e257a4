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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// A Result is what a command prints.
type Result struct {
	// Columns and Rows are the result as a table. A row has a value for each column: a string, a
	// number, a bool, a list of strings, or nil. Titles are written like "Resource Class".
	Columns []string
	Rows    [][]any
	// Text writes the result for people; nil for the table.
	Text func(io.Writer) error
	// Value is the result for programs, in the formats json and yaml: a struct with json tags. When it
	// is nil they have a list with an object for each row, whose keys are the columns, as the
	// openstack command has. Keys are part of the program's interface: they may be added, and never
	// change their meaning.
	Value any
}

// An Output is the flags -f and -c of a command, which are those of the openstack command (cliff).
type Output struct {
	format  Choice
	columns []string
}

// outputFormats are the formats of cliff's lists.
var outputFormats = []string{"table", "json", "yaml", "csv", "value"}

// AddOutput adds the flags to a command.
func AddOutput(cmd *cobra.Command) *Output {
	o := &Output{format: Choice{Word: "table", Known: outputFormats, Former: map[string]string{"text": "table"}}}
	Group(cmd, OutputFlags, func(f *pflag.FlagSet) {
		f.VarP(&o.format, "format", "f", "`FORMAT`: table, which is for people, or json, yaml, csv or value")
		f.StringArrayVarP(&o.columns, "column", "c", nil,
			"`COLUMN`: column of the table, all if none is given; may be repeated")
	})
	_ = cmd.RegisterFlagCompletionFunc("format", OneOf(outputFormats...)) // the flag exists: the lines above
	return o
}

// ForPeople reports whether people read the output, which may have more than the result then.
func (o *Output) ForPeople() bool { return o.format.Word == "table" }

// UseJSON has the result printed as JSON, whatever the flag says.
func (o *Output) UseJSON() { o.format.Word = "json" }

// Check returns the error of Print about a column that a table does not have. A command that
// changes something calls it before.
func (o *Output) Check(columns []string) error {
	if _, err := (Result{Columns: columns}).only(o.columns); err != nil {
		return Fail(ExitUsage, err)
	}
	return nil
}

// Print prints a result in the format of the flags. The error has its exit code.
func (o *Output) Print(env Env, r Result) error {
	if err := o.Check(r.Columns); err != nil {
		return err
	}
	if len(o.columns) > 0 {
		r, _ = r.only(o.columns) // the columns exist: the lines above
	}
	return Fail(ExitFailure, o.write(env, r))
}

func (o *Output) write(env Env, r Result) error {
	w := env.Stdout
	switch o.format.Word {
	case "json":
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(r.document())
	case "yaml":
		return writeYAML(w, r.document())
	case "csv":
		return r.writeCSV(w, true)
	case "value":
		return r.writeValues(w)
	}
	people := fitted{w, env.width()}
	if r.Text != nil {
		return r.Text(people)
	}
	return WriteTable(people, r.Columns, r.Rows)
}

// Stream returns a function that prints rows as they come, with what each is for programs and for
// people: for people a line each, in json an object a line, in yaml a list that grows. The error
// has its exit code.
func (o *Output) Stream(env Env, columns []string) func(row []any, value any, text string) error {
	first := true
	return func(row []any, value any, text string) error {
		r := Result{Columns: columns, Rows: [][]any{row}}
		if err := o.Check(columns); err != nil {
			return err
		}
		if len(o.columns) > 0 {
			r, _ = r.only(o.columns)
			value, text = r.document().([]map[string]any)[0], strings.Join(cells(r.Rows[0]), " ")
		}
		var err error
		switch o.format.Word {
		case "json":
			e := json.NewEncoder(env.Stdout)
			e.SetEscapeHTML(false)
			err = e.Encode(value)
		case "yaml":
			err = writeYAML(env.Stdout, []any{value})
		case "csv":
			err = r.writeCSV(env.Stdout, first)
		case "value":
			err = r.writeValues(env.Stdout)
		default:
			_, err = fmt.Fprintln(env.Stdout, text)
		}
		first = false
		return Fail(ExitFailure, err)
	}
}

// only returns the result as a table of some columns. They stay in the order of the table, as in
// the openstack command.
func (r Result) only(names []string) (Result, error) {
	shown := make([]bool, len(r.Columns))
	for _, name := range names {
		title := strings.ReplaceAll(name, "_", " ") // as placement's client writes names of columns
		index := slices.IndexFunc(r.Columns, func(c string) bool { return strings.EqualFold(c, title) })
		if index < 0 {
			return Result{}, fmt.Errorf("there is no column %q; the columns are %s", name, strings.Join(r.Columns, ", "))
		}
		shown[index] = true
	}
	next := Result{Rows: make([][]any, len(r.Rows))}
	for index, column := range r.Columns {
		if !shown[index] {
			continue
		}
		next.Columns = append(next.Columns, column)
		for i, row := range r.Rows {
			next.Rows[i] = append(next.Rows[i], row[index])
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

// blockStyle has a value written over several lines, as people write YAML, and strings without the
// quotes that they do not need.
func blockStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		blockStyle(c)
	}
}

// writeValues writes a line for each row.
func (r Result) writeValues(w io.Writer) error {
	for _, row := range r.Rows {
		if _, err := fmt.Fprintln(w, strings.Join(cells(row), " ")); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes the table, with a line for the names of the columns if titles is set. As cliff
// does by default (--quote nonnumeric), it has quotes around all but numbers and booleans, so that
// a program can distinguish them from text.
func (r Result) writeCSV(w io.Writer, titles bool) error {
	var b strings.Builder
	line := func(row []any) {
		for i, text := range cells(row) {
			if _, ok := row[i].(bool); row[i] == nil {
				text = `""`
			} else if !ok && !isNumber(row[i]) {
				text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(text)
		}
		b.WriteByte('\n')
	}
	if titles {
		head := make([]any, len(r.Columns))
		for i, name := range r.Columns {
			head[i] = name
		}
		line(head)
	}
	for _, row := range r.Rows {
		line(row)
	}
	_, err := io.WriteString(w, b.String())
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

// cells are the values of a row as the openstack command prints them: None for what there is not,
// 1.0 for a ratio of 1.
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

// OrNone returns a cell with a text, or nil for "", which is a value that there is not.
func OrNone(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Count is a number with what is counted.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
