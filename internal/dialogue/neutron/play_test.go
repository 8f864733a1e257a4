package neutron_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/internal/dialogue/neutron"
)

// A toy is a service with one list of objects, whose ids differ each time.
type toy struct {
	*httptest.Server
	starts int
	things []map[string]any
	spoil  func(thing map[string]any) // applied to each object in an answer
	heard  []string
}

func newToy(t *testing.T) *toy {
	s := &toy{spoil: func(map[string]any) {}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /things", s.create)
	mux.HandleFunc("GET /things", s.list)
	mux.HandleFunc("GET /things/{id}", s.show)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *toy) create(w http.ResponseWriter, r *http.Request) {
	var thing map[string]any
	if err := json.NewDecoder(r.Body).Decode(&thing); err != nil {
		s.answer(w, 400,
			map[string]any{"NeutronError": map[string]any{"type": "BadRequest", "message": "No thing.", "detail": ""}})
		return
	}
	n := len(s.things)
	thing["id"] = fmt.Sprintf("%08d-0000-4000-8000-%012d", s.starts, 1000-n)
	thing["at"] = fmt.Sprintf("2026-01-01T00:00:%02dZ", s.starts)
	thing["fixed_ips"] = []string{fmt.Sprintf("192.0.2.%d", s.starts)}
	s.things = append(s.things, thing)
	s.answer(w, 201, map[string]any{"thing": thing})
}

func (s *toy) list(w http.ResponseWriter, _ *http.Request) {
	list := append([]map[string]any{}, s.things...)
	if s.starts%2 == 0 { // the order does not matter
		for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
			list[i], list[j] = list[j], list[i]
		}
	}
	s.answer(w, 200, map[string]any{"things": list})
}

func (s *toy) show(w http.ResponseWriter, r *http.Request) {
	for _, thing := range s.things {
		if thing["id"] == r.PathValue("id") {
			s.answer(w, 200, map[string]any{"thing": thing})
			return
		}
	}
	s.answer(w, 404, map[string]any{"NeutronError": map[string]any{
		"type": "ThingNotFound", "message": "Thing " + r.PathValue("id") + " is not there.", "detail": "",
	}})
}

