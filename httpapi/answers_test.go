package httpapi_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/microversion"
)

// routes are some of placement's, with handlers that fail like upstream's do on
// an empty database.
func routes() []httpapi.Route {
	const rp, inv, agg = "/resource_providers/{uuid}", "/inventories", "/aggregates"
	noSuchProvider := func(_ http.ResponseWriter, r *http.Request) error {
		return fault.New(fault.NotFound, "", "No resource provider with uuid %s found", httpapi.Param(r, "uuid"))
	}
	return []httpapi.Route{
		{Method: "GET", Pattern: "/", Handle: root},
		{Method: "GET", Pattern: "", Handle: root},
		{Method: "GET", Pattern: "/resource_providers", Produces: true, Handle: listProviders},
		{Method: "POST", Pattern: "/resource_providers", NeedsJSON: true, Handle: duplicate},
		{Method: "GET", Pattern: rp, Produces: true, Handle: noSuchProvider},
		{Method: "DELETE", Pattern: rp, Handle: noSuchProvider},
		{Method: "PUT", Pattern: rp, NeedsJSON: true, Handle: noSuchProvider},
		{Method: "DELETE", Pattern: rp + inv, Since: 5, Hidden: 405, Handle: noSuchProvider},
		{Method: "GET", Pattern: rp + agg, Since: 1, Produces: true, MediaFirst: true, Handle: noSuchProvider},
		{Method: "PUT", Pattern: rp + agg, Since: 1, NeedsJSON: true, MediaFirst: true, Handle: noSuchProvider},
		{Method: "GET", Pattern: "/traits", Since: 6, Produces: true, Handle: noSuchProvider},
		{Method: "GET", Pattern: "/traits/{name}", Since: 6, Handle: noSuchTrait},
		{Method: "POST", Pattern: "/allocations", Since: 13, NeedsJSON: true, Handle: noSuchProvider},
	}
}

func root(w http.ResponseWriter, _ *http.Request) error {
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("versions")
		j.Array()
		j.Object()
		for _, m := range [][2]string{
			{"id", "v1.0"}, {"max_version", "1.39"}, {"min_version", "1.0"}, {"status", "CURRENT"},
		} {
			j.Key(m[0])
			j.String(m[1])
		}
		j.Key("links")
		j.Array()
		j.Object()
		j.Key("rel")
		j.String("self")
		j.Key("href")
		j.String("")
		j.EndObject()
		j.EndArray()
		j.EndObject()
		j.EndArray()
		j.EndObject()
	})
}

func listProviders(_ http.ResponseWriter, r *http.Request) error {
	if c, _ := identity.From(r.Context()); c.UserID != "admin" {
		return fault.New(fault.Denied, "", "Policy does not allow placement:resource_providers:list to be performed.")
	}
	return nil
}

func duplicate(_ http.ResponseWriter, r *http.Request) error {
	if _, err := httpapi.ReadBody(r); err != nil {
		return err
	}
	return fault.New(fault.Conflict, "placement.duplicate_name", "Conflicting resource provider name: a1 already exists.")
}

func noSuchTrait(_ http.ResponseWriter, r *http.Request) error {
	return httpapi.Trapped(fault.New(fault.NotFound, "", "No such trait(s): %s.", httpapi.Param(r, "name")))
}

func config() httpapi.Config {
	return httpapi.Config{
		Service:       "placement",
		History:       microversion.Placement,
		Routes:        routes(),
		Authenticate:  httpapi.NoAuth,
		CodeSince:     23,
		UndefinedCode: "placement.undefined_code",
	}
}

// An answer is one case of testdata/answers.txt.
type answer struct {
	name    string
	cors    bool
	request string
	want    string
}

func readAnswers(t *testing.T) []answer {
	b, err := os.ReadFile("testdata/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "\n\n")
	var all []answer
	for _, c := range strings.Split(text, "\n----\n") {
		if c != "" {
			all = append(all, readAnswer(c))
		}
	}
	return all
}

func readAnswer(text string) (a answer) {
	var head []string
	body := ""
	lines := strings.Split(text, "\n")
	for len(lines) > 0 {
		l := lines[0]
		if h, ok := strings.CutPrefix(l, "> "); ok {
			head = append(head, h)
		} else if h, ok := strings.CutPrefix(l, ">> "); ok {
			body = h
			head = append(head, fmt.Sprintf("Content-Length: %d", len(h)))
		} else if h, ok := strings.CutPrefix(l, "# "); ok {
			a.name, a.cors = strings.TrimSuffix(h, " @cors"), strings.HasSuffix(h, " @cors")
		} else {
			break
		}
		lines = lines[1:]
	}
	head[0] += " HTTP/1.1\r\nHost: h:1"
	a.request = strings.Join(head, "\r\n") + "\r\n\r\n" + body
	a.want = strings.Join(lines, "\n")
	return a
}

var anyID = regexp.MustCompile(`req-[0-9a-f-]{36}`)

// show writes an answer the way testdata does.
func show(res *http.Response, body string) string {
	var heads []string
	for k, vs := range res.Header {
		switch k {
		case "Content-Length", "X-Openstack-Request-Id", "Cache-Control", "Last-Modified", "Location":
		default:
			heads = append(heads, fmt.Sprintf("< %s: %s", strings.ToLower(k), strings.Join(vs, " AND ")))
		}
	}
	sort.Strings(heads)
	heads = append([]string{fmt.Sprintf("< %d", res.StatusCode)}, heads...)
	return strings.Join(heads, "\n") + "\n" + anyID.ReplaceAllString(body, "req-ID")
}

func serveText(t *testing.T, h http.Handler, request string) *httptest.ResponseRecorder {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(request)))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAnswersAreUpstreams(t *testing.T) {
	plain := httpapi.New(config())
	c := config()
	c.CORS = placementCORS("http://valid.example.com")
	shared := httpapi.New(c)
	for _, a := range readAnswers(t) {
		t.Run(a.name, func(t *testing.T) {
			h := plain
			if a.cors {
				h = shared
			}
			w := serveText(t, h, a.request)
			if diff := cmp.Diff(a.want, show(w.Result(), w.Body.String())); diff != "" {
				t.Errorf("(-upstream +ours):\n%s", diff)
			}
			checkHeaders(t, w)
		})
	}
}

// checkHeaders checks what every answer has.
func checkHeaders(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if id := w.Header().Get("X-Openstack-Request-Id"); !anyID.MatchString(id) {
		t.Errorf("request id is %q", id)
	} else if body := anyID.FindString(w.Body.String()); body != "" && body != id {
		t.Errorf("request id is %s in the header, %s in the body", id, body)
	}
	if n := w.Header().Get("Content-Length"); n != fmt.Sprint(w.Body.Len()) {
		t.Errorf("content-length is %q, the body has %d bytes", n, w.Body.Len())
	}
}

func FuzzAccept(f *testing.F) {
	for _, s := range []string{"*/*", "text/html;q=0.5, application/json", `a/b;c="\"`, ",,", "a/b;q="} {
		f.Add(s)
	}
	h := httpapi.New(config())
	f.Fuzz(func(t *testing.T, accept string) {
		r := httptest.NewRequest("GET", "/nowhere", nil)
		r.Header.Set("X-Auth-Token", "admin")
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch media := w.Header().Get("Content-Type"); media {
		case "application/json", "text/html; charset=UTF-8", "text/plain; charset=UTF-8":
		default:
			t.Errorf("an error for Accept: %q comes as %q", accept, media)
		}
	})
}
