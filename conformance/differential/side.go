package differential

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// A Side is one of the two services, and its own identifiers of objects that the other one names
// differently.
type Side struct {
	name string
	host string

	// Providers may be created without a uuid; each service then chooses one. In the sequence both
	// have the same canonical uuid.
	canonical map[string]string // by the service's own uuid
	own       map[string]string // by the canonical uuid
}

// newSide returns a side that has no service yet.
func newSide(name string) *Side {
	s := &Side{name: name}
	s.forget()
	return s
}

func (s *Side) serveAt(url string) {
	s.host = strings.TrimPrefix(url, "http://")
	s.forget()
}

func (s *Side) forget() {
	s.canonical, s.own = map[string]string{}, map[string]string{}
}

// translate replaces each key of names in text, with and without dashes.
func translate(text string, names map[string]string) string {
	for from, to := range names {
		text = strings.ReplaceAll(text, from, to)
		text = strings.ReplaceAll(text, undashed(from), undashed(to))
	}
	return text
}

func undashed(uuid string) string { return strings.ReplaceAll(uuid, "-", "") }

// exchange sends one request, written with canonical names, and returns the answer with those. A
// broken exchange is an answer with status 0.
func (s *Side) exchange(r Request) Answer {
	r.Target = translate(r.Target, s.own)
	r.Body = translate(r.Body, s.own)
	res, err := send(s.host, r)
	if err != nil {
		return Answer{Text: fmt.Sprintf("no answer: %v", err)}
	}
	s.learn(r, &res)
	res.Body = s.canon(res.Body)
	for name, values := range res.Header {
		for i := range values {
			res.Header[name][i] = s.canon(values[i])
		}
	}
	return NewAnswer(r, res)
}

func (s *Side) canon(text string) string {
	text = translate(text, s.canonical)
	return strings.ReplaceAll(text, s.host, "SERVICE")
}

// chosenPrefix starts the canonical uuid of a provider for which each service
// chose its own.
const chosenPrefix = "c0ffee00"

var locatedProvider = regexp.MustCompile(`/resource_providers/([0-9a-f]{8}-[0-9a-f-]{27})$`)

// learn records the uuid that the service chose for a new provider.
func (s *Side) learn(r Request, res *Response) {
	if r.Method != http.MethodPost || r.path() != "/resource_providers" {
		return
	}
	m := locatedProvider.FindStringSubmatch(res.Header.Get("Location"))
	if m == nil || strings.Contains(strings.ToLower(undashed(r.Body)), undashed(m[1])) {
		return
	}
	name := fmt.Sprintf(chosenPrefix+"-0000-4000-8000-%012x", r.ID)
	s.canonical[m[1]], s.own[name] = name, m[1]
}
