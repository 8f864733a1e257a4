package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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
		{"-f json", with, "\n{\n  \"hosts\": 2,\n  \"names\": [\n    \"cn1\",\n    \"12\"\n  ],\n  \"note\": \"yes: & no\"\n}\n"},
	} {
		var got bytes.Buffer
		cmd := &cobra.Command{}
		out := AddOutput(cmd)
		if err := cmd.ParseFlags(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		if err := out.Print(&got, c.r); err != nil || "\n"+got.String() != c.want {
			t.Errorf("%q prints %v\n%s\nwant%s", c.args, err, got.String(), c.want)
		}
	}
}

// A column that the table does not have is refused, with those that it has.
func TestUnknownColumn(t *testing.T) {
	o := Output{format: &Choice{Word: "table"}, columns: []string{"size"}}
	err := o.Print(&bytes.Buffer{}, Result{Columns: []string{"name", "used"}})
	if code, _ := CodeOf(err); code != ExitUsage || !strings.Contains(err.Error(), "name, used") {
		t.Errorf("%v with code %d", err, code)
	}
}