func (s *toy) answer(w http.ResponseWriter, status int, v map[string]any) {
	for _, inner := range v {
		if thing, ok := inner.(map[string]any); ok {
			s.spoil(thing)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the player reports a missing answer
}

func (s *toy) URL() string                           { return s.Server.URL }
func (s *toy) PlacementURL() string                  { return s.Server.URL }
func (s *toy) PlacementToken() string                { return "" }
func (s *toy) Token(testing.TB, string) string       { return "" }
func (s *toy) Projects() map[string]string           { return nil }
func (s *toy) Reset(testing.TB)                      { s.starts++; s.things = nil }
func (s *toy) Wired(_ testing.TB, port, host string) { s.heard = append(s.heard, port+" "+host) }
func (s *toy) Heartbeat(_ testing.TB, a neutron.Agent) {
	s.heard = append(s.heard, fmt.Sprintln(a.Kind.Type(), a.Host, a.Start, a.Configurations))
}

func (s *toy) Silence(_ testing.TB, k neutron.Kind, host string) {
	s.heard = append(s.heard, k.Binary()+" "+host)
}

const requests = `# Two things.
admin POST /things @a
{"name": "a", "vlan": 7}

admin POST /things
{"name": "b"}

member GET /things

member GET /things/@a only=name,id

member GET /things/00000000-0000-4000-8000-00000000000a

admin POST /things
nonsense

heartbeat ovs h start
{"x": 1}

wired @a h

silence sriov h
`

const answers = `# Two things.
admin POST /things @a
{"name": "a", "vlan": 7}
----
201
{"thing": {"at": "<time>", "fixed_ips": ["<ip1>"], "id": "@a", "name": "a", "vlan": "<number1>"}}

admin POST /things
{"name": "b"}
----
201
{"thing": {"at": "<time>", "fixed_ips": ["<ip1>"], "id": "<id1>", "name": "b"}}

member GET /things
----
200
{"things": [
  {"at": "<time>", "fixed_ips": ["<ip1>"], "id": "@a", "name": "a", "vlan": "<number1>"},
  {"at": "<time>", "fixed_ips": ["<ip1>"], "id": "<id1>", "name": "b"}]}

member GET /things/@a only=name,id
----
200
{"thing": {"id": "@a", "name": "a"}}

member GET /things/00000000-0000-4000-8000-00000000000a
----
404
error ThingNotFound: Thing 00000000-0000-4000-8000-00000000000a is not there.

admin POST /things
nonsense
----
400
error BadRequest: No thing.

heartbeat ovs h start
{"x": 1}
----
done

wired @a h
----
done

silence sriov h
----
done
`

// TestRecord writes a dialogue and plays it against the same service with other ids, times and
// orders.
func TestRecord(t *testing.T) {
	s, path := newToy(t), writeDialogue(t, requests)
	neutron.Record(t, s, path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(answers, string(text)); diff != "" {
		t.Errorf("what was recorded (-want +got):\n%s", diff)
	}
	s.heard = nil
	for range 3 {
		neutron.Play(t, s, path)
	}
	want := []string{
		"Open vSwitch agent h true map[x:1]\n", s.things[0]["id"].(string) + " h", "neutron-sriov-nic-agent h",
	}
	if diff := cmp.Diff(want, s.heard[6:]); diff != "" {
		t.Errorf("what the agents did (-want +got):\n%s", diff)
	}
}

// TestUntil repeats requests until the answer is the one that is waited for.
func TestUntil(t *testing.T) {
	s, path := newToy(t), writeDialogue(t, `admin POST /things @a
{"name": "a", "state": "new"}

admin GET /things/@a until=state=done

admin GET /things/@a until=owner.id=null

admin GET /things/nobody until=404
`)
	requested := 0
	s.spoil = func(thing map[string]any) {
		if requested++; requested > 3 {
			thing["state"] = "done"
		}
		if thing["owner"] = map[string]any{"id": "x"}; requested > 6 {
			thing["owner"] = map[string]any{}
		}
	}
	neutron.Record(t, s, path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"state=done\n----\n200\n" + `{"thing": {"at": "<time>", "fixed_ips": ["<ip1>"], "id": "@a", "name": "a", ` +
			`"owner": {"id": "x"}, "state": "done"}}`,
		"id=null\n----\n200\n" +
			`{"thing": {"at": "<time>", "fixed_ips": ["<ip1>"], "id": "@a", "name": "a", "owner": {}, "state": "done"}}`,
		"until=404\n----\n404\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("want %s in what was recorded:\n%s", want, text)
		}
	}
	if requested != 8 {
		t.Errorf("it gets %d requests, want 8: once to make the thing, 3 and 3 times for it, and once for another", requested)
	}
}

// TestPlayFindsDifferences plants faults in the service, each of which must be detected.
func TestPlayFindsDifferences(t *testing.T) {
	for name, spoil := range map[string]func(map[string]any){
		"another name":    func(thing map[string]any) { thing["name"] = "x" },
		"an attribute":    func(thing map[string]any) { thing["more"] = nil },
		"one less":        func(thing map[string]any) { delete(thing, "name") },
		"another type":    func(thing map[string]any) { thing["name"] = []any{thing["name"]} },
		"form of a time":  func(thing map[string]any) { thing["at"] = "2026-01-01T00:00:00" },
		"error's message": func(thing map[string]any) { thing["message"] = "x" },
		"error's detail":  func(thing map[string]any) { thing["detail"] = "x" },
		"error's type":    func(thing map[string]any) { thing["type"] = "x" },
		"an id that lies": func(thing map[string]any) { thing["id"] = "99999999-0000-4000-8000-000000000000" },
	} {
		t.Run(name, func(t *testing.T) {
			s, quiet := newToy(t), &quietly{TB: t}
			s.spoil = spoil
			if neutron.Play(quiet, s, writeDialogue(t, answers)); quiet.errors == 0 {
				t.Error("nothing was said")
			}
		})
	}
}

// TestPlayBut compares a side with its known differences: exactly these, all of them, in their
// order, and the dialogue after them is unaffected.
func TestPlayBut(t *testing.T) {
	s := newToy(t)
	s.spoil = func(thing map[string]any) {
		if thing["name"] == "b" {
			thing["more"] = "99999999-0000-4000-8000-000000000000"
		}
	}
	const known = `# It says more.
admin POST /things
{"name": "b"}
----
201
{"thing": {"at": "<time>", "fixed_ips": ["<ip1>"], "id": "<own-id1>", "more": "<own-id2>", "name": "b"}}

member GET /things
----
200
{"things": [
  {"at": "<time>", "fixed_ips": ["<ip1>"], "id": "@a", "name": "a", "vlan": "<number1>"},
  {"at": "<time>", "fixed_ips": ["<ip1>"], "id": "<own-id1>", "more": "<own-id2>", "name": "b"}]}
`
	first, second, _ := strings.Cut(known, "\n\n")
	after := "\nadmin POST /things\n{\"name\": \"c\"}\n----\n201\n" +
		`{"thing": {"at": "<time>", "fixed_ips": ["<ip1>"], "id": "<id2>", "name": "c"}}` + "\n"
	for name, try := range map[string]struct {
		known string
		wrong int
	}{
		"these":         {known, 0},
		"too few":       {first, 1},
		"another order": {second + "\n" + first, 4},
		"one too many":  {known + "\nmember GET /things\n----\n200\n", 1},
		"other answers": {strings.ReplaceAll(known, "201", "202"), 1},
		"other names":   {strings.ReplaceAll(known, "own-id1", "id1"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			quiet := &quietly{TB: t}
			neutron.PlayBut(quiet, s, writeDialogue(t, answers+after), writeDialogue(t, try.known))
			if quiet.errors != try.wrong {
				t.Errorf("%d errors, want %d", quiet.errors, try.wrong)
			}
		})
	}
}

// TestUnknownLines refuses malformed lines.
func TestUnknownLines(t *testing.T) {
	for _, text := range []string{"admin GET", "admin GET /things nonsense", "admin GET /things @A", "admin"} {
		if _, err := neutron.Rewrite(text); err == nil {
			t.Errorf("%q is taken for a request", text)
		}
	}
}

// FuzzRewrite writes what it has read: once more makes no difference.
func FuzzRewrite(f *testing.F) {
	f.Add(requests)
	f.Add(answers)
	f.Add("# only a comment\n\n\n\nadmin GET /x [A: b] @c=d.e\n\n----\n")
	f.Fuzz(func(t *testing.T, text string) {
		once, err := neutron.Rewrite(text)
		if err != nil {
			return
		}
		if twice, err := neutron.Rewrite(once); err != nil || once != twice {
			t.Errorf("%q, then %q: %v", once, twice, err)
		}
	})
}

func writeDialogue(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dialogue.txt")
	if err := os.WriteFile(path, []byte(strings.TrimSpace(text)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// quietly counts the errors of a test instead of failing it.
type quietly struct {
	testing.TB
	errors int
}

func (q *quietly) Errorf(f string, a ...any) { q.errors++; q.Logf(f, a...) }
