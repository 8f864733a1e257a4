package conformance

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/differential"
	"github.com/berthcloud/berth/internal/server"
)

var (
	diffTime   = flag.Duration("differential.time", 2*time.Minute, "how long to compare Berth with upstream's Placement")
	diffSeed   = flag.Uint64("differential.seed", 0, "first seed of the random sequences; 0 chooses one")
	diffLength = flag.Int("differential.length", 120, "requests in a sequence")
	diffGoOn   = flag.Bool("differential.keepgoing", false, "collect differences instead of stopping at the first")
	diffShrink = flag.Duration("differential.shrink", 30*time.Second, "how long to look for a shorter failing sequence")
	diffReplay = flag.String("differential.replay", "testdata/sequences/*.txt", "files of sequences to compare first")
)

// crossOrigin is the share of the time for services with CORS.
const crossOrigin = 0.1

// TestDifferential sends the same requests to upstream's Placement and to
// Berth: those of earlier failures, then random ones until the time is over.
func TestDifferential(t *testing.T) {
	t.Run("Recorded", func(t *testing.T) { replay(t, upstreamAndBerth(t, nil)) })
	t.Run("Random", func(t *testing.T) {
		campaign(t, upstreamAndBerth(t, nil), time.Duration(float64(*diffTime)*(1-crossOrigin)), false)
	})
	t.Run("CrossOrigin", func(t *testing.T) {
		campaign(t, upstreamAndBerth(t, cors), time.Duration(float64(*diffTime)*crossOrigin), true)
	})
}

// cors is a configuration with one allowed origin.
var cors = map[string]map[string]string{"cors": {"allowed_origin": "http://valid.example.com"}}

// upstreamAndBerth pairs upstream's Placement with Berth. The ages are excused
// for the machine's own release only.
func upstreamAndBerth(t *testing.T, config map[string]map[string]string) *differential.Pair {
	p := differential.NewPair("upstream", "berth", func() (string, string) {
		return server.StartUpstream(t, upstreamOptions(server.UpstreamRoot(), config)).URL(),
			server.StartBerth(t, server.Options{Config: config}).URL()
	})
	p.Excuses = differential.Faults()
	if server.UpstreamRoot() == "" {
		p.Excuses = append(p.Excuses, differential.Ages()...)
	}
	return p
}

// upstreamOptions configures the machine's release with the access rules of the current one.
func upstreamOptions(root string, config map[string]map[string]string) server.Options {
	opts := server.Options{Root: root, Config: map[string]map[string]string{}}
	for section, o := range config {
		opts.Config[section] = o
	}
	if root == "" || root == "/" {
		opts.Policy = server.MasterPolicy()
		opts.Config["oslo_policy"] = map[string]string{"enforce_scope": "False"}
	}
	return opts
}

// TestUpstreamAgainstItself checks that the comparison has no false positives: it compares two runs
// of one service with different hash seeds.
func TestUpstreamAgainstItself(t *testing.T) {
	p := differential.NewPair("upstream", "upstream too", func() (string, string) {
		opts := upstreamOptions(server.UpstreamRoot(), nil)
		opts.Env = []string{"PYTHONHASHSEED=1"}
		a := server.StartUpstream(t, opts)
		opts.Env = []string{"PYTHONHASHSEED=2"}
		return a.URL(), server.StartUpstream(t, opts).URL()
	})
	p.Excuses = differential.Faults() // some depend on the hash
	campaign(t, p, *diffTime/20, false)
}

// TestReleases compares the machine's release with another one, which must differ in the listed
// ages only. It is for developers who have both.
func TestReleases(t *testing.T) {
	root := server.UpstreamRoot()
	if root == "" {
		t.Skip("BERTH_TEST_UPSTREAM_ROOT names no other release to compare the machine's with")
	}
	pair := func(config map[string]map[string]string) *differential.Pair {
		p := differential.NewPair("upstream here", "upstream in "+root, func() (string, string) {
			return server.StartUpstream(t, upstreamOptions("/", config)).URL(),
				server.StartUpstream(t, upstreamOptions(root, config)).URL()
		})
		p.Excuses = append(differential.Ages(), differential.Faults()...)
		return p
	}
	t.Run("Recorded", func(t *testing.T) { replay(t, pair(nil)) })
	t.Run("Random", func(t *testing.T) { campaign(t, pair(nil), *diffTime, false) })
	t.Run("CrossOrigin", func(t *testing.T) { campaign(t, pair(cors), *diffTime/10, true) })
}

// campaign compares for a while and reports what was found.
func campaign(t *testing.T, p *differential.Pair, d time.Duration, origins bool) {
	t.Helper()
	seed := *diffSeed
	if seed == 0 {
		seed = rand.Uint64N(1 << 40)
	}
	t.Logf("seed %d (repeat with -differential.seed=%d)", seed, seed)
	c := differential.Campaign{
		Pair: p, Length: *diffLength, KeepGoing: *diffGoOn, Shrink: *diffShrink, Origins: origins,
	}
	if *diffGoOn {
		c.Log = func(s string) { fmt.Fprintf(os.Stderr, "--- DIFFERENCE %s\n", s) }
	}
	if err := c.Run(seed, time.Now().Add(d)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sequences, %d requests to each service", c.Sequences, p.Requests)
	t.Logf("answers by route and status:%v", c.Coverage)
	if missing := c.Coverage.Missing(); c.Sequences >= 60 && !origins && len(missing) > 0 {
		t.Errorf("never answered with success, so not really compared: %q", missing)
	}
	for _, name := range p.Hits.Names() {
		t.Logf("excused %d times: %s", p.Hits[name], name)
	}
	for _, f := range c.Failures {
		t.Errorf("answered differently (%d times, first in sequence %d): %v", c.Count[f.Group()], f.Seed, f)
	}
}

// replay compares the sequences in files.
func replay(t *testing.T, p *differential.Pair) {
	t.Helper()
	files, err := filepath.Glob(*diffReplay)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		reqs, err := differential.Parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		f, err := p.Play(reqs)
		if err != nil {
			t.Fatal(err)
		}
		if f != nil {
			t.Errorf("%s: %v", strings.TrimSuffix(filepath.Base(file), ".txt"), f)
		}
	}
}
