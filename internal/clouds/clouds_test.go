package clouds_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/internal/clouds"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/racetest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// TestMain stops the databases that tests share.
func TestMain(m *testing.M) {
	code := m.Run()
	dbtest.Stop()
	os.Exit(code)
}

// kinds are all clouds, with the number of providers per host.
var kinds = []struct {
	name string
	make func(hosts int, seed uint64) *clouds.Cloud
	host int
}{
	{"Flat", clouds.Flat, 1},
	{"Nested", clouds.Nested, 7},
	{"Bandwidth", clouds.Bandwidth, 9},
	{"Wide", func(hosts int, seed uint64) *clouds.Cloud { return clouds.Wide(hosts, 3, seed) }, 4},
}

// TestSeeds generates each cloud twice, and another one with another seed.
func TestSeeds(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			text, same, other := dump(t, k.make(60, 1)), dump(t, k.make(60, 1)), dump(t, k.make(60, 2))
			if !bytes.Equal(text, same) {
				t.Error("two clouds of one seed differ")
			}
			if bytes.Equal(text, other) {
				t.Error("two clouds of two seeds are the same")
			}
			if n := k.make(60, 1).Providers(); n != 60*k.host {
				t.Errorf("%d providers, want %d", n, 60*k.host)
			}
		})
	}
}

// TestSaved compares the rows that a store reads back with those of the snapshot, and the tables
// with those that a dump restores.
func TestSaved(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			w := k.make(60, 1)
			file := save(t, w)
			store := open(t, sqlstore.Options{Path: file})
			if diff := cmp.Diff(rows(t, w), stored(t, store), alike); diff != "" {
				t.Errorf("the rows of the cloud and those of the store (-want +got):\n%s", diff)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			if got := dumped(t, sqlstore.Options{Path: file}); !bytes.Equal(got, dump(t, w)) {
				t.Error("the dump of the database is not the cloud's")
			}
		})
	}
}

// TestSaveKeepsWhatIsThere refuses to write over a file.
func TestSaveKeepsWhatIsThere(t *testing.T) {
	w := clouds.Flat(2, 1)
	if err := w.Save(t.Context(), save(t, w)); err == nil {
		t.Error("a cloud was saved over another")
	}
}

// TestSaveTo restores a cloud, and compares it with the dump.
func TestSaveTo(t *testing.T) {
	for _, database := range []struct {
		name string
		url  func(t *testing.T) string
	}{
		{"SQLite", func(t *testing.T) string { return "sqlite:///" + filepath.Join(t.TempDir(), "restored.db") }},
		{"MariaDB", func(t *testing.T) string { return dbtest.MariaDB(t).NewDatabase(t) }},
		{"PostgreSQL", func(t *testing.T) string { return dbtest.PostgreSQL(t).NewDatabase(t) }},
	} {
		t.Run(database.name, func(t *testing.T) {
			w, url := clouds.Bandwidth(20, 1), database.url(t)
			if err := w.SaveTo(t.Context(), url); err != nil {
				t.Fatal(err)
			}
			opts, err := clouds.Options(url)
			if err != nil {
				t.Fatal(err)
			}
			if got := dumped(t, opts); !bytes.Equal(got, dump(t, w)) {
				t.Error("the dump of the database is not the cloud's")
			}
			if err := w.SaveTo(t.Context(), url); err == nil {
				t.Error("a cloud was saved over another")
			}
		})
	}
}

// TestPosted sends the same queries to a service that was filled by its API and to one on a saved
// file.
func TestPosted(t *testing.T) {
	racetest.Skip(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			w := k.make(20, 1)
			saved := serve(t, open(t, sqlstore.Options{Path: save(t, w)}))
			posted := serve(t, open(t, sqlstore.Options{Path: sqlstore.Memory}))
			if err := w.Post(t.Context(), posted); err != nil {
				t.Fatal(err)
			}
			paths := []string{w.Query(0), w.Query(5), w.Full(0), "/resource_providers?member_of=" + string(w.Zone(0))}
			for _, root := range w.Roots() {
				provider := "/resource_providers/" + string(root)
				paths = append(paths, "/resource_providers?in_tree="+string(root),
					provider+"/usages", provider+"/inventories", provider+"/traits", provider+"/aggregates")
			}
			for _, path := range paths {
				want, got := query(t, saved, path), query(t, posted, path)
				if !bytes.Equal(normal(t, want), normal(t, got)) {
					t.Errorf("GET %s\nsaved:  %s\nposted: %s", path, want, got)
				}
			}
		})
	}
}

