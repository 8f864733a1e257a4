package osloconfig_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/osloconfig"
)

// option declares an option of [DEFAULT] or, written "group.name", of a group.
func option(name string, v osloconfig.Value, older ...osloconfig.Name) osloconfig.Option {
	group, rest, ok := strings.Cut(name, ".")
	if !ok {
		group, rest = osloconfig.DefaultGroup, name
	}
	return osloconfig.Option{Name: osloconfig.Name{Group: group, Option: rest}, Value: v, Older: older}
}

// read reads one file named test.conf in a new directory.
func read(t *testing.T, text string) *osloconfig.Set {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("test.conf", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := osloconfig.Read(osloconfig.Sources{Files: []string{"test.conf"}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func checkLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func errorLines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func TestAllWrongValuesAtOnce(t *testing.T) {
	set := read(t, `[DEFAULT]
debug = perhaps
[api]
strategy = none
[db]
size = 0
wait = -1
good = 7
connection = mysql://u:hunter2@h/d
count = 99999999999999999999
`)
	var (
		flag     bool
		strategy = "keystone"
		size     = 5
		count    int
		wait     = time.Second
		good     int
		url      osloconfig.Secret
	)
	warnings, err := set.Load(osloconfig.Table{Options: []osloconfig.Option{
		option("debug", osloconfig.Bool(&flag)),
		option("api.strategy", osloconfig.Choice(&strategy, "keystone", "noauth2")),
		option("db.size", osloconfig.IntBetween(&size, 1, 10)),
		option("db.wait", osloconfig.Seconds(&wait)),
		option("db.good", osloconfig.Int(&good)),
		option("db.connection", osloconfig.Hidden(&url).Check(func(string) error { return errors.New("want a SQLite URL") })),
		option("db.count", osloconfig.Int(&count)),
	}})
	checkLines(t, "warnings", warnings)
	checkLines(t, "errors", errorLines(err),
		`test.conf:2: [DEFAULT] debug = "perhaps": want a boolean: true, yes, on, 1 or false, no, off, 0`,
		`test.conf:4: [api] strategy = "none": want one of keystone, noauth2`,
		`test.conf:6: [db] size = "0": want an integer from 1 to 10`,
		`test.conf:7: [db] wait = "-1": want a number of seconds, 0 or more`,
		`test.conf:9: [db] connection = ***: want a SQLite URL`,
		`test.conf:10: [db] count = "99999999999999999999": want an integer`,
	)
	if strategy != "keystone" || size != 5 || good != 7 || wait != time.Second || url != "" {
		t.Errorf("wrong values must leave defaults alone and right ones be stored: %q %d %d %v %q", strategy, size, good,
			wait, url)
	}
	var v *osloconfig.ValueError
	if !errors.As(err, &v) || v.Line != 2 || v.Option.Option != "debug" {
		t.Errorf("errors.As(err, *ValueError) = %+v, want that of line 2", v)
	}
}

func TestWarnings(t *testing.T) {
	set := read(t, `[default]
[placemnt]
x = 1
[db]
conection = mysql://u:hunter2@h/d
debug = true
zzz = 1
count =
max-size = 3
old_size = 4
hunter2 is my password = 1
[theirs]
anything = goes
`)
	var flag bool
	count, size := 3, 0
	var url osloconfig.Secret
	warnings, err := set.Load(osloconfig.Table{
		Options: []osloconfig.Option{
			option("debug", osloconfig.Bool(&flag)),
			option("placement.x", osloconfig.Int(new(int))),
			option("db.count", osloconfig.Int(&count)),
			option("db.max_size", osloconfig.Int(&size), osloconfig.Name{Option: "old_size"}),
			option("db.connection", osloconfig.Hidden(&url)),
		},
		Ignored: osloconfig.Names{Groups: []string{"theirs"}},
	})
	if err != nil {
		t.Error(err)
	}
	checkLines(t, "warnings", warnings,
		"test.conf:8: [db] count is empty; the default 3 is used",
		"test.conf:10: [db] old_size is an older name of [db] max_size",
		"test.conf:1: there is no group [default]; did you mean [DEFAULT]?",
		"test.conf:2: there is no group [placemnt]; did you mean [placement]?",
		"test.conf:5: there is no option [db] conection; did you mean connection?",
		"test.conf:6: there is no option [db] debug; did you mean [DEFAULT] debug?",
		"test.conf:7: there is no option [db] zzz",
		"test.conf:9: there is no option [db] max-size; did you mean max_size?",
		"test.conf:11: there is no option [db] hunter2…",
	)
	if count != 3 || size != 4 {
		t.Errorf("count, size = %d, %d, want 3, 4", count, size)
	}
}

func TestReferences(t *testing.T) {
	set := read(t, `[DEFAULT]
a = $b
b = ${g.c}
self = $self
lost = pa$word
wrong = maybe
uses = $wrong
[g]
c = $a
password = pa$word
loop = $loop
url = sqlite:///$password
`)
	var s [7]string
	var hidden [2]osloconfig.Secret
	warnings, err := set.Load(osloconfig.Table{Options: []osloconfig.Option{
		option("a", osloconfig.String(&s[0])),
		option("b", osloconfig.String(&s[1])),
		option("self", osloconfig.String(&s[2])),
		option("lost", osloconfig.String(&s[3])),
		option("wrong", osloconfig.Bool(new(bool))),
		option("uses", osloconfig.String(&s[4])),
		option("g.c", osloconfig.String(&s[5])),
		option("g.password", osloconfig.Hidden(&hidden[0])),
		option("g.loop", osloconfig.Hidden(&hidden[1])),
		option("g.url", osloconfig.String(&s[6])),
	}})
	checkLines(t, "warnings", warnings)
	checkLines(t, "errors", errorLines(err),
		`test.conf:9: [g] c = "$a": $a leads back to [DEFAULT] a itself`,
		`test.conf:4: [DEFAULT] self = "$self": $self leads back to [DEFAULT] self itself`,
		`test.conf:5: [DEFAULT] lost = "pa$word": $word is not an option; write $$ for a dollar sign`,
		`test.conf:6: [DEFAULT] wrong = "maybe": want a boolean: true, yes, on, 1 or false, no, off, 0`,
		`test.conf:10: [g] password = ***: it refers to an option that does not exist; write $$ for a dollar sign`,
		`test.conf:11: [g] loop = ***: it refers to itself, maybe through others; write $$ for a dollar sign`,
	)
}

func TestReferencesThatDoubleAreBounded(t *testing.T) {
	const depth = 40
	var b strings.Builder
	b.WriteString("[DEFAULT]\n")
	var table osloconfig.Table
	for i := range depth {
		fmt.Fprintf(&b, "x%d = 1$x%d$x%d\n", i, i+1, i+1)
		table.Options = append(table.Options, option(fmt.Sprintf("x%d", i), osloconfig.String(new(string))))
	}
	table.Options = append(table.Options, option(fmt.Sprintf("x%d", depth), osloconfig.String(new(string))))
	_, err := read(t, b.String()).Load(table)
	if err == nil || !strings.Contains(err.Error(), "more than 1 MiB") {
		t.Errorf("Load = %v, want an error about the size", err)
	}
}

func TestSyntaxErrorsNameEveryLineAndNoContent(t *testing.T) {
	_, err := osloconfig.Parse("bad.conf",
		[]byte("x = hunter2\n  hunter2\n[DEFAULT]\n\n  hunter2\nhunter2\n= hunter2\n[hunter2\n[]\n\xff\n"))
	checkLines(t, "errors", errorLines(err),
		"bad.conf:1: a setting before the first group heading",
		"bad.conf:5: an indented line continues a value, and there is none above it",
		"bad.conf:6: neither a heading nor a comment, and no = or : in it",
		"bad.conf:7: no name before the =",
		"bad.conf:8: a group heading must end with ]",
		"bad.conf:9: a group heading needs a name",
		"bad.conf:10: not valid UTF-8",
	)
}

func TestReadReportsEverySource(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.conf")
	if err := os.WriteFile(bad, []byte("oops\n[DEFAULT]\ndebug = yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := osloconfig.Read(osloconfig.Sources{
		Files: []string{filepath.Join(dir, "missing.conf"), bad},
		Dirs:  []string{filepath.Join(dir, "missing.d")},
	})
	if got := len(errorLines(err)); got != 3 {
		t.Errorf("Read reported %d errors, want 3: %v", got, err)
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("errors.Is(%v, os.ErrNotExist) = false", err)
	}
	var flag bool
	debug := option("debug", osloconfig.Bool(&flag))
	if _, err := set.Load(osloconfig.Table{Options: []osloconfig.Option{debug}}); err != nil || !flag {
		t.Errorf("Load after errors = %v, debug %t; want what could be read", err, flag)
	}
	if !set.Given(debug) || set.Given(option("other", osloconfig.Bool(&flag))) {
		t.Error("Given must be true for debug only")
	}
	checkLines(t, "Paths", set.Paths(), bad)
}

func TestEnvironmentErrorNamesTheVariable(t *testing.T) {
	set, err := osloconfig.Read(osloconfig.Sources{LookupEnv: func(name string) (string, bool) {
		return "soon", name == "OS_G__DEBUG"
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = set.Load(osloconfig.Table{Options: []osloconfig.Option{option("g.debug", osloconfig.Bool(new(bool)))}})
	checkLines(t, "errors", errorLines(err),
		`environment variable OS_G__DEBUG: [g] debug = "soon": want a boolean: true, yes, on, 1 or false, no, off, 0`)
}

func TestSecretsDoNotPrint(t *testing.T) {
	s := struct{ Password osloconfig.Secret }{"hunter2"}
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	hidden := option("password", osloconfig.Hidden(&s.Password))
	for _, shown := range []string{
		fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s.Password, s.Password),
		s.Password.LogValue().String(), string(encoded), hidden.Display(),
	} {
		if strings.Contains(shown, "hunter2") || !strings.Contains(shown, "***") {
			t.Errorf("a secret shows as %s", shown)
		}
	}
	if s.Password.Reveal() != "hunter2" || !hidden.Secret() {
		t.Error("Reveal must return the secret, and the option must know that it is one")
	}
	if got := fmt.Sprint(osloconfig.Secret("")); got != "" {
		t.Errorf("an empty secret shows as %q, want nothing", got)
	}
}

func TestDisplay(t *testing.T) {
	n := 3
	p := &n
	span, ratio := 1500*time.Millisecond, 0.5
	list := []string{"a", "b"}
	for _, c := range []struct {
		value osloconfig.Value
		kind  string
		want  string
	}{
		{osloconfig.OptionalInt(&p), "integer", "3"},
		{osloconfig.OptionalInt(new(*int)), "integer", ""},
		{osloconfig.IntBetween(&n, 1, math.MaxInt), "integer of at least 1", "3"},
		{osloconfig.IntBetween(&n, math.MinInt, 9), "integer of at most 9", "3"},
		{osloconfig.Seconds(&span), "seconds", "1.5"},
		{osloconfig.Float(&ratio), "number", "0.5"},
		{osloconfig.List(&list), "list", "a,b"},
		{osloconfig.Multi(&list), "multi-valued", "a, b"},
		{osloconfig.Bool(new(bool)), "boolean", "false"},
		{osloconfig.Choice(new(string), "x", "y"), "one of x, y", ""},
	} {
		if got := option("x", c.value).Display(); got != c.want || c.value.Type() != c.kind {
			t.Errorf("Display, Type = %q, %q, want %q, %q", got, c.value.Type(), c.want, c.kind)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range torture {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := osloconfig.Parse("fuzz.conf", text)
		path := filepath.Join(t.TempDir(), "fuzz.conf")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		set, readErr := osloconfig.Read(osloconfig.Sources{Files: []string{path}})
		if (err == nil) != (readErr == nil) {
			t.Errorf("Parse = %v, Read = %v", err, readErr)
		}
		var h, g sample
		_, _ = set.Load(osloconfig.Table{Options: append(h.options("DEFAULT"), g.options("g")...)})
	})
}

func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for name, text := range map[string]string{
		"a.conf": "[g]\nmany = 1\nmany = 2\none = 1\n", "b.conf": "[g]\none = 2\n\nmany =\n  3\none = 3\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	slices.Sort(files)
	set, err := osloconfig.Read(osloconfig.Sources{
		Files: files, LookupEnv: func(name string) (string, bool) { return "x", name == "OS_G__ELSEWHERE" },
	})
	if err != nil {
		t.Fatal(err)
	}
	var many []string
	var one string
	for _, c := range []struct {
		name  string
		value osloconfig.Value
		want  []string
	}{
		{"many", osloconfig.Multi(&many), []string{files[0] + ":2", files[0] + ":3", files[1] + ":4"}},
		{"one", osloconfig.String(&one), []string{files[1] + ":6"}},
		{"none", osloconfig.String(&one), nil},
		{"elsewhere", osloconfig.Multi(&many), []string{"environment variable OS_G__ELSEWHERE"}},
	} {
		var got []string
		for _, at := range set.Places(osloconfig.Option{Name: osloconfig.Name{Group: "g", Option: c.name}, Value: c.value}) {
			got = append(got, at.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("values of %s are at %q, want %q", c.name, got, c.want)
		}
	}
}

// Ignored options are known by their names: others refer to them, and their own values are not
// looked at.
func TestIgnored(t *testing.T) {
	set := read(t, `[DEFAULT]
host = $nowhere
my_ip = ::1
workers = many
old_listen = $my_ip
worker = 1
[theirs]
x = y
`)
	listen := ""
	table := osloconfig.Table{
		Options: []osloconfig.Option{option("listen", osloconfig.String(&listen), osloconfig.Name{Option: "old_listen"})},
		Ignored: osloconfig.ParseNames("# a comment\n[DEFAULT]\nhost my_ip\nworkers old_listen absent\n[*]\ntheirs other\n"),
	}
	warnings, err := set.Load(table)
	if err != nil || listen != "::1" {
		t.Errorf("Load = %v, and listen is %q", err, listen)
	}
	checkLines(t, "warnings", warnings,
		"test.conf:5: [DEFAULT] old_listen is an older name of [DEFAULT] listen",
		"test.conf:6: there is no option [DEFAULT] worker; did you mean workers?",
	)
	checkLines(t, "ignored options", set.Ignored(table), "[DEFAULT] host", "[DEFAULT] my_ip", "[DEFAULT] workers")
}
