package differential

import (
	"net/http"
	"strings"
)

// spoilBody changes one place of a body, or all of it.
func (g *Generator) spoilBody(d *draft) {
	if d.body == nil {
		return
	}
	switch x := g.rng.Float64(); {
	case x < 0.8:
		d.body = g.spoilValue(d.body, 1+g.rng.IntN(count(d.body)))
	case x < 0.9:
		d.body = g.oddValue()
	case x < 0.95:
		d.body = nil
	default:
		d.body = raw(g.broken(encode(d.body)))
	}
}

// count returns the number of values in v, including itself.
func count(v any) int {
	n := 1
	switch v := v.(type) {
	case object:
		for _, m := range v {
			n += count(m.value)
		}
	case list:
		for _, it := range v {
			n += count(it)
		}
	}
	return n
}

// spoilValue spoils the nth value of v, counted depth first from 1.
func (g *Generator) spoilValue(v any, n int) any {
	if n == 1 {
		return g.spoiled(v)
	}
	n--
	switch v := v.(type) {
	case object:
		out := append(object{}, v...)
		for i, m := range out {
			c := count(m.value)
			if n <= c {
				out[i].value = g.spoilValue(m.value, n)
				return out
			}
			n -= c
		}
	case list:
		out := append(list{}, v...)
		for i, it := range out {
			c := count(it)
			if n <= c {
				out[i] = g.spoilValue(it, n)
				return out
			}
			n -= c
		}
	}
	return v
}

// spoiled returns a replacement of v, of the same kind if v has members that can be removed or
// added.
func (g *Generator) spoiled(v any) any {
	if o, ok := v.(object); ok && g.chance(0.75) {
		return g.spoiledObject(o)
	}
	if l, ok := v.(list); ok && g.chance(0.7) {
		switch {
		case len(l) > 0 && g.chance(0.4):
			return append(append(list{}, l...), pick(g, l))
		case g.chance(0.4):
			return list{}
		default:
			return append(append(list{}, l...), g.oddValue())
		}
	}
	return g.oddValue()
}

func (g *Generator) spoiledObject(o object) object {
	out := append(object{}, o...)
	i := 0
	if len(out) > 0 {
		i = g.rng.IntN(len(out))
	}
	switch {
	case len(out) == 0 || g.chance(0.3):
		name := pick(g, []string{
			"extra", "x", "uuid", "name", "generation", "resource_class", "mappings", "consumer_type", "ä", g.oddString(),
		})
		return append(out, member{name, g.oddValue()})
	case g.chance(0.6):
		return append(out[:i], out[i+1:]...)
	case g.chance(0.4):
		out[i].key = g.oddString()
	case g.chance(0.5):
		out[i].key = strings.ToLower(out[i].key)
	default:
		out = append(out, member{out[i].key, g.oddValue()}) // the last of two wins
	}
	return out
}

// broken returns text that is not JSON, mostly.
func (g *Generator) broken(text string) string {
	cut := 0
	if len(text) > 1 {
		cut = 1 + g.rng.IntN(len(text)-1)
	}
	return pick(g, []string{
		text[:cut], text + "}", text + " x", "\ufeff" + text, strings.ReplaceAll(text, `"`, `'`),
		strings.ReplaceAll(text, ":", "="),
		strings.ReplaceAll(text, "}", ",}"), "{", "[", `"`, "{]", "nul", "tru", "\xff\xfe", text[:cut] + "\xff" + text[cut:],
		text[:cut] + "\n" + text[cut:], text[:cut] + "\x01" + text[cut:], "\n\n  " + text, "// x\n" + text, `{"a": }`,
		`{"a" 1}`, `{1: 2}`,
		`{"a": 01}`, `{"a": .5}`, `{"a": 5.}`, `{"a": +1}`, `["\x"]`, `["\u12"]`, `["a` + "\n" + `b"]`, "-",
		`{"a": 1 "b": 2}`, `[1 2]`,
	})
}

