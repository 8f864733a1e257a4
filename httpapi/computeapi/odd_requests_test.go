package computeapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/internal/dialogue/neutron"
	"github.com/berthcloud/berth/internal/dialogue/nova"
	"github.com/berthcloud/berth/internal/racetest"
)

// odd are values that few expect.
var odd = []any{
	nil, true, "", " ", "x", -1, 0, 1.5, 1 << 40, json.Number("99999999999999999999999"), json.Number("1e400"), "1e400",
	"99999999999999999999999",
	"\x00", "é\U0001F600", strings.Repeat("y", 300), "11111111-0000-4000-8000-000000000001",
	[]any{},
	[]any{nil},
	[]any{map[string]any{}},
	map[string]any{},
	map[string]any{"x": nil},
}

// whole are bodies that are odd by themselves.
var whole = []string{
	"", "null", "[]", "{}", `"x"`, "1", "true", "{", `{"a": "\ud800"}`, `[null]`, `{"": 1}`, "\xff", "{\"a\":1,\"a\":2}",
}

// A said is a request of a dialogue.
type said struct{ who, method, path, header, body string }

var (
	saidForm    = regexp.MustCompile(`^(\w+) (GET|POST|PUT|DELETE|PATCH) (\S+)`)
	versionForm = regexp.MustCompile(`\[OpenStack-API-Version: (compute [\d.]+)\]`)
	nameForm    = regexp.MustCompile(`@[a-z][a-z0-9_]*`)
)

// someID is the id of the server that there is, and of what dialogues have a name for.
const someID = "33333333-0000-4000-8000-000000000001"

// allSaid returns the requests of all dialogues to the compute service.
func allSaid(t *testing.T) (all []said) {
	t.Helper()
	files := []string{"testdata/hosts.txt"}
	for _, pattern := range []string{"*.txt", "cloud/*.txt"} {
		more, err := filepath.Glob("../../conformance/nova/testdata/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(string(text), "\n\n") {
			question, _, _ := strings.Cut(block, "\n----")
			line, body, _ := strings.Cut(question[max(0, strings.LastIndex("\n"+question, "\n#")):], "\n")
			for strings.HasPrefix(line, "#") {
				line, body, _ = strings.Cut(body, "\n")
			}
			named := func(text string) string {
				return nameForm.ReplaceAllStringFunc(text, func(name string) string {
					if name == "@demo" {
						return name
					}
					return someID
				})
			}
			m := saidForm.FindStringSubmatch(line)
			if m == nil || m[1] == "placement" || strings.HasPrefix(m[3], "/v2.0/") {
				continue
			}
			version := ""
			if v := versionForm.FindStringSubmatch(line); v != nil {
				version = v[1]
			}
			all = append(all, said{m[1], m[2], named(m[3]), version, named(body)})
		}
	}
	return all
}

// Whatever is wrong with a request, it is the caller's mistake and said to be: each
// value in a body or a query of the dialogues is replaced by odd ones.
func TestOddRequestsAreTheCallers(t *testing.T) {
	racetest.Skip(t)
	s := newSide(t)
	s.options = computetest.Options{Network: somePorts(), Images: images{}}
	s.Reset(t)
	s.Heartbeat(t, neutron.Agent{Host: "cn1"})
	s.say(t, said{
		"admin", "POST", "/v2.1/flavors", "", `{"flavor": {"name": "c1", "id": "c1", "ram": 256, "vcpus": 1, "disk": 1}}`,
	})
	s.makeServer(t, neutron.Agent{Kind: nova.Server, Host: "vm0", Configurations: map[string]any{
		"id": someID, "flavor": "c1", "image": image, "host": "cn1",
	}})
	all := allSaid(t)
	if len(all) < 300 {
		t.Fatalf("there are only %d requests", len(all))
	}
	requested, spoiledPlaces := map[said]bool{}, map[said]bool{}
	query := func(r said) {
		// Keys take long to make, and are no part of this.
		if makes := r.method == http.MethodPost &&
			strings.Contains(r.path, "/os-keypairs"); makes && !strings.Contains(r.body, "public_key") {
			return
		}
		if requested[r] {
			return
		}
		requested[r] = true
		if !racetest.Few() || len(requested)%10 == 0 {
			s.say(t, r)
		}
	}
	for _, r := range all {
		for _, body := range spoiled(r.body) {
			query(said{"admin", r.method, r.path, r.header, body})
		}
		if place := (said{"", r.method, strings.Split(r.path, "?")[0], r.header, ""}); !spoiledPlaces[place] {
			spoiledPlaces[place] = true
			for _, path := range spoiledPaths(r.path) {
				query(said{"admin", r.method, path, r.header, r.body})
			}
		}
	}
	t.Logf("%d requests", len(requested))
}

