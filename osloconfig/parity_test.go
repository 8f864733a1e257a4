package osloconfig_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/internal/upstreamtest"
	"github.com/berthcloud/berth/osloconfig"
)

//go:embed testdata/oslo.py
var osloScript string

// torture has one group of lines per case; each is a separate file.
var torture = []string{
	"[DEFAULT]\ntext = a = b : c\nother: x = y\n",
	"[DEFAULT]\ntext=  spaced  \t\nother =\n",
	"[DEFAULT]\ntext = \"quoted\"\nother = 'single'\n",
	"[DEFAULT]\ntext = \"half\nother = 'mixed\"\n",
	"[DEFAULT]\ntext = \"\nother = ''\n",
	"[DEFAULT]\ntext = \"\"twice\"\"\nother = \" kept \"\n",
	"[DEFAULT]\ntext = `p`ss'\"# no comment ; here\n",
	"[DEFAULT]\n# comment\n; comment\n#text = no\ntext = yes\n",
	"[DEFAULT]\ntext = one\n  two\n\tthree  \n",
	"[DEFAULT]\ntext =\n  two\n",
	"[DEFAULT]\ntext = \"one\"\n  \"two\"\n",
	"[DEFAULT]\ntext = one\n\n  two\n",
	"[DEFAULT]\ntext = one\n# comment\n  two\n",
	"[DEFAULT]\n  text = one\n",
	"[DEFAULT]\ntext = one\n  # still the value\n",
	"[DEFAULT]\ntext = one\n[g]\n  two\n",
	"text = one\n",
	"[DEFAULT\ntext = one\n",
	"[]\ntext = one\n",
	"[DEFAULT] # comment\ntext = one\n",
	"[DEFAULT]\ntext\n",
	"[DEFAULT]\n= one\n",
	"\ufeff[DEFAULT]\ntext = one\n",
	"[DEFAULT]\r\ntext = one\r\nother = two\rflag = on\r\n",
	"[DEFAULT]\ntext = one\x1c\x1f\u00a0\u3000\nother = \u200bx\n",
	"[default]\ntext = lower\n[DEFAULT]\nother = upper\n",
	"[G]\ntext = upper\n[g]\ntext = lower\nmany = 1\n[G]\nmany = 2\nother = back\n",
	"[ g ]\ntext = no\n",
	"[DEFAULT]\nTEXT = no\nText = no\n",
	"[DEFAULT]\ntext = one\ntext = two\nmany = one\nmany = two\nmany = one\n",
	"[DEFAULT]\nflag = YES\n[g]\nflag = oFf\n",
	"[DEFAULT]\nflag = 1\n[g]\nflag = 2\n",
	"[DEFAULT]\nflag =\n[g]\nflag = t\n",
	"[DEFAULT]\nflag = 'true'\n[g]\nflag = true false\n",
	"[DEFAULT]\ncount = 12\nsize = -3\n[g]\ncount = +7\nsize = 10\n",
	"[DEFAULT]\ncount = 1_000\nsize = -4\n[g]\ncount = _1\nsize = 11\n",
	"[DEFAULT]\ncount =\nsize =\n[g]\ncount = 010\nsize = 0x1\n",
	"[DEFAULT]\ncount = 1.0\nsize = 1e1\n[g]\ncount = - 1\nsize = 1__0\n",
	"[DEFAULT]\ncount = \" 12 \"\n[g]\ncount = 12 # dozen\n",
	"[DEFAULT]\nratio = 1\n[g]\nratio = .5e1\n",
	"[DEFAULT]\nratio = -Infinity\n[g]\nratio = NaN\n",
	"[DEFAULT]\nratio = 0x1p3\n[g]\nratio = 1_0.5_0\n",
	"[DEFAULT]\nratio = 1e999\n[g]\nratio = 1.\n",
	"[DEFAULT]\nratio =\n[g]\nratio = one\n",
	"[DEFAULT]\nwords = a, b ,c\n[g]\nwords =\n",
	"[DEFAULT]\nwords = a,,b,\n[g]\nwords = , , \n",
	"[DEFAULT]\nwords = a,\n  b,\n  c\n[g]\nwords = \" a , \"\n",
	"[DEFAULT]\nwords = 'a','b'\n[g]\nwords = a b;c\n",
	"[DEFAULT]\npick = red\nfold = gREEN\n[g]\npick = Red\nfold = blue\n",
	"[DEFAULT]\npick =\nfold =\n[g]\npick = \"green\"\nfold = 'RED'\n",
	"[DEFAULT]\nstale = old\n[g]\nstale = old\nfresh = new\n",
	"[elder]\nancient = very old\n[DEFAULT]\nstale = old\n",
	"[ELDER]\nancient = very old\n",
	"[DEFAULT]\nmany = a\nlots = b\nmany = c\n",
	"[DEFAULT]\ntext = $other\nother = x\n[g]\ntext = ${other}${g.other}$g.other\nother = y\n",
	"[DEFAULT]\ntext = 5$ $$ \\$ $1 ${ ${x\n",
	"[DEFAULT]\ntext = $nothing\n[g]\ntext = $other.x\n",
	"[DEFAULT]\ntext = $G.text\nother = ${DEFAULT.text}\n[g]\ntext = x\n",
	"[DEFAULT]\ntext = $text\n[g]\ntext = $other\nother = $text\n",
	"[DEFAULT]\ntext = $flag $count $ratio\nother = $words\nflag = no\ncount = 007\nratio = 2\nwords = a,it's,\"q\"\n",
	"[DEFAULT]\ntext = $many\nmany = $other\nmany = 1\nother = o\nratio = 1e16\n[g]\ntext = $ratio\n",
	"[DEFAULT]\ntext = $words\nwords = a\\b,tab\there,\u00fc,\u200b,'\"\n",
	"[DEFAULT]\ncount = $other\nother = 4\nwords = $other,$count\nflag = $g.flag\n[g]\nflag = on\ncount = $flag\n",
	"[DEFAULT]\ntext = $other and more\nother = $$count\ncount = 3\n",
	"[DEFAULT]\ntext = $count\ncount = wrong\n[g]\ntext = $g.nothing\n",
	"[DEFAULT]\nTEXT.x-y z = 1\n[unknown]\ntext = 1\n[g]\n",
}