// spoilQuery changes one parameter or adds one.
func (g *Generator) spoilQuery(d *draft) {
	d.params = append([]Field{}, d.params...)
	if len(d.params) == 0 || g.chance(0.25) {
		d.params = append(d.params, Field{pick(g, []string{
			"bogus", "name", "uuid", "limit", "resources", "required", "member_of", "in_tree", "group_policy", "root_required",
			"same_subtree",
			"project_id", "user_id", "consumer_type", "associated", "resources1", "required1", "member_of_A", "in_tree0",
			"resources_", "RESOURCES",
			"required" + strings.Repeat("x", 65), "resources.1", "", "ä",
		}), g.oddParam()})
		return
	}
	i := g.rng.IntN(len(d.params))
	switch g.rng.IntN(6) {
	case 0:
		d.params = append(d.params, d.params[i])
	case 1:
		d.params = append(d.params, Field{d.params[i].Name, g.oddParam()})
	case 2:
		d.params = append(d.params[:i], d.params[i+1:]...)
	case 3:
		d.params[i].Value += pick(g, []string{" ", ",", ":", "!", "%", "\n", ",,", ":1", "ä"})
	default:
		d.params[i].Value = g.oddParam()
	}
}

func (g *Generator) oddParam() string {
	if g.chance(0.4) {
		return g.oddString()
	}
	u, v := g.provider(), g.aggregate()
	return pick(g, []string{
		"VCPU", "VCPU:", "VCPU:0", "VCPU:-1", "VCPU:1.5", "VCPU: 1", "VCPU:1 ", "VCPU:+1", "VCPU:1_0", "VCPU:\u0661", ":1",
		"VCPU:1,", ",VCPU:1",
		"VCPU:1,VCPU:2", "VCPU:1:2", " VCPU:1", "vcpu:1", "NOPE:1", "CUSTOM_NONE:1", "VCPU:99999999999999999999",
		"VCPU:2147483648", "VCPU:0x1",
		"!", "!!CUSTOM_RED", "in:", "in:CUSTOM_RED", "in:CUSTOM_RED,", "in:!CUSTOM_RED", "in:CUSTOM_RED,NOPE",
		"!in:CUSTOM_RED", "CUSTOM_RED,,CUSTOM_BLUE",
		"CUSTOM_RED,!CUSTOM_RED", " CUSTOM_RED , CUSTOM_BLUE ", "NOPE", "NOPE,NADA", "custom_red", "!NOPE",
		"in: CUSTOM_RED , CUSTOM_BLUE",
		undashed(u), strings.ToUpper(u), " " + u + " ", u + "," + v, "in:" + v, "in:" + v + ",", "!" + v, "!in:" + v,
		"!!" + v, "in:" + undashed(v), "not:" + v,
		"in:" + v + "," + v, v + "," + v, "0", "-1", "1.5", " 1", "01", "1e1", "99999999999999999999", "none", "isolate",
		"NONE", "isolated", "_A,_B", "1,2", "1,,2",
		"1, 2", ",", "1,1", "_NOPE", "all", "unknown", "INSTANCE", "instance", "true",
	})
}

// spoilText changes the text of a draft.
func (g *Generator) spoilText(r *Request) {
	switch {
	case g.chance(0.06) && strings.Contains(r.Target, "?"):
		r.Target = pick(g, []string{
			r.Target + "&", strings.ReplaceAll(r.Target, "&", "&&"), r.Target + "&a", strings.Replace(r.Target, "=", "%3D", 1),
			r.Target + "?",
			strings.ReplaceAll(r.Target, "&", ";"), r.Target + "%FF", r.Target + "%", r.Target + "%zz", r.Target + "+",
			r.Target + "=x", r.Target + "%20",
			r.Target + "&=", r.Target + "&%FF=1", r.Target + "%ED%A0%80",
		})
	case g.chance(0.01) && !r.has("Content-Length"):
		r.Header = append(r.Header, Field{"Content-Length", "0"})
		r.Body = ""
	case g.chance(0.05) && r.Body == "" && r.Method != http.MethodGet:
		r.Body = pick(g, []string{"{}", "x", `{"name": "CUSTOM_GOLD"}`})
		if g.chance(0.5) {
			r.Header = append(r.Header, Field{"Content-Type", "application/json"})
		}
	}
}

// browse adds a browser's headers across origins.
func (g *Generator) browse(d *draft) {
	d.header = append(d.header, Field{
		"Origin", pick(g, []string{"http://valid.example.com", "http://evil.example.com", "null", ""}),
	})
	if g.chance(0.4) {
		d.method = http.MethodOptions
		d.header = append(d.header,
			Field{"Access-Control-Request-Method", pick(g, []string{"GET", "PUT", "PATCH", "TRACE", "get"})})
		if g.chance(0.6) {
			d.header = append(d.header, Field{"Access-Control-Request-Headers", pick(g, []string{
				"X-Auth-Token", "openstack-api-version, x-auth-token", "X-Nope", "Content-Type", "",
			})})
		}
		if g.chance(0.5) {
			d.set("X-Auth-Token", "", true)
		}
	}
}
