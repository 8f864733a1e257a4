package placementclient_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/guarantee"
)

const (
	oneRequest = `{"allocations": {"u1": {"resources": {"VCPU": 1, "MEMORY_MB": 128}}, ` +
		`"u2": {"resources": {"NET": 1000}}}, "mappings": {"": ["u1"], "_A": ["u2"]}}`
	oneSummary = `{"resources": {"VCPU": {"capacity": 16, "used": 3}}, "traits": ["HW_A", "CUSTOM_B"], ` +
		`"parent_provider_uuid": null, "root_provider_uuid": "u1"}`
)

func candidates(requests, summaries string) string {
	return `{"allocation_requests": [` + requests + `], "provider_summaries": {` + summaries + `}}`
}

// JSON in placement's form is read by the quick reader, with the result of encoding/json;
// everything else is not.
func TestQuickCandidates(t *testing.T) {
	plain := candidates(oneRequest+", "+oneRequest, `"u1": `+oneSummary+`, "u2": `+oneSummary)
	for name, tc := range map[string]struct {
		body  string
		quick bool
	}{
		"Plain":       {plain, true},
		"Tight":       {strings.ReplaceAll(plain, " ", ""), true},
		"Wide":        {" \n" + strings.ReplaceAll(plain, ",", "\t,\r\n") + "\n", true},
		"Empty":       {candidates("", ""), true},
		"Child":       {candidates("", `"u1": `+strings.Replace(oneSummary, "null", `"u0"`, 1)), true},
		"Zero":        {candidates(strings.Replace(oneRequest, "128", "0", 1), ""), true},
		"NoMappings":  {candidates(`{"allocations": {"u1": {"resources": {"VCPU": 1}}}}`, ""), true},
		"Escape":      {candidates(strings.Replace(oneRequest, "NET", `N\u0045T`, 1), ""), false},
		"NotASCII":    {candidates(strings.Replace(oneRequest, "NET", "NÉT", 1), ""), false},
		"Control":     {candidates(strings.Replace(oneRequest, "NET", "N\tT", 1), ""), false},
		"Fraction":    {candidates(strings.Replace(oneRequest, "128", "128.0", 1), ""), false},
		"Negative":    {candidates(strings.Replace(oneRequest, "128", "-128", 1), ""), false},
		"LeadingZero": {candidates(strings.Replace(oneRequest, "128", "0128", 1), ""), false},
		"TooBig":      {candidates(strings.Replace(oneRequest, "128", "9223372036854775808", 1), ""), false},
		"Null":        {candidates("null", ""), false},
		"NullMap":     {`{"allocation_requests": [], "provider_summaries": null}`, false},
		"Lacking":     {`{"allocation_requests": []}`, false},
		"More":        {`{"allocation_requests": [], "provider_summaries": {}, "a": 1}`, false},
		"Case":        {`{"Allocation_requests": [], "provider_summaries": {}}`, false},
		"Twice":       {`{"allocation_requests": [], "allocation_requests": [], "provider_summaries": {}}`, false},
		"TwiceProvider": {
			candidates(`{"allocations": {"u": {"resources": {"A": 1}}, "u": {"resources": {"B": 1}}}}`, ""), false,
		},
		"TwiceClass": {candidates(`{"allocations": {"u": {"resources": {"A": 1, "A": 2}}}}`, ""), false},
		"Behind":     {plain + "x", false},
		"Comma":      {candidates(oneRequest+",", ""), false},
		"Nothing":    {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			quickly, could, slowly, err := placementclient.ReadCandidates([]byte(tc.body))
			if could != tc.quick {
				t.Fatalf("it is read quickly: %v, want %v", could, tc.quick)
			}
			if could && err != nil {
				t.Errorf("it is no JSON: %v", err)
			}
			if diff := cmp.Diff(slowly, quickly); could && diff != "" {
				t.Errorf("read quickly it is another (-slowly +quickly):\n%s", diff)
			}
		})
	}
	for cut := range plain {
		if _, could, _, _ := placementclient.ReadCandidates([]byte(plain[:cut])); could {
			t.Errorf("cut at %d it is read", cut)
		}
	}
}

// FuzzCandidates compares the results of the quick reader with those of encoding/json.
func FuzzCandidates(f *testing.F) {
	f.Add(candidates(oneRequest, `"u1": `+oneSummary))
	f.Add(candidates("", ""))
	f.Fuzz(func(t *testing.T, body string) {
		quickly, could, slowly, err := placementclient.ReadCandidates([]byte(body))
		if !could {
			return
		}
		if err != nil {
			t.Fatalf("it is no JSON: %v", err)
		}
		if diff := cmp.Diff(slowly, quickly); diff != "" {
			t.Errorf("read quickly it is another (-slowly +quickly):\n%s", diff)
		}
	})
}

func BenchmarkCandidates(b *testing.B) {
	var requests, summaries []string
	for i := range 1000 {
		host := fmt.Sprintf("5e57e000-0000-4000-8000-%012d", i)
		requests = append(requests,
			fmt.Sprintf(`{"allocations": {"%s": {"resources": {"VCPU": 1, "MEMORY_MB": 128, "DISK_GB": 1}}, `+
				`"%[1]s-a": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 1000}}, `+
				`"%[1]s-b": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 1000}}}, `+
				`"mappings": {"": ["%[1]s"], "_a": ["%[1]s-a"], "_b": ["%[1]s-b"]}}`, host))
		for _, suffix := range []string{"", "-a", "-b"} {
			summaries = append(summaries, `"`+host+suffix+`": `+oneSummary)
		}
	}
	body := []byte(candidates(strings.Join(requests, ", "), strings.Join(summaries, ", ")))
	for _, way := range []struct {
		name string
		read func([]byte) error
	}{{"quickly", placementclient.ReadQuickly}, {"slowly", placementclient.ReadSlowly}} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := way.read(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The answers of a real placement service are read by the quick reader.
func testReadQuickly(t *testing.T, p *clienttest.Proxy, _ *placementclient.Compute) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		p.URL+"/allocation_candidates?resources="+guarantee.EgressBandwidth+":1", nil)
	clienttest.Must(t, "NewRequest", err)
	r.Header.Set("X-Auth-Token", client.NoAuth)
	r.Header.Set("OpenStack-API-Version", "placement 1.36")
	res, err := http.DefaultClient.Do(r)
	clienttest.Must(t, "Do", err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	clienttest.Must(t, "ReadAll", err)
	quickly, could, slowly, err := placementclient.ReadCandidates(body)
	clienttest.Must(t, "reading slowly", err)
	if diff := cmp.Diff(slowly, quickly); !could || diff != "" || len(quickly.Candidates) == 0 {
		t.Errorf("read quickly (%v) it is another (-slowly +quickly):\n%s\n%s", could, diff, body)
	}
}
