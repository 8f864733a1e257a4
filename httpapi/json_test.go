package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/internal/racetest"
)

func TestAppendJSONString(t *testing.T) {
	// The second column is what Python 3.11's json.dumps returns.
	for in, want := range map[string]string{
		"":                         `""`,
		"plain ~":                  `"plain ~"`,
		`q"\/`:                     `"q\"\\/"`,
		"\b\f\n\r\t":               `"\b\f\n\r\t"`,
		"\x00\x01\x1f\x7f":         `"\u0000\u0001\u001f\u007f"`,
		"<b>&'":                    `"<b>&'"`,
		"é":                        `"\u00e9"`,
		"x€y":                      `"x\u20acy"`,
		"\u2028":                   `"\u2028"`,
		"😀":                        `"\ud83d\ude00"`,
		"\U0010FFFF":               `"\udbff\udfff"`,
		"\uFFFD":                   `"\ufffd"`,
		"a\xffb":                   `"a\ufffdb"`,
		"\xed\xa0\x80\xed\xbf\xbf": `"\ud800\udfff"`, // lone surrogates
	} {
		if got := string(httpapi.AppendJSONString(nil, in)); got != want {
			t.Errorf("AppendJSONString(%q) = %s, want %s", in, got, want)
		}
	}
}

func FuzzAppendJSONString(f *testing.F) {
	f.Add("é😀\x00\xff\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		got := httpapi.AppendJSONString([]byte("x"), s)
		if got[0] != 'x' || !json.Valid(got[1:]) {
			t.Errorf("AppendJSONString(x, %q) = %s", s, got)
		}
		for _, c := range got {
			if c < ' ' || c > '~' {
				t.Errorf("AppendJSONString(%q) = %q, not printable ASCII", s, got)
			}
		}
	})
}

func TestAppendJSONFloat(t *testing.T) {
	for want, in := range map[string]float64{
		"0.0": 0, "-0.0": math.Copysign(0, -1), "1.0": 1, "16.0": 16, "1.5": 1.5, "0.1": 0.1, "-2.5": -2.5,
		"0.0001": 0.0001, "1e-05": 0.00001, "1.5e-07": 1.5e-7, "1e+16": 1e16, "9999999999999998.0": 9999999999999998,
		"123456789.125": 123456789.125, "3.40282e+38": 3.40282e38, "5e-324": 5e-324, "1e+300": 1e300,
		"Infinity": math.Inf(1), "-Infinity": math.Inf(-1), "NaN": math.NaN(),
	} {
		if got := string(httpapi.AppendJSONFloat(nil, in)); got != want {
			t.Errorf("AppendJSONFloat(%v) = %s, want %s", in, got, want)
		}
	}
}

func TestJSONSeparators(t *testing.T) {
	var b bytes.Buffer
	j := httpapi.NewJSON(&b)
	j.Object()
	j.Key("a")
	j.Array()
	j.Int(-1)
	j.Float(2)
	j.Bool(true)
	j.Null()
	j.Array()
	j.EndArray()
	j.EndArray()
	j.Key("b")
	j.Object()
	j.EndObject()
	j.Key("c")
	j.Raw([]byte(`{"k": 1}`))
	j.Key("d")
	j.String("é")
	j.EndObject()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	const want = `{"a": [-1, 2.0, true, null, []], "b": {}, "c": {"k": 1}, "d": "\u00e9"}`
	if b.String() != want {
		t.Errorf("wrote %s\nwant  %s", &b, want)
	}
}

// pieces keeps the sizes of what is written.
type pieces struct {
	bytes.Buffer
	sizes []int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.sizes = append(p.sizes, len(b))
	return p.Buffer.Write(b)
}

// A JSON of up to a mebibyte comes whole, a bigger one in pieces of that size.
func TestBigJSONComesInPieces(t *testing.T) {
	const numbers = 600_000
	var p pieces
	j := httpapi.NewJSON(&p)
	j.Array()
	for i := range numbers {
		j.Int(int64(i))
	}
	j.EndArray()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	last := len(p.sizes) - 1
	if last < 3 {
		t.Fatalf("%d pieces", len(p.sizes))
	}
	for i, n := range p.sizes[:last] {
		if n < 1<<20 || n > 1<<20+1<<10 {
			t.Errorf("piece %d has %d bytes", i, n)
		}
	}
	var got []int
	if err := json.Unmarshal(p.Bytes(), &got); err != nil || len(got) != numbers || got[numbers-1] != numbers-1 {
		t.Errorf("read %d numbers back: %v", len(got), err)
	}
}

