package differential

import (
	"fmt"
	"regexp"
	"strings"
)

// Group names the kind of failure: the route, the first difference of the answers, and a summary of
// both answers there.
func (f *Failure) Group() string {
	d := f.Step.Differences[0]
	where := f.Step.Request.Method + " " + route(f.Step.Request.path())
	if f.Step.Request.has("Content-Length") {
		where = "(content-length given)"
	}
	gist := blur(d.A) + " | " + blur(d.B)
	if d.Field == "status" {
		gist = fmt.Sprintf("%d %s | %d %s", f.Step.A.Status, blur(f.Step.A.detail()), f.Step.B.Status,
			blur(f.Step.B.detail()))
	}
	return strings.Join([]string{where, blurField(d.Field), gist}, " ")
}

// memberNames are the keys in a body that are data.
var memberNames = regexp.MustCompile(`/([A-Z0-9_]+|[0-9a-f]{8}-[0-9a-f-]{27})(/|$)`)

func blurField(s string) string {
	for memberNames.MatchString(s) {
		s = memberNames.ReplaceAllString(s, "/*$2")
	}
	return s
}

// route replaces the variable parts of a path by their kinds.
func route(path string) string {
	seg := strings.Split(path, "/")
	names := map[string]string{
		"resource_providers": "{uuid}", "allocations": "{consumer}", "traits": "{name}",
		"resource_classes": "{name}", "inventories": "{class}",
	}
	for i := 2; i < len(seg); i++ {
		if name, ok := names[seg[i-1]]; ok && seg[i] != "" {
			seg[i] = name
		}
	}
	return strings.Join(seg, "/")
}

// The parts that vary between failures of the same kind.
var varying = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}`), "UUID"},
	{regexp.MustCompile(`\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b`), "NAME"},
	{regexp.MustCompile(`\d+`), "N"},
}

const blurred = 160

// blur summarises one side's answer.
func blur(s string) string {
	if _, own, found := strings.Cut(s, "\n\n"); found {
		s = strings.TrimSpace(own) // what precedes is the same for all errors of a status
	}
	s, _, _ = strings.Cut(s, dumpStart)
	for _, v := range varying {
		s = v.re.ReplaceAllString(s, v.to)
	}
	if len(s) > blurred {
		s = s[:blurred]
	}
	return strings.ToValidUTF8(s, "")
}
