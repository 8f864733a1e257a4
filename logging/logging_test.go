package logging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/berthcloud/berth/logging"
)

var origin = &logging.Origin{RequestID: "req-1", User: "u", Project: "a project"}

// Services call a request as the one did that sent it first.
func TestGlobalID(t *testing.T) {
	for want, o := range map[string]*logging.Origin{
		"":      {},
		"req-1": {RequestID: "req-1"},
		"req-0": {RequestID: "req-1", GlobalID: "req-0"},
	} {
		if got := logging.GlobalID(context.WithValue(context.Background(), logging.Key{}, o)); got != want {
			t.Errorf("GlobalID of %+v = %q, want %q", o, got, want)
		}
	}
	if got := logging.GlobalID(context.Background()); got != "" {
		t.Errorf("GlobalID outside requests = %q", got)
	}
}

func TestTextLine(t *testing.T) {
	for _, tc := range []struct {
		name string
		log  func(*slog.Logger)
		want string // after date and pid
	}{
		{"WithoutOrigin", func(l *slog.Logger) { l.Info("hello", "n", 1) }, "INFO berth [-] hello n=1"},
		{
			"WithOrigin",
			func(l *slog.Logger) {
				l.WarnContext(context.WithValue(context.Background(), logging.Key{}, origin), "hello")
			},
			`WARNING berth [req-1 u "a project"] hello`,
		},
		{
			"GlobalIDFirst",
			func(l *slog.Logger) {
				ctx := context.WithValue(context.Background(), logging.Key{},
					&logging.Origin{RequestID: "req-1", GlobalID: "req-0"})
				l.ErrorContext(ctx, "hello")
			},
			"ERROR berth [req-0 req-1 - -] hello",
		},
		{
			"NothingForgesALine",
			func(l *slog.Logger) { l.Info("a\nb", "k", "x\ny=\"z\"", "empty", "") },
			`INFO berth [-] a\nb k="x\ny=\"z\"" empty=""`,
		},
		{
			"Groups",
			func(l *slog.Logger) {
				l.With("a", 1).WithGroup("g").With("b", 2).Info("m", slog.Group("h", "c", 3), "err", errors.New("bad"))
			},
			"INFO berth [-] m a=1 g.b=2 g.h.c=3 g.err=bad",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			tc.log(slog.New(logging.NewHandler(&b, logging.Options{Text: true})))
			m := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ (.*)\n$`).FindStringSubmatch(b.String())
			if m == nil || m[1] != tc.want {
				t.Errorf("line is %q, want it to end in %q", b.String(), tc.want)
			}
		})
	}
}

func TestLevels(t *testing.T) {
	for _, text := range []bool{true, false} {
		var quiet, loud bytes.Buffer
		slog.New(logging.NewHandler(&quiet, logging.Options{Text: text})).Debug("x")
		slog.New(logging.NewHandler(&loud, logging.Options{Text: text, Debug: true})).Debug("x")
		if quiet.Len() != 0 || loud.Len() == 0 {
			t.Errorf("text %v: debug wrote %q without and %q with Debug", text, &quiet, &loud)
		}
	}
}

func TestJSONCarriesTheOrigin(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(logging.NewHandler(&b, logging.Options{}))
	log.InfoContext(context.WithValue(context.Background(), logging.Key{}, origin), "hello")
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got["request_id"] != "req-1" || got["user"] != "u" || got["project"] != "a project" || got["msg"] != "hello" {
		t.Errorf("record is %v", got)
	}
	if _, ok := got["global_request_id"]; ok {
		t.Errorf("record names an unknown id: %v", got)
	}
}

// TestRecordsNameTheirPart: lines in both formats name the process and its part; parts share an
// output.
func TestRecordsNameTheirPart(t *testing.T) {
	for _, text := range []bool{true, false} {
		var b bytes.Buffer
		first, out, err := logging.Open(logging.Options{Text: text, Name: "berth.placement"}, &b)
		if err != nil {
			t.Fatal(err)
		}
		first.Info("one")
		out.Logger("berth.network").With("a", 1).Info("two")
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		for i, name := range []string{"berth.placement", "berth.network"} {
			want := fmt.Sprintf(" %d INFO %s [-] ", os.Getpid(), name)
			if !text {
				want = fmt.Sprintf(`"name":"%s","process":%d`, name, os.Getpid())
			}
			if !strings.Contains(lines[i], want) {
				t.Errorf("text %v: line %d is %q, want %q in it", text, i, lines[i], want)
			}
		}
	}
}

func TestJSONHandlerKeepsSlogsPromises(t *testing.T) {
	var b bytes.Buffer
	results := func() (all []map[string]any) {
		for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			all = append(all, m)
		}
		return all
	}
	if err := slogtest.TestHandler(logging.NewHandler(&b, logging.Options{}), results); err != nil {
		t.Error(err)
	}
}

func TestOpenAppends(t *testing.T) {
	name := filepath.Join(t.TempDir(), "berth.log")
	for _, msg := range []string{"one", "two"} {
		log, c, err := logging.Open(logging.Options{File: name, Text: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		log.Info(msg)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil || strings.Count(string(b), "\n") != 2 {
		t.Errorf("log holds %q, %v; want two lines", b, err)
	}
	if _, _, err := logging.Open(logging.Options{File: t.TempDir()}, nil); err == nil {
		t.Error("Open of a directory succeeded")
	}
}

func TestOpenWithoutAFileUsesTheWriter(t *testing.T) {
	var b bytes.Buffer
	log, c, err := logging.Open(logging.Options{}, &b)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("x")
	if err := c.Close(); err != nil || b.Len() == 0 {
		t.Errorf("Close = %v, wrote %q", err, &b)
	}
}