type parityCase struct {
	Files []string          `json:"files"`
	Dirs  []string          `json:"dirs"`
	Env   map[string]string `json:"env"`
}

// TestParity reads the same sources with oslo.config itself.
func TestParity(t *testing.T) {
	racetest.Skip(t)
	cases := parityCases(t)
	answers := runOslo(t, cases)
	for i, c := range cases {
		got := readCase(c)
		// oslo continues with DEFAULT when an option of the own group is invalid; here the invalid
		// one has only to be reported.
		for name, v := range got {
			if v == "ELSEWHERE" {
				answers[i][name] = v
			}
		}
		if diff := cmp.Diff(answers[i], got); diff != "" {
			t.Errorf("case %d differs from oslo.config (-oslo +berth):\n%s\n%s", i, diff, describe(c))
		}
	}
}

func runOslo(t *testing.T, cases []parityCase) (answers []map[string]any) {
	t.Helper()
	upstreamtest.Run(t, "python3-oslo.config", osloScript, map[string]any{"cases": cases}, &answers)
	for _, a := range answers {
		unset(a)
	}
	return answers
}

// unset replaces Python's None by the defaults that readCase declares.
func unset(a map[string]any) {
	defaults := map[string]any{"flag": false, "size": 0.0, "ratio": "0"}
	for name, v := range a {
		_, option, _ := strings.Cut(name, ".")
		d, ok := defaults[option]
		switch {
		case v == nil && ok:
			a[name] = d
		case v == nil && strings.Contains("text other pick fold fresh", option):
			a[name] = ""
		case option == "ratio" && v != "ERROR":
			a[name] = floatText(v.(string))
		}
	}
}

func floatText(s string) string {
	f, _ := strconv.ParseFloat(s, 64)
	return fmt.Sprint(f)
}

// A sample is the Go side of the options in testdata/oslo.py.
type sample struct {
	Text, Other, Pick, Fresh string
	Flag                     bool
	Count                    *int
	Size                     int
	Ratio                    float64
	Words, Many              []string
	Pairs                    map[string]string
}

func (h *sample) options(group string) []osloconfig.Option {
	v := []struct {
		name  string
		value osloconfig.Value
		older []osloconfig.Name
	}{
		{"text", osloconfig.String(&h.Text), nil},
		{"other", osloconfig.String(&h.Other), nil},
		{"flag", osloconfig.Bool(&h.Flag), nil},
		{"count", osloconfig.OptionalInt(&h.Count), nil},
		{"size", osloconfig.IntBetween(&h.Size, -3, 10), nil},
		{"ratio", osloconfig.Float(&h.Ratio), nil},
		{"words", osloconfig.List(&h.Words), nil},
		{"many", osloconfig.Multi(&h.Many), []osloconfig.Name{{Option: "lots"}}},
		{"pick", osloconfig.Choice(&h.Pick, "red", "green"), nil},
		{"fresh", osloconfig.String(&h.Fresh), []osloconfig.Name{{Option: "stale"}, {Group: "elder", Option: "ancient"}}},
	}
	var opts []osloconfig.Option
	for _, o := range v {
		opts = append(opts, osloconfig.Option{
			Name: osloconfig.Name{Group: group, Option: o.name}, Value: o.value, Older: o.older,
		})
	}
	return opts
}

func (h *sample) values() map[string]any {
	m := map[string]any{
		"text": h.Text, "other": h.Other, "flag": h.Flag, "count": h.Count, "size": h.Size,
		"ratio": fmt.Sprint(h.Ratio), "words": h.Words, "many": h.Many,
		"pick": h.Pick, "fresh": h.Fresh,
	}
	text, _ := json.Marshal(m)
	var plain map[string]any
	_ = json.Unmarshal(text, &plain)
	return plain
}

