package differential

import (
	"fmt"
	"net/http"
	"strings"
)

// spoil makes one thing about a draft invalid, or at least unusual.
func (g *Generator) spoil(d *draft) {
	ways := []func(*draft){g.spoilVersion, g.spoilPath, g.spoilToken, g.spoilMethod, g.spoilAccept}
	if d.body != nil {
		for range 7 {
			ways = append(ways, g.spoilBody)
		}
		ways = append(ways, g.spoilType)
	}
	if len(d.params) > 0 || d.method == http.MethodGet {
		for range 3 + 2*min(len(d.params), 2) {
			ways = append(ways, g.spoilQuery)
		}
	}
	pick(g, ways)(d)
	if g.chance(0.1) {
		pick(g, ways)(d)
	}
}

// set replaces a header, or removes it when remove is true.
func (d *draft) set(name, value string, remove bool) {
	kept := d.header[:0:0]
	for _, f := range d.header {
		if !strings.EqualFold(f.Name, name) {
			kept = append(kept, f)
		}
	}
	if !remove {
		kept = append(kept, Field{name, value})
	}
	d.header = kept
}

func (g *Generator) spoilVersion(d *draft) {
	value := pick(g, []string{
		"placement latest", "placement 1.40", "placement 0.9", "placement 2.0", "placement pony.horse", "placement 1",
		"placement 1.1.1", "placement", "compute 2.1", "1.39", "placement 1.39, compute 2.1", "compute 2.1, placement 1.20",
		"placement 1.20, placement 1.30", "PLACEMENT 1.20", "placement  1.20", "placement 1.020", "placement -1.1",
		"placement 1.",
		"placement LATEST", "placement 1.99999999999999999999", "placement/1.20", "",
	})
	d.set("OpenStack-API-Version", value, g.chance(0.15))
}

func (g *Generator) spoilToken(d *draft) {
	value := pick(g, []string{"user", "user:p1", "admin:p1", "u:", ":", "service:p2", "user:p1:x", "ADMIN"})
	d.set("X-Auth-Token", value, g.chance(0.2))
	if g.chance(0.5) {
		d.set("X-Roles", pick(g, []string{
			"reader", "member,reader", "service", "admin", "Admin", "SERVICE", "admin, reader", "", "member", "reader,service",
		}), false)
	}
	if g.chance(0.25) {
		d.set("OpenStack-System-Scope", pick(g, []string{"all", "ALL", ""}), false)
	}
	if g.chance(0.25) {
		d.set("X-Project-Id", pick(g, projects[:3]), false)
	}
}

func (g *Generator) spoilMethod(d *draft) {
	d.method = pick(g, []string{"GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW"})
}

func (g *Generator) spoilAccept(d *draft) {
	d.set("Accept", pick(g, []string{
		"application/json", "text/html", "text/plain", "*/*", "", "application/xml", "text/html, application/json;q=0.5",
		"application/json;q=0", "application/*", "text/*;q=0.3, text/html;q=0.7", "image/png", "garbage", "*/*;q=0.1",
		"application/json; charset=utf-8", "text/html;level=1", ", ,", "application/vnd.x+json",
	}), false)
}

func (g *Generator) spoilType(d *draft) {
	d.set("Content-Type", pick(g, []string{
		"text/plain", "application/json; charset=utf-8", "application/JSON", "application/xml", "", "application/json;",
		"json", "application/x-www-form-urlencoded", "text/html; charset=utf-16", "application/json, text/plain",
	}), g.chance(0.2))
}

func (g *Generator) spoilPath(d *draft) {
	seg := strings.Split(d.path, "/")
	i := 1 + g.rng.IntN(len(seg)-1)
	switch g.rng.IntN(9) {
	case 0:
		d.path += "/"
		return
	case 1:
		seg = append(seg, pick(g, []string{"x", "inventories", "%20", "traits"}))
	case 2:
		seg[i] = strings.ReplaceAll(seg[i], "-", "")
	case 3:
		seg[i] = strings.ToUpper(seg[i])
	case 4:
		seg[i] = pick(g, []string{"random_sauce", "%C3%A4", "%FF", "", "%2F", "a%20b", "0", "%00", "*", "{uuid}", g.uuid()})
	case 5:
		d.path = pick(g,
			[]string{"/", "//", "/nothing", "/placement", "/resource_provider", "/resource_providers.json", "/v1/traits"})
		return
	case 6:
		d.path = "/" + strings.Join(seg, "/")
		return
	case 7:
		if seg[i] != "" {
			seg[i] = fmt.Sprintf("%%%02X", seg[i][:1]) + seg[i][1:]
		}
	default:
		seg[i] = "{" + seg[i] + "}"
	}
	d.path = strings.Join(seg, "/")
}

// oddString picks one of what people type, and what they should not.
func (g *Generator) oddString() string {
	return pick(g, []string{
		"", " ", "x", "ä", "日本", "\U0001F6A2", "'", "\"", "'\"", "\\", "a\nb", "\t", "\x7f", "\u00a0", "\u200b", "\u2028",
		"<b>x</b>",
		"&", "%", "{}", "None", "null", "true", "0", "-1", "1.5", "VCPU", "CUSTOM_RED", "rp-1", "\x00", "\u0130", "e\u0301",
		strings.Repeat("x", 201), strings.Repeat("ä", 256), g.uuid(), undashed(g.uuid()), strings.ToUpper(g.uuid()),
		"{" + g.uuid() + "}", "urn:uuid:" + g.uuid(), g.uuid()[:35] + "g", strings.Repeat("0", 36), strings.Repeat("-", 36),
	})
}

// oddValue is a JSON value that is rarely valid.
func (g *Generator) oddValue() any {
	if g.chance(0.35) {
		return g.oddString()
	}
	return pick(g, []any{
		nil, true, false, 0, 1, -1, 7, 2147483647, 2147483648, raw("1.0"), raw("1.5"), raw("-0.0"), raw("1e3"), raw("1e300"),
		raw("1E400"),
		raw("9223372036854775808"), raw("123456789012345678901234567890"), raw("NaN"), raw("Infinity"), raw("-Infinity"),
		raw("0.1"), raw("1e-7"), raw("1e16"), raw("123456.789e3"),
		list{},
		object{},
		list{1, "x", nil},
		list{"a", "a"},
		object{{"a", 1}},
		object{{"", object{{"b", list{raw("1.0"), true}}}}},
		raw(`"\ud800"`), raw(`"\u00e4"`), raw(`{"a": 1, "a": 2}`),
		list{list{}, list{}},
		list{1, true},
		list{0, false},
		list{1, raw("1.0")},
		raw("[ ]"), raw("-0"),
		raw(strings.Repeat("[", 40) + strings.Repeat("]", 40)),
	})
}
