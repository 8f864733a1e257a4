package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The formats are those of the openstack command's lists.
func TestOutputFormats(t *testing.T) {
	r := Result{
		Columns: []string{"name", "used", "ratio", "traits", "up", "host"},
		Rows: [][]any{
			{"cn1", int64(7), 1.0, []string{"A", "B"}, true, nil},
			{"ä,\"b\"", nil, 0.25, []string(nil), false, "x <y>"},
		},
	}
	shown := struct {
		Hosts int      `json:"hosts"`
		Names []string `json:"names"`
		Note  string   `json:"note"`
	}{2, []string{"cn1", "12"}, "yes: & no"}
	with := r
	with.Value = shown
	for _, c := range []struct {
		args string
		r    Result
		want string
	}{
		{"", r, `
+-------+------+-------+--------+-------+-------+
| name  | used | ratio | traits | up    | host  |
+-------+------+-------+--------+-------+-------+
| cn1   |    7 |   1.0 | A, B   | True  | None  |
| ä,"b" | None |  0.25 |        | False | x <y> |
+-------+------+-------+--------+-------+-------+
`},
		{"-f value -c host -c name", r, "\ncn1 None\nä,\"b\" x <y>\n"},
		{"-f csv", r, `
"name","used","ratio","traits","up","host"
"cn1",7,1.0,"A, B",True,""
"ä,""b""","",0.25,"",False,"x <y>"
`},
		{"-f json -c NAME -c traits", r, `
[
  {
    "name": "cn1",
    "traits": [
      "A",
      "B"
    ]
  },
  {
    "name": "ä,\"b\"",
    "traits": null
  }
]
`},
		{"-f yaml", with, "\nhosts: 2\nnames:\n  - cn1\n  - \"12\"\nnote: 'yes: & no'\n"},
		{
			"-f json", with,
			"\n{\n  \"hosts\": 2,\n  \"names\": [\n    \"cn1\",\n    \"12\"\n  ],\n  \"note\": \"yes: & no\"\n}\n",
		},
	} {
		var got bytes.Buffer
		cmd := &cobra.Command{}
		out := AddOutput(cmd)
		if err := cmd.ParseFlags(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		if err := out.Print(Env{Stdout: &got}, c.r); err != nil || "\n"+got.String() != c.want {
			t.Errorf("%q prints %v\n%s\nwant%s", c.args, err, got.String(), c.want)
		}
	}
}

// A column that the table does not have is refused, with those that it has.
func TestUnknownColumn(t *testing.T) {
	o := Output{format: Choice{Word: "table"}, columns: []string{"size"}}
	err := o.Print(Env{Stdout: &bytes.Buffer{}}, Result{Columns: []string{"name", "used"}})
	if code, _ := CodeOf(err); code != ExitUsage || !strings.Contains(err.Error(), "name, used") {
		t.Errorf("%v with code %d", err, code)
	}
}

// A table fits COLUMNS: narrow columns keep their width, the others share what remains, and none
// gets too narrow to read.
func TestTableFits(t *testing.T) {
	r := Result{
		Columns: []string{"Code", "Resource Class", "Impact", "Fix"},
		Rows: [][]any{{
			"orphaned-allocation", "VCPU", "Capacity is lost: nothing that exists uses the resources.",
			"Ensure that no server has the UUID, and delete the allocation.",
		}},
	}
	for columns, want := range map[string]int{"100": 100, "80": 80, "200": 165, "": 165, "many": 165, "20": 45} {
		var got bytes.Buffer
		cmd := &cobra.Command{}
		out := AddOutput(cmd)
		if err := out.Print(Env{Stdout: &got, Environ: []string{"COLUMNS=" + columns}}, r); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(got.String()) {
			if n := len(strings.TrimSuffix(line, "\n")); n != want {
				t.Errorf("in %q columns a line has %d, want %d:\n%s", columns, n, want, got.String())
				break
			}
		}
	}
}

// Names of columns are taken as placement's client writes them, too.
func TestColumnNames(t *testing.T) {
	for _, name := range []string{"Resource Class", "resource class", "resource_class"} {
		if err := (&Output{columns: []string{name}}).Check([]string{"Group", "Resource Class"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What comes row by row is a line, an object or an item each, and has its titles once.
func TestStream(t *testing.T) {
	for args, want := range map[string]string{
		"":                 "one\ntwo\n",
		"-f text":          "one\ntwo\n",
		"-f json":          "{\"n\":1}\n{\"n\":2}\n",
		"-f yaml":          "- n: 1\n- n: 2\n",
		"-f csv":           "\"Number\",\"Name\"\n1,\"a\"\n2,\"\"\n",
		"-f value":         "1 a\n2 None\n",
		"-f json -c name":  "{\"Name\":\"a\"}\n{\"Name\":null}\n",
		"-f table -c name": "a\nNone\n",
	} {
		var got bytes.Buffer
		cmd := &cobra.Command{}
		out := AddOutput(cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		row := out.Stream(Env{Stdout: &got}, []string{"Number", "Name"})
		err := errors.Join(row([]any{1, "a"}, map[string]int{"n": 1}, "one"),
			row([]any{2, nil}, map[string]int{"n": 2}, "two"))
		if err != nil || got.String() != want {
			t.Errorf("%q prints %v\n%s\nwant\n%s", args, err, got.String(), want)
		}
	}
}

// Help has flags in groups, with the value after the name and the text on its own.
func TestFlagUsages(t *testing.T) {
	cmd := &cobra.Command{Use: "explain", Run: func(*cobra.Command, []string) {}}
	SetUsage(cmd)
	AddOutput(cmd)
	cmd.Flags().Int("near", 5, "`N`: number of hosts that are described although they do not fit")
	Group(cmd, ServerFlags, func(f *pflag.FlagSet) { f.String("image", "", "`IMAGE`: image of the server (name or ID)") })
	want := `Usage:
  explain [flags]

Flags:
      --near N          number of hosts that are described although they do not
                        fit (default 5)

Server:
      --image IMAGE     image of the server (name or ID)

Output:
  -c, --column COLUMN   column of the table, all if none is given; may be
                        repeated
  -f, --format FORMAT   table, which is for people, or json, yaml, csv or value
                        (default table)
`
	if diff := cmp.Diff(want, cmd.UsageString()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