// TestNumbersThatAreNotFinite wants none of them to be repeated by an answer, which would be no
// JSON.
func TestNumbersThatAreNotFinite(t *testing.T) {
	s := newSide(t)
	s.Reset(t)
	s.say(t, said{
		"admin", "POST", "/v2.1/flavors", "", `{"flavor": {"name": "c1", "id": "c1", "ram": 256, "vcpus": 1, "disk": 1}}`,
	})
	for _, r := range []said{
		{"admin", "POST", "/v2.1/flavors/c1/os-extra_specs", "", `{"extra_specs": {"foo": NaN}}`},
		{"admin", "PUT", "/v2.1/flavors/c1/os-extra_specs/foo", "", `{"foo": 1e999}`},
		{
			"admin", "POST", "/berth/v1/heartbeats", "",
			`{"host": {"host": "cn1", "version": 66, "node": {"id": "33333333-0000-4000-8000-000000000001", ` +
				`"name": "cn1", "type": "x", "cpu_info": {"a": [-Infinity]}}}}`,
		},
	} {
		if status, answer := s.say(t, r); status != http.StatusBadRequest || !strings.Contains(answer, "not finite") {
			t.Errorf("%s %s %s: %d %s", r.method, r.path, r.body, status, answer)
		}
	}
}

// say sends a request and returns the answer. It reports an answer that is not the caller's
// mistake, nor what was requested.
func (s *side) say(t *testing.T, r said) (status int, answer string) {
	t.Helper()
	path := strings.ReplaceAll(r.path, "@demo", nova.Projects()["demo"])
	req, err := http.NewRequest(r.method, s.Server.URL+path, strings.NewReader(r.body))
	if err != nil {
		return 0, "" // no request at all
	}
	req.Header.Set("X-Auth-Token", r.who)
	if r.header != "" {
		req.Header.Set("OpenStack-API-Version", r.header)
	}
	w := httptest.NewRecorder()
	(*s.handler.Load()).ServeHTTP(w, req)
	if w.Code == 0 || w.Code >= 500 && w.Code != http.StatusNotImplemented {
		t.Errorf("%s %s [%s] %.300q: %d %s", r.method, r.path, r.header, r.body, w.Code, w.Body)
	}
	return w.Code, w.Body.String()
}

// spoiled are bodies that are like one, but for a value each.
func spoiled(body string) []string {
	all := slices.Clone(whole)
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return all
	}
	var spoil func(at any, put func(any))
	spoil = func(at any, put func(any)) {
		for _, o := range odd {
			put(o)
			text, err := json.Marshal(v)
			if err != nil {
				continue
			}
			all = append(all, string(text))
		}
		put(at)
		switch at := at.(type) {
		case map[string]any:
			for key, inner := range at {
				spoil(inner, func(o any) { at[key] = o })
			}
		case []any:
			for i, inner := range at {
				spoil(inner, func(o any) { at[i] = o })
			}
		}
	}
	spoil(v, func(o any) { v = o })
	return all
}

// spoiledPaths are paths that are like one, but for a part or a value of the query.
func spoiledPaths(path string) (all []string) {
	path, query, _ := strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	odd := []string{
		"%00", "%ff", "x", "-1", "99999999999999999999999", "%C3%A9", "..", "%2F", "1e3", strings.Repeat("z", 300),
	}
	for i := 3; i < len(parts); i++ {
		for _, o := range odd {
			other := slices.Clone(parts)
			other[i] = o
			all = append(all, strings.Join(other, "/"))
		}
	}
	pairs := strings.Split(query+"&limit=1&marker=1&sort_key=1&user_id=1&changes-since=1&name=1&status=1", "&")
	for _, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		for _, o := range append(odd, "", "%", "%zz", "+", "(", "2026-01-01") {
			all = append(all, path+"?"+name+"="+o, path+"?"+name+"="+o+"&"+name+"=1")
		}
	}
	return all
}
