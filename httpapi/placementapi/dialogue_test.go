package placementapi_test

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A dialogue is a file of requests and the answers to them:
//
//	# What is shown here.
//	PUT /resource_providers/@cn1 1.39 [x-roles: admin]
//	{"name": "cn1"}
//	----
//	200
//	last-modified: <time>
//	{"uuid": "@cn1", …}
//
// A request is one line, with "-" for no version and headers in brackets, and
// its body; a blank line ends an answer. The token is admin unless another one
// is given, and "-" leaves a header out. A word @name stands for a UUID, the
// same everywhere. Of the headers of an answer those are shown that are not as
// usual, of an error its code and its detail.
type dialogue struct {
	text  string
	parts []part
	names map[string]string // UUIDs to @names
}

// part is a comment, or a request with its body.
type part struct {
	comment string
	line    string
	body    string
}

var (
	nameForm = regexp.MustCompile(`@([a-z][a-z0-9]*)`)
	uuidForm = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	idForm   = regexp.MustCompile(`req-` + uuidForm.String())
	lineForm = regexp.MustCompile(`^([A-Z]+) (\S+) (\S+)((?: \[[^\]]*\])*)$`)
)

func readDialogue(t testing.TB, path string) *dialogue {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := &dialogue{text: string(text), names: make(map[string]string)}
	for block := range strings.SplitSeq(strings.TrimSpace(d.text), "\n\n") {
		request, _, _ := strings.Cut(block, "\n----")
		var p part
		for line := range strings.Lines(strings.TrimSpace(request) + "\n") {
			switch {
			case p.line == "" && strings.HasPrefix(line, "#"):
				p.comment += line
			case p.line == "":
				p.line = strings.TrimSpace(line)
			default:
				p.body += line
			}
		}
		p.body = strings.TrimSuffix(p.body, "\n")
		if p.line != "" && lineForm.FindString(p.line) == "" {
			t.Fatalf("%s: not a request: %q", path, p.line)
		}
		d.parts = append(d.parts, p)
	}
	return d
}

// play sends all requests and returns the file as it would be with the answers
// to them.
func (d *dialogue) play(t testing.TB, url string) string {
	t.Helper()
	var blocks []string
	for _, p := range d.parts {
		block := p.comment
		if p.line != "" {
			block += p.line + "\n"
			if p.body != "" {
				block += p.body + "\n"
			}
			block += "----\n" + d.send(t, url, p)
		}
		blocks = append(blocks, block)
	}
	return strings.Join(blocks, "\n")
}

// send sends one request and returns its answer as it is shown.
func (d *dialogue) send(t testing.TB, url string, p part) string {
	t.Helper()
	r := d.request(t, url, p)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s: %v", p.line, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s: %v", p.line, err)
	}
	out := fmt.Sprintln(res.StatusCode) + strings.Join(unusual(r, res, len(body)), "") + shown(res.Header, body)
	return d.mask(strings.ReplaceAll(out, url, "http://host"))
}

func (d *dialogue) request(t testing.TB, url string, p part) *http.Request {
	t.Helper()
	m := lineForm.FindStringSubmatch(p.line)
	var body io.Reader
	if p.body != "" {
		body = strings.NewReader(d.resolve(p.body))
	}
	r, err := http.NewRequest(m[1], url+d.resolve(m[2]), body)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	r.Header.Set("X-Auth-Token", "admin")
	if m[3] != "-" {
		r.Header.Set("OpenStack-API-Version", "placement "+m[3])
	}
	if p.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range strings.FieldsFunc(m[4], func(c rune) bool { return c == '[' || c == ']' }) {
		name, value, ok := strings.Cut(h, ": ")
		if ok && value == "-" {
			r.Header.Del(name)
		} else if ok {
			r.Header.Set(name, value)
		}
	}
	return r
}

// resolve puts UUIDs in place of @names.
func (d *dialogue) resolve(text string) string {
	for _, uuid := range uuidForm.FindAllString(text, -1) {
		d.names[uuid] = uuid
	}
	return nameForm.ReplaceAllStringFunc(text, func(name string) string {
		sum := fmt.Sprintf("%x", sha1.Sum([]byte(name)))
		uuid := sum[:8] + "-" + sum[8:12] + "-4" + sum[12:15] + "-8" + sum[15:18] + "-" + sum[18:30]
		d.names[uuid] = name
		return uuid
	})
}

// mask puts the names back, and words for what differs from run to run.
func (d *dialogue) mask(text string) string {
	text = idForm.ReplaceAllString(text, "<id>")
	return uuidForm.ReplaceAllStringFunc(text, func(uuid string) string {
		if name, ok := d.names[uuid]; ok {
			return name
		}
		if strings.Trim(uuid, "0-") == "" {
			return uuid
		}
		return "<uuid>"
	})
}

// unusual shows the headers that are not as those of most answers.
func unusual(r *http.Request, res *http.Response, size int) []string {
	usual := map[string]string{
		"Openstack-Api-Version": r.Header.Get("OpenStack-API-Version"),
		"Vary":                  "openstack-api-version",
	}
	if size > 0 {
		usual["Content-Type"] = "application/json"
	}
	var lines []string
	for _, name := range []string{
		"Openstack-Api-Version", "Vary", "Content-Type", "Allow", "Cache-Control", "Last-Modified", "Location",
		"Www-Authenticate",
	} {
		value, want := strings.Join(res.Header.Values(name), " | "), usual[name]
		if name == "Last-Modified" && value != "" {
			value = "<time>"
		}
		switch {
		case value == want:
		case value == "":
			lines = append(lines, "no "+strings.ToLower(name)+"\n")
		default:
			lines = append(lines, strings.ToLower(name)+": "+value+"\n")
		}
	}
	return lines
}

// shown writes a body: errors as their code and detail, other JSON as it is,
// and text with a mark before each line.
func shown(h http.Header, body []byte) string {
	var answer struct{ Errors []map[string]any }
	switch err := json.Unmarshal(body, &answer); {
	case len(body) == 0:
		return ""
	case err != nil && !json.Valid(body):
		return "| " + strings.ReplaceAll(strings.TrimSuffix(string(body), "\n"), "\n", "\n| ") + "\n"
	case len(answer.Errors) != 1:
		return string(body) + "\n"
	}
	e := answer.Errors[0]
	if e["request_id"] != h.Get("X-Openstack-Request-Id") {
		return fmt.Sprintf("error of request %v in an answer to %s\n", e["request_id"], h.Get("X-Openstack-Request-Id"))
	}
	var extra []string
	for key, value := range e {
		if !slices.Contains([]string{"code", "detail", "request_id", "status", "title"}, key) {
			extra = append(extra, fmt.Sprintf(" %s=%v", key, value))
		}
	}
	slices.Sort(extra)
	code := "-"
	if c, ok := e["code"]; ok {
		code = fmt.Sprint(c)
	}
	return fmt.Sprintf("error %s%s: %s\n", code, strings.Join(extra, ""), shortDetail(fmt.Sprint(e["detail"])))
}

// shortDetail leaves out the words about the status that come before most
// details, and the spaces after them.
func shortDetail(detail string) string {
	if _, rest, ok := strings.Cut(detail, "\n\n "); ok && strings.HasSuffix(rest, "  ") {
		return strings.TrimSuffix(rest, "  ")
	}
	return strings.ReplaceAll(detail, "\n", `\n`)
}