// readCase reads a case here and answers in the form of testdata/oslo.py.
func readCase(c parityCase) map[string]any {
	set, err := osloconfig.Read(osloconfig.Sources{
		Files: c.Files, Dirs: c.Dirs, LookupEnv: func(name string) (string, bool) {
			v, ok := c.Env[name]
			return v, ok
		},
	})
	if err != nil {
		return nil
	}
	result := map[string]any{}
	groups := map[string]*sample{"DEFAULT": {}, "g": {}}
	var table osloconfig.Table
	for group, h := range groups {
		table.Options = append(table.Options, h.options(group)...)
	}
	_, _ = set.Load(table)
	for group, h := range groups {
		for name, v := range h.values() {
			result[group+"."+name] = v
		}
	}
	for _, o := range table.Options {
		if verdict := fails(set, table, o); verdict != "" {
			result[o.Group+"."+o.Option] = verdict
		}
	}
	return result
}

// fails returns "" for an option that can be read, "ERROR" for one that is
// reported, and "ELSEWHERE" for one that refers to an option that is reported.
func fails(set *osloconfig.Set, table osloconfig.Table, o osloconfig.Option) string {
	if !set.Given(o) {
		return ""
	}
	seen := false
	o.Value = o.Value.Check(func(string) error { seen = true; return nil })
	opts := []osloconfig.Option{o}
	for _, other := range table.Options {
		if other.Name != o.Name {
			opts = append(opts, other)
		}
	}
	_, err := set.Load(osloconfig.Table{Options: opts})
	switch {
	case err != nil && strings.Contains(err.Error(), ": "+o.Name.String()+" = "):
		return "ERROR"
	case !seen:
		return "ELSEWHERE"
	}
	return ""
}

func parityCases(t *testing.T) []parityCase {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var cases []parityCase
	for i, text := range torture {
		cases = append(cases, parityCase{Files: []string{write(fmt.Sprintf("torture%d.conf", i), text)}})
	}
	r := rand.New(rand.NewPCG(1, 39))
	for i := range 400 {
		a, b := write(fmt.Sprintf("random%da.conf", i), randomFile(r)), write(fmt.Sprintf("random%db.conf", i), randomFile(r))
		cases = append(cases, parityCase{Files: []string{a, b}})
	}
	return append(cases, mergedCases(write, dir)...)
}

// mergedCases are about several files, directories and the environment.
func mergedCases(write func(name, text string) string, dir string) []parityCase {
	base := write("base.conf", "[DEFAULT]\ntext = base\nmany = base\nfresh = base\n[g]\ntext = base\n")
	late := write("late.conf", "[DEFAULT]\nstale = late\nmany = late\nlots = lots\n[G]\ntext = late\n")
	write("d/20.conf", "[DEFAULT]\ntext = twenty\nmany = 20\n")
	write("d/10.conf", "[DEFAULT]\ntext = ten\nother = ten\nmany = 10\n")
	write("d/.hidden.conf", "[DEFAULT]\nother = hidden\n")
	write("d/30.conf.bak", "[DEFAULT]\nother = backup\n")
	dirs := []string{filepath.Join(dir, "d")}
	env := map[string]string{
		"OS_DEFAULT__TEXT": " env $other ", "OS_G__FLAG": "yes", "OS_G__COUNT": "x", "OS_G__STALE": "no",
	}
	return []parityCase{
		{Files: []string{base, late}},
		{Files: []string{late, base}},
		{Files: []string{base}, Dirs: dirs},
		{Dirs: dirs, Env: env},
		{Env: env},
		{},
		{Files: []string{filepath.Join(dir, "missing.conf")}},
		{Dirs: []string{filepath.Join(dir, "missing")}},
	}
}

// randomFile joins random pieces of the syntax.
func randomFile(r *rand.Rand) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	var b strings.Builder
	b.WriteString("[DEFAULT]\n")
	for range r.IntN(12) {
		switch r.IntN(12) {
		case 0:
			b.WriteString(pick("[g]", "[G]", "[DEFAULT]", "[elder]") + "\n")
		case 1:
			b.WriteString(pick("# c", "; c", "", "   ", "\t") + "\n")
		case 2:
			b.WriteString(pick("", "", "  more\n", "\t, x\n"))
		default:
			b.WriteString(pick("text", "other", "flag", "count", "size", "ratio", "words", "many", "pick",
				"fresh", "stale", "ancient", "lots") + pick("=", " = ", ":", " : "))
			for range r.IntN(4) {
				b.WriteString(pick("1", "a", " ", ",", ":", "=", "\"", "'", "$text", "${g.text}", "$count", "$words", "$$",
					"\\$", "$", "$flag", "true", "-2", "red", "a:1", "#", "é"))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func describe(c parityCase) string {
	var b strings.Builder
	for _, path := range c.Files {
		text, _ := os.ReadFile(path)
		fmt.Fprintf(&b, "%s:\n%s", path, text)
	}
	fmt.Fprintf(&b, "dirs %v, env %v\n", c.Dirs, c.Env)
	return b.String()
}
