package placementapi_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/berthcloud/berth/conformance/server"
)

func norm(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = norm(v[k])
		}
	case []any:
		for i := range v {
			v[i] = norm(v[i])
		}
		sort.Slice(v, func(i, j int) bool { return fmt.Sprint(v[i]) < fmt.Sprint(v[j]) })
	}
	return v
}

func canon(s string) string {
	var out []string
	for _, l := range strings.Split(s, "\n") {
		var v any
		if strings.HasPrefix(l, "{") && json.Unmarshal([]byte(l), &v) == nil {
			b, _ := json.Marshal(norm(v))
			l = string(b)
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

func TestUpstreamTmp(t *testing.T) {
	for _, path := range scenarioFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := server.StartUpstream(t, server.Options{Policy: server.MasterPolicy()})
			d := readDialogue(t, path)
			got := strings.Split(canon(d.play(t, s.URL())), "\n\n")
			want := strings.Split(canon(d.text), "\n\n")
			if len(got) != len(want) { t.Errorf("%d %d", len(got), len(want)) }
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					_, g, _ := strings.Cut(got[i], "----")
					fmt.Printf("=== %s\n%s\n--- upstream:%s\n\n", path, want[i], g)
				}
			}
		})
	}
}
