package differential

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Generator generates requests, one after the other. Most of them are valid given its tracker's
// data; some are spoiled on purpose. The same seed and the same answers yield the same requests.
type Generator struct {
	rng     *rand.Rand
	t       *Tracker
	id      int
	flavour uint64

	setup      []maker // builds a small cloud first
	aggregates []string
	unborn     []string // consumers and providers that do not exist yet
	odds       float64  // how much is spoiled
	origins    bool     // browsers call too
	generous   bool     // providers have large inventories, requests small amounts
}

// A maker drafts one request for a microversion.
type maker func(g *Generator, minor int) draft

// A draft is a request that can still be spoiled piece by piece.
type draft struct {
	method string
	path   string
	params []Field // query keys and values, not escaped yet
	body   any     // nil for none
	minor  int
	header []Field // in addition to those that every request has
	pinned bool    // minor was chosen by the maker
}

// Flavours of sequence; Generators of consecutive seeds alternate between them.
const (
	flavourMixed = iota
	flavourCandidates
	flavourSpoiled
	flavourPlain
	flavours
)

// NewGenerator returns the generator of one sequence.
func NewGenerator(seed uint64, t *Tracker) *Generator {
	g := &Generator{rng: rand.New(rand.NewPCG(seed, 0x6265727468)), t: t, flavour: seed % flavours, odds: 0.2}
	for range 3 {
		g.aggregates = append(g.aggregates, g.uuid())
	}
	for range 6 {
		g.unborn = append(g.unborn, g.uuid())
	}
	g.generous = g.flavour == flavourCandidates || g.chance(0.3)
	switch g.flavour {
	case flavourSpoiled:
		g.odds = 0.7
	case flavourCandidates, flavourPlain:
		g.odds = 0.05
	}
	g.setup = g.cloud()
	return g
}

// WithOrigins makes the generator send the headers of browsers, too.
func (g *Generator) WithOrigins() *Generator {
	g.origins = true
	return g
}

// Next returns the next request.
func (g *Generator) Next() Request {
	if len(g.setup) > 0 {
		first := g.setup[0]
		g.setup = g.setup[1:]
		minor := maxMinor - g.rng.IntN(3)
		d := first(g, minor)
		d.minor = minor
		return g.finish(d, false)
	}
	op := g.operation()
	minor := g.version(op.since)
	d := op.make(g, minor)
	if !d.pinned {
		d.minor = minor
	}
	return g.finish(d, g.chance(g.odds))
}

// version favours the newest microversion and those an operation exists at.
func (g *Generator) version(since int) int {
	switch x := g.rng.Float64(); {
	case x < 0.35:
		return maxMinor
	case x < 0.90:
		return since + g.rng.IntN(maxMinor-since+1)
	default:
		return g.rng.IntN(maxMinor + 1)
	}
}

// finish turns a draft into a request, spoiled or not.
func (g *Generator) finish(d draft, spoil bool) Request {
	g.id++
	if d.body != nil {
		d.header = append(d.header, Field{"Content-Type", "application/json"})
	}
	version := Field{"OpenStack-API-Version", fmt.Sprintf("placement 1.%d", d.minor)}
	token := Field{"X-Auth-Token", "admin"}
	d.header = append([]Field{token, version}, d.header...)
	if d.path == "/reshaper" && g.chance(0.9) {
		d.header = append(d.header, Field{"X-Roles", "admin,service"})
	}
	if g.origins && g.chance(0.6) {
		g.browse(&d)
	}
	var body string
	if spoil {
		g.spoil(&d)
	}
	if d.body != nil {
		body = encode(d.body)
	}
	r := Request{Method: d.method, Target: d.path + g.queryString(d.params), Header: d.header, Body: body, ID: g.id}
	if spoil {
		g.spoilText(&r)
	}
	return r
}

// queryString writes parameters, now and then with more escapes than needed.
func (g *Generator) queryString(params []Field) string {
	if len(params) == 0 {
		return ""
	}
	all := g.chance(0.1)
	var parts []string
	for _, p := range params {
		parts = append(parts, escape(p.Name, all)+"="+escape(p.Value, all))
	}
	return "?" + strings.Join(parts, "&")
}

// escape percent-encodes what a query cannot contain, or everything but letters and digits.
func escape(s string, all bool) string {
	const safe = "-_.~:,!*()/@$'"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if letter || !all && strings.IndexByte(safe, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

func (g *Generator) chance(p float64) bool { return g.rng.Float64() < p }

// uuid generates a version 4 uuid.
func (g *Generator) uuid() string {
	hi, lo := g.rng.Uint64(), g.rng.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%x%03x-%012x", hi>>32, hi>>16&0xffff, hi&0xfff,
		8+lo>>62, lo>>48&0xfff, lo&0xffffffffffff)
}

// pick returns one of the items; the zero value if there are none.
func pick[T any](g *Generator, items []T) T {
	var none T
	if len(items) == 0 {
		return none
	}
	return items[g.rng.IntN(len(items))]
}

// some returns up to most different items in random order.
func some[T any](g *Generator, items []T, most int) []T {
	n := min(g.rng.IntN(most+1), len(items))
	out := make([]T, 0, n)
	for _, i := range g.rng.Perm(len(items))[:n] {
		out = append(out, items[i])
	}
	return out
}
