// Package console serves a page that shows a cloud's placement: which hosts are how full, what a
// host consists of, who has what, why a request does not fit, how much still fits. It is one HTTP
// handler for any source of records (decision 56). What it answers is computed by the packages of
// the operators' commands, and the page draws it. It changes nothing in the cloud.
package console

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/berthcloud/berth/fault"
)

// Path is the path below which a console answers.
const Path = "/console"

// CompressMinSize is the size in bytes from which answers are to be compressed for browsers, which
// may be far away, other than the services that call the API.
const CompressMinSize = 1024

// Options say what a console shows, and to whom.
type Options struct {
	Source Source
	// Access decides who may look.
	Access Access
	Log    *slog.Logger // nil discards
}

// A Console answers the requests of its pages. It may be used by several goroutines.
type Console struct {
	source Source
	access Access
	log    *slog.Logger
	follow *follower
	meter  trafficMeter
	mux    *http.ServeMux
	assets http.Handler
	// computing has an element for each answer that is computed now.
	computing chan struct{}
}

// New returns a console, which reads nothing before [Console.Run].
func New(o Options) *Console {
	c := &Console{
		source: o.Source, access: o.Access, log: o.Log, mux: http.NewServeMux(), assets: Assets(),
		computing: make(chan struct{}, maxComputed),
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.meter.counts = o.Source.Counts
	c.follow = newFollower(o.Source, c.log)
	c.routes()
	return c
}

// Run reads the cloud, while pages are open, until ctx ends.
func (c *Console) Run(ctx context.Context) { c.follow.run(ctx) }

// ServeHTTP answers a request for a page, one of its files, or data.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

// An answerer returns what a request is answered with, as JSON.
type answerer func(r *http.Request, s *state) (any, error)

// routes sets what is answered how. A request for data says which rule of placement's policy has to
// allow it: that of the API's request whose answer has the same.
func (c *Console) routes() {
	const api = Path + "/api/"
	c.mux.HandleFunc(Path+"/", c.servePage)
	c.mux.HandleFunc(Path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "console/") // also below the prefix of a proxy
		w.WriteHeader(http.StatusMovedPermanently)
	})
	c.mux.HandleFunc("GET "+api+"session", c.serveSession)
	c.mux.HandleFunc("POST "+api+"session", c.serveLogin)
	c.mux.HandleFunc("DELETE "+api+"session", c.serveLogout)
	c.mux.HandleFunc("GET "+api+"events", c.serveEvents)
	for path, route := range map[string]struct {
		rules  []string
		answer answerer
	}{
		"hosts":          {lookRules, c.hosts},
		"hosts/{host}":   {holderRules, c.host},
		"consumers/{id}": {holderRules, c.consumer},
		"search":         {holderRules, c.search},
		"explain":        {searchRules, c.explain},
		"headroom":       {searchRules, c.headroom},
		"choices":        {searchRules, c.choices},
		"slots":          {searchRules, c.slots},
		"drain/{host}":   {holderRules, c.drain},
		"servers":        {holderRules, c.servers},
		"findings":       {holderRules, c.findings},
		"traffic":        {lookRules, c.traffic},
	} {
		c.mux.HandleFunc("GET "+api+path, func(w http.ResponseWriter, r *http.Request) {
			c.serve(w, r, route.rules, route.answer)
		})
	}
	c.mux.HandleFunc(api, func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "There is no such data, or it is read with another method.")
	})
}

// serve answers a request for data of a current reading.
func (c *Console) serve(w http.ResponseWriter, r *http.Request, rules []string, answer answerer) {
	if err := c.access.Check(r, rules); err != nil {
		c.fail(w, r, err)
		return
	}
	s, err := c.follow.current(r.Context())
	if err != nil {
		c.fail(w, r, err)
		return
	}
	value, err := answer(r, s)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	respond(w, value)
}

// respond answers with a value as JSON.
func respond(w http.ResponseWriter, value any) { write(w, http.StatusOK, value) }

func write(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // values are structs of plain data
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have disconnected
}

// A Problem is the body of an answer that is an error, as placement's API has it.
type Problem struct {
	Errors []ProblemDetail `json:"errors"`
}

// A ProblemDetail is an error: its status and a sentence for the reader of the page.
type ProblemDetail struct {
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int, detail string) {
	write(w, status, Problem{[]ProblemDetail{{status, detail}}})
}

// statuses are those of the kinds of fault whose text is for the reader of a page.
var statuses = map[fault.Kind]int{
	fault.Invalid: http.StatusBadRequest, fault.Unauthentic: http.StatusUnauthorized,
	fault.Denied: http.StatusForbidden, fault.NotFound: http.StatusNotFound,
	fault.Unavailable: http.StatusServiceUnavailable, fault.Unsupported: http.StatusNotImplemented,
}

// fail answers with an error. The text of one that is no fault is logged only.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	detail := "It could not be computed: the log of the console says why."
	if r.Context().Err() != nil {
		return // nobody reads the answer
	}
	if first, ok := errors.AsType[firstReading](err); ok {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, first.Error())
		return
	}
	if f, ok := fault.Find(err); ok {
		kind, _ := fault.Of(err)
		if status, ok = statuses[kind]; ok {
			detail = sentence(f.Error())
		}
	}
	if status >= http.StatusInternalServerError {
		c.log.Warn("a request of the console failed", "path", r.URL.Path, "error", err.Error())
	}
	refuse(w, status, detail)
}

// sentence begins a text with a capital letter, for people.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