// TestQueries checks the number of candidates for each cloud's query, and the sizes of answers,
// which benchmarks rely on.
func TestQueries(t *testing.T) {
	racetest.Skip(t)
	const hosts = 200
	for _, c := range []struct {
		name       string
		w          *clouds.Cloud
		candidates int // of a host
		bytes      int // of a host
	}{
		{"Flat", clouds.Flat(hosts, 1), 1, 579},
		{"Nested", clouds.Nested(hosts, 1), 3, 3128},
		{"Bandwidth", clouds.Bandwidth(hosts, 1), 1, 3588},
		{"Wide", clouds.Wide(1, 4, 1), 24, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := serve(t, open(t, sqlstore.Options{Path: save(t, c.w)}))
			trees := len(c.w.Roots())
			for variant := range clouds.Variants {
				body := query(t, base, c.w.Query(variant))
				if n := count(t, body); n != c.candidates*trees {
					t.Fatalf("%d candidates for variant %d, want %d", n, variant, c.candidates*trees)
				}
				each := len(body) / trees
				if c.bytes > 0 && (each < c.bytes*97/100 || each > c.bytes*103/100) {
					t.Fatalf("%d bytes a host for variant %d, want about %d", each, variant, c.bytes)
				}
				if n := count(t, query(t, base, c.w.Full(variant))); n != 0 {
					t.Fatalf("%d candidates for variant %d of what no provider has free", n, variant)
				}
			}
		})
	}
}

// TestAnywhere expects all hosts.
func TestAnywhere(t *testing.T) {
	for _, k := range kinds[:3] {
		w := k.make(20, 1)
		base := serve(t, open(t, sqlstore.Options{Path: save(t, w)}))
		if all, n := count(t, query(t, base, w.Query(1))), count(t, query(t, base, w.Anywhere(1))); n != all || n == 0 {
			t.Errorf("%s: %d candidates in any zone, want %d", k.name, n, all)
		}
	}
}

// TestZoned expects about one host of eight.
func TestZoned(t *testing.T) {
	w := clouds.Flat(1000, 1)
	base := serve(t, open(t, sqlstore.Options{Path: save(t, w)}))
	for variant := range 4 {
		if n := count(t, query(t, base, w.Zoned(variant))); n < 100 || n > 150 {
			t.Errorf("%d of 1,000 hosts in zone %d, want about 125", n, variant)
		}
	}
}

// TestNobody requests resources that no provider has.
func TestNobody(t *testing.T) {
	for _, k := range kinds[:3] {
		w := k.make(20, 1)
		base := serve(t, open(t, sqlstore.Options{Path: save(t, w)}))
		for _, path := range []string{
			w.Query(0) + "&required=" + clouds.NobodysTrait,
			"/allocation_candidates?resources=" + clouds.NobodysClass + ":1",
		} {
			if n := count(t, query(t, base, path)); n != 0 {
				t.Errorf("%s: %d candidates for %s", k.name, n, path)
			}
		}
	}
}

func save(t *testing.T, w *clouds.Cloud) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cloud.db")
	if err := w.Save(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	return file
}

func open(t *testing.T, opts sqlstore.Options) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func dump(t *testing.T, w *clouds.Cloud) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := w.Dump(&text); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// dumped is what `berth db dump` prints of a database.
func dumped(t *testing.T, opts sqlstore.Options) []byte {
	t.Helper()
	db, err := dbtool.OpenTables(t.Context(), opts, dbtool.Look)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var text bytes.Buffer
	if _, err := db.Dump(t.Context(), &text, nil); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// content is the rows of a snapshot, in the order of a store.
type content struct {
	Classes, Traits []placement.Named
	Picture         placement.TreeRows
}

// alike omits what depends on the store.
var alike = cmpopts.IgnoreFields(placement.TreeRows{}, "FoldCase", "FoldLike")

func rows(t *testing.T, w *clouds.Cloud) (c content) {
	t.Helper()
	c.Classes, c.Traits, c.Picture = w.Rows()
	return c
}

func stored(t *testing.T, store *sqlstore.Store) (c content) {
	t.Helper()
	err := store.View(t.Context(), func(r placement.Reader) (err error) {
		if c.Classes, err = r.Classes(); err != nil {
			return err
		}
		if c.Traits, err = r.Traits(); err != nil {
			return err
		}
		c.Picture, err = r.TreeRows(nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve returns the address of a service on the store.
func serve(t *testing.T, store placement.Store) string {
	t.Helper()
	server := httptest.NewServer(placementapitest.On(t, store, service.DefaultSettings()))
	t.Cleanup(server.Close)
	return server.URL
}

// query sends a request that must succeed.
func query(t *testing.T, base, path string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("OpenStack-API-Version", "placement 1.39")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v: %s", path, answer.Status, err, body)
	}
	return body
}

// count returns the number of candidates in an answer.
func count(t *testing.T, body []byte) int {
	t.Helper()
	var answer struct {
		Requests []json.RawMessage `json:"allocation_requests"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	return len(answer.Requests)
}

// normal writes an answer with its lists in one order.
func normal(t *testing.T, body []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(ordered(v))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func ordered(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = ordered(v[key])
		}
	case []any:
		for i := range v {
			v[i] = ordered(v[i])
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return v
}
