package settings_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/osloconfig"
)

// A scenario is one case of a file in testdata:
//
//	== what is shown
//	# a remark
//	command host=… canonical=… tunnelled=… started
//	--- kind name of file
//	content
//	----
//	what comes out
//
// The commands: load and json read the files as one agent's, changes compares
// each file with the one before, check holds one agent of each kind against the
// section "--- machine".
type scenario struct {
	title    string
	head     []string // remarks and the command, as written
	command  string
	options  map[string]string
	sections []section
	want     string
}

type section struct {
	kind, name, text string
}

func TestScenarios(t *testing.T) {
	for _, path := range golden.Files(t, "testdata/*.txt") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { runFile(t, path) })
	}
}

func runFile(t *testing.T, path string) {
	preamble, scenarios := parseScenarios(golden.Read(t, path))
	var b strings.Builder
	b.WriteString(preamble)
	for _, s := range scenarios {
		t.Run(s.title, func(t *testing.T) { s.want = strings.TrimRight(s.run(t), "\n") })
		s.write(&b)
	}
	golden.Compare(t, path, strings.TrimRight(b.String(), "\n")+"\n")
}

func parseScenarios(text string) (preamble string, all []scenario) {
	preamble, rest, _ := strings.Cut(text, "== ")
	for part := range strings.SplitSeq(rest, "\n== ") {
		input, want, _ := strings.Cut(strings.TrimRight(part, "\n")+"\n", "\n----\n")
		s := scenario{options: map[string]string{}, want: strings.TrimRight(want, "\n")}
		pieces := strings.Split(input, "\n--- ")
		lines := strings.Split(pieces[0], "\n")
		s.title, s.head = lines[0], lines[1:]
		for i, word := range strings.Fields(lines[len(lines)-1]) {
			if name, value, _ := strings.Cut(word, "="); i > 0 {
				s.options[name] = value
			} else {
				s.command = word
			}
		}
		for _, piece := range pieces[1:] {
			head, body, _ := strings.Cut(piece, "\n")
			kind, name, _ := strings.Cut(head, " ")
			s.sections = append(s.sections, section{kind, name, body})
		}
		all = append(all, s)
	}
	return preamble, all
}

func (s *scenario) write(b *strings.Builder) {
	fmt.Fprintf(b, "== %s\n%s", s.title, strings.Join(s.head, "\n"))
	for _, sec := range s.sections {
		fmt.Fprintf(b, "\n--- %s\n%s", strings.TrimSpace(sec.kind+" "+sec.name), sec.text)
	}
	fmt.Fprintf(b, "\n----\n%s\n\n", s.want)
}

func (s *scenario) run(t *testing.T) string {
	switch s.command {
	case "load":
		return s.show(t, func(got *settings.Settings) string {
			empty, _, _ := settings.Load(got.Kind, osloconfig.Sources{}, s.names())
			return lines(settings.Changes(empty, got))
		})
	case "json":
		return s.show(t, func(got *settings.Settings) string { return configurations(t, got) })
	case "changes":
		prev, _ := s.load(t, s.sections[:1])
		cur, _ := s.load(t, s.sections[1:])
		return lines(settings.Changes(prev, cur))
	case "check":
		return s.check(t)
	}
	t.Fatalf("there is no command %q", s.command)
	return ""
}

// show loads all sections as one agent's and prints what the operator sees.
func (s *scenario) show(t *testing.T, result func(*settings.Settings) string) string {
	got, text := s.load(t, s.sections)
	if got == nil {
		return text
	}
	for _, name := range got.Ignored {
		text += "ignored: " + name + "\n"
	}
	return result(got) + text
}

func (s *scenario) names() settings.Names {
	names := settings.Names{Host: s.options["host"], Canonical: s.options["canonical"]}
	if names.Host == "" {
		names.Host = "devstack0"
	}
	if names.Canonical == "" {
		names.Canonical = names.Host
	}
	return names
}

// load reads sections of one kind, and returns what was said meanwhile.
func (s *scenario) load(t *testing.T, sections []section) (got *settings.Settings, text string) {
	kind := settings.Kind(sections[0].kind)
	src := osloconfig.Sources{}
	dir := t.TempDir()
	for _, sec := range sections {
		if kind == settings.OVN && sec.name == "chassis" {
			continue
		}
		path := filepath.Join(dir, sec.name)
		if err := os.WriteFile(path, []byte(sec.text), 0o600); err != nil {
			t.Fatal(err)
		}
		src.Files = append(src.Files, path)
	}
	got, warnings, err := settings.Load(kind, src, s.names())
	if err == nil && kind == settings.OVN {
		var more []string
		got.Resources, more, err = settings.ParseOVN(chassis(sections[0].text), s.options["tunnelled"])
		warnings = append(warnings, more...)
	}
	for _, w := range warnings {
		text += "warning: " + w + "\n"
	}
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			text += "error: " + line + "\n"
		}
		got = nil
	}
	return got, strings.ReplaceAll(text, dir+"/", "")
}

// chassis reads lines of key and value.
func chassis(text string) map[string]string {
	ids := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			ids[key] = value
		}
	}
	return ids
}

func lines(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, "\n") + "\n"
}

func configurations(t *testing.T, s *settings.Settings) string {
	t.Helper()
	text, err := s.Configurations(settings.Observed{
		Capabilities: settings.Capabilities{DatapathTypes: []string{"netdev", "system"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return indent(t, text)
}

// indent writes JSON with its keys in order.
func indent(t *testing.T, text []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// check loads one agent of each kind.
func (s *scenario) check(t *testing.T) string {
	m := machine{}
	var agents []*settings.Settings
	for _, sec := range s.sections {
		if sec.kind == "machine" {
			m = parseMachine(t, sec.text)
			continue
		}
		got, text := s.load(t, []section{sec})
		if got == nil {
			t.Fatal(text)
		}
		for i := range got.Files {
			got.Files[i] = settings.File{Path: filepath.Base(got.Files[i].Path), Modified: time.Unix(1000, 0)}
		}
		agents = append(agents, got)
	}
	var started time.Time
	if text, ok := s.options["started"]; ok {
		seconds, _ := strconv.Atoi(text)
		started = time.Unix(int64(seconds), 0)
	}
	var all []string
	for _, f := range settings.Check(m, started, agents...) {
		all = append(all, f.String())
	}
	return lines(all)
}

// A machine is a Machine in memory. A device that is broken cannot be examined.
type machine map[string]settings.Device

func (m machine) Device(name string) (settings.Device, error) {
	if d, ok := m[name]; ok && d.Speed < 0 {
		return settings.Device{}, errors.New("input/output error")
	}
	return m[name], nil
}

// parseMachine reads lines such as "ens5 pf vfs=8/64 speed=10000".
func parseMachine(t *testing.T, text string) machine {
	m := machine{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		d := settings.Device{Exists: true}
		for _, word := range words[1:] {
			switch name, value, _ := strings.Cut(word, "="); name {
			case "pf":
				d.PF, d.Physical = true, true
			case "physical":
				d.Physical = true
			case "broken":
				d.Speed = -1
			case "vfs":
				fmt.Sscanf(value, "%d/%d", &d.VFs, &d.MaxVFs)
			case "speed":
				fmt.Sscanf(value, "%d", &d.Speed)
			case "ports":
				d.Ports = strings.Split(value, ",")
			default:
				t.Fatalf("there is no word %q for devices", word)
			}
		}
		m[words[0]] = d
	}
	return m
}