// What is ready and long is a piece of its own, unless the whole is small.
func TestLongReadyTextsAreNotCopied(t *testing.T) {
	text := func(size int) []byte { return []byte(`"` + strings.Repeat("x", size-2) + `"`) }
	for _, c := range []struct {
		name  string
		texts []int
		want  []int
	}{
		{"small", []int{500 << 10, 10}, []int{500<<10 + 14}},
		{"first", []int{2 << 20, 10}, []int{1, 2 << 20, 13}},
		{"then short ones", []int{10, 1 << 20, 100 << 10, 100 << 10, 100 << 10}, []int{13, 1 << 20, 300<<10 + 7}},
		{"then long ones", []int{10, 1 << 20, 900 << 10, 900 << 10}, []int{13, 1 << 20, 900<<10 + 4, 900 << 10, 1}},
	} {
		var p pieces
		var want []string
		j := httpapi.NewJSON(&p)
		j.Array()
		for _, size := range c.texts {
			j.Raw(text(size))
			want = append(want, string(text(size)))
		}
		j.EndArray()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got := p.String(); got != "["+strings.Join(want, ", ")+"]" {
			t.Errorf("%s: wrote %d bytes, and not what was to be written", c.name, len(got))
		}
		if !slices.Equal(p.sizes, c.want) {
			t.Errorf("%s: pieces of %v bytes, want %v", c.name, p.sizes, c.want)
		}
	}
}

type broken struct{ writes int }

var errBroken = errors.New("broken")

func (b *broken) Write([]byte) (int, error) {
	b.writes++
	return 0, errBroken
}

func TestJSONStopsWritingAfterAnError(t *testing.T) {
	b := &broken{}
	j := httpapi.NewJSON(b)
	for range 300_000 {
		j.Int(1_000_000)
	}
	if err := j.Close(); !errors.Is(err, errBroken) || b.writes != 1 {
		t.Errorf("Close = %v after %d writes, want the first write's error", err, b.writes)
	}
}

func TestRespond(t *testing.T) {
	w := httptest.NewRecorder()
	if err := httpapi.Respond(w, http.StatusCreated, func(j *httpapi.JSON) { j.String("x") }); err != nil {
		t.Fatal(err)
	}
	if w.Code != 201 || w.Body.String() != `"x"` || w.Header().Get("Content-Length") != "3" {
		t.Errorf("small answer: %d %q %v", w.Code, w.Body, w.Header())
	}
	w = httptest.NewRecorder()
	long := strings.Repeat("x", 1<<20)
	render := func(j *httpapi.JSON) {
		j.Array()
		j.String(long)
		j.String("y")
		j.EndArray()
	}
	if err := httpapi.Respond(w, http.StatusOK, render); err != nil {
		t.Fatal(err)
	}
	if w.Code != 200 || w.Body.Len() != len(long)+9 || w.Header().Get("Content-Length") != "" {
		t.Errorf("long answer: %d, %s bytes, %v", w.Code, strconv.Itoa(w.Body.Len()), w.Header())
	}
}

func writeSummaries(j *httpapi.JSON, n int) {
	j.Object()
	for range n {
		j.Key("7d2590ae-fb85-4080-9306-058b4c915e3f")
		j.Object()
		j.Key("resources")
		j.Object()
		j.Key("VCPU")
		j.Object()
		j.Key("capacity")
		j.Int(64)
		j.Key("ratio")
		j.Float(16)
		j.EndObject()
		j.EndObject()
		j.EndObject()
	}
	j.EndObject()
}

func TestJSONAllocatesNothing(t *testing.T) {
	if racetest.Enabled {
		t.Log("the race detector makes pools drop things; only the result is checked")
		writeSummaries(httpapi.NewJSON(io.Discard), 10)
		return
	}
	n := testing.AllocsPerRun(100, func() {
		j := httpapi.NewJSON(io.Discard)
		writeSummaries(j, 1000)
		j.Close()
	})
	if n != 0 {
		t.Errorf("writing allocates %v times", n)
	}
}

func BenchmarkJSON(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		j := httpapi.NewJSON(io.Discard)
		writeSummaries(j, 1000)
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
