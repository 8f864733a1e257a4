package neutron

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Play plays a dialogue against a side, from its start, and compares the side's answers with the
// file.
func Play(t testing.TB, s Side, path string) {
	t.Helper()
	p := newPlayer(t, s)
	for _, b := range mustRead(t, path).blocks {
		compare(t, path, b, p.do(b))
	}
}

// compare reports an answer that is not the one of the block.
func compare(t testing.TB, path string, b block, got string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(b.answer, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s: %s\n%s\n(-file +answer):\n%s", path, b.line, b.body, diff)
	}
}

// Record plays a dialogue against a side and writes the side's answers into the file.
func Record(t testing.TB, s Side, path string) {
	t.Helper()
	d, p := mustRead(t, path), newPlayer(t, s)
	for i, b := range d.blocks {
		d.blocks[i].answer = p.do(b)
	}
	d.write(t, path)
}

func (d *dialogue) write(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(d.text()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t testing.TB, path string) *dialogue {
	t.Helper()
	d, err := readDialogue(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A player plays one dialogue.
type player struct {
	t     testing.TB
	side  Side
	names *names
	http  http.Client
}

func newPlayer(t testing.TB, s Side) *player {
	t.Helper()
	s.Reset(t)
	return &player{t: t, side: s, names: newNames(s.Projects()), http: http.Client{Timeout: time.Minute}}
}

// do executes a block and returns the answer, "" for one without a request.
func (p *player) do(b block) string {
	p.t.Helper()
	if b.line == "" {
		return ""
	}
	r, err := parseRequest(b.line)
	if err != nil {
		p.t.Fatal(err)
	}
	switch {
	case r.method == "":
		return p.act(r, b)
	case r.who == "placement":
		return p.request(r, b, p.side.PlacementURL(), p.side.PlacementToken())
	case slices.Contains(People, r.who) && strings.HasPrefix(r.path, networking):
		return p.request(r, b, p.networkURL(), p.side.Token(p.t, r.who))
	case slices.Contains(People, r.who):
		return p.request(r, b, p.side.URL(), p.side.Token(p.t, r.who))
	}
	p.t.Fatalf("%s: there is no %s", b.line, r.who)
	return ""
}

// networking is where the paths of a network service begin.
const networking = "/v2.0/"

// networkURL returns the address of the network service: the side itself, or the one that it uses.
func (p *player) networkURL() string {
	if c, ok := p.side.(Cloud); ok {
		return c.NetworkURL()
	}
	return p.side.URL()
}

// act does what an agent or a host does.
func (p *player) act(r request, b block) string {
	p.t.Helper()
	switch first, second := r.args[0], p.names.resolve(r.args[1]); r.who {
	case "heartbeat":
		a := Agent{Kind: Kind(first), Host: second, Start: slices.Contains(r.args[2:], "start")}
		for _, word := range r.args[2:] {
			if zone, ok := strings.CutPrefix(word, "zone="); ok {
				a.Zone = zone
			}
		}
		if err := json.Unmarshal([]byte(p.names.resolve(b.body)), &a.Configurations); err != nil {
			p.t.Fatalf("%s: %v", b.line, err)
		}
		p.side.Heartbeat(p.t, a)
	case "silence":
		p.side.Silence(p.t, Kind(first), second)
	case "wired":
		p.side.Wired(p.t, p.names.resolve(first), second)
	case "hold", "release":
		c, ok := p.side.(Cloud)
		if !ok {
			p.t.Fatalf("%s: there are no hosts", b.line)
		}
		if r.who == "hold" {
			c.Hold(p.t, second)
		} else {
			c.Release(p.t, second)
		}
	default:
		p.t.Fatalf("%s: unknown action", b.line)
	}
	return "done"
}

const (
	untilTime  = time.Minute           // how long an answer may take to say what it must
	untilPause = 20 * time.Millisecond // between the requests
)

// request sends a request, again until the answer says what it must, and returns the answer in the
// form of a dialogue.
func (p *player) request(r request, b block, url, token string) string {
	p.t.Helper()
	for end := time.Now().Add(untilTime); ; time.Sleep(untilPause) {
		a := p.send(r, b, url, token)
		said := func(what string) bool { return a.says(p.names.resolve(what)) }
		if !slices.ContainsFunc(r.until, func(what string) bool { return !said(what) }) || time.Now().After(end) {
			p.bind(r, b, a.body)
			return strings.ReplaceAll(a.text(p.names), url, "http://host")
		}
	}
}

// send sends a request.
func (p *player) send(r request, b block, url, token string) answer {
	p.t.Helper()
	req, err := http.NewRequest(r.method, url+p.names.resolve(r.path), strings.NewReader(p.names.resolve(b.body)))
	if err != nil {
		p.t.Fatalf("%s: %v", b.line, err)
	}
	setHeaders(req, r, token, b.body != "")
	res, err := p.http.Do(req)
	if err != nil {
		p.t.Fatalf("%s: %v", b.line, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatalf("%s: %v", b.line, err)
	}
	return answer{
		res.StatusCode, res.Header, body, r.method == http.MethodPost || strings.Contains(r.path, "sort_key="), r.only, r.not,
	}
}

func setHeaders(req *http.Request, r request, token string, hasBody bool) {
	if token != "" {
		req.Header.Set("X-Auth-Token", token)
	}
	if hasBody {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.who == "placement" {
		req.Header.Set("OpenStack-API-Version", "placement 1.37")
	}
	for _, h := range r.header {
		if h[1] == "-" {
			req.Header.Del(h[0])
		} else {
			req.Header.Set(h[0], h[1])
		}
	}
}

// bind names values of an answer.
func (p *player) bind(r request, b block, body []byte) {
	p.t.Helper()
	for _, bind := range r.binds {
		v, err := decode(body)
		if err == nil {
			v, err = find(v, bind[1])
		}
		if err != nil {
			p.t.Errorf("%s: no %s for %s in %s: %v", b.line, bind[1], bind[0], body, err)
			continue
		}
		p.names.bind(bind[0], fmt.Sprint(v))
	}
}

// find returns the value at a path in an answer; the path begins inside its only member if there is
// only one.
func find(v any, way string) (any, error) {
	if object, ok := v.(map[string]any); ok && len(object) == 1 {
		for _, inner := range object {
			v = inner
		}
	}
	for step := range strings.SplitSeq(way, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return nil, fmt.Errorf("%s is no place among %d", step, len(at))
			}
			v = at[i]
		default:
			return nil, fmt.Errorf("nothing at %s", step)
		}
	}
	if v == nil {
		return nil, fmt.Errorf("nothing at %s", way)
	}
	return v, nil
}
