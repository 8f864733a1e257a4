package fuzzing

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// A request is one in the form of the wire.
type request struct {
	route  *route
	host   string // the service's address
	method string
	target string
	header []string // lines
	body   string
	how    framing
	old    bool // HTTP/1.0

	move    string  // the name of a valid move, "" for other requests
	named   []named // what the path names, one below the other
	subject string  // the token that it is about

	// crude means that the request violates HTTP itself, so that it may be answered by the layer
	// below the API, in text, or by closing the connection.
	crude bool
}

// A framing is the way the length of a body is sent.
type framing int

const (
	exact   framing = iota
	chunked         // in chunks
	silent          // no length, and no body
	both            // Content-Length and Transfer-Encoding
	longer          // the length is greater than the body
	shorter         // the length is less than the body
	wrong           // the length is no number
	broken          // a chunk whose length is no number
)

// bytes is the request on the wire.
func (q *request) bytes() string {
	var b strings.Builder
	version := "HTTP/1.1"
	if q.old {
		version = "HTTP/1.0"
	}
	fmt.Fprintf(&b, "%s %s %s\r\n", q.method, q.target, version)
	for _, line := range q.header {
		b.WriteString(line + "\r\n")
	}
	switch q.how {
	case silent:
		b.WriteString("\r\n")
		return b.String()
	case exact:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(q.body), q.body)
	case longer:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(q.body)+100, q.body)
	case shorter:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(q.body)/2, q.body)
	case wrong:
		fmt.Fprintf(&b, "Content-Length: %dx\r\n\r\n%s", len(q.body), q.body)
	case both:
		fmt.Fprintf(&b, "Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%s", len(q.body), inChunks(q.body))
	case broken:
		fmt.Fprintf(&b, "Transfer-Encoding: chunked\r\n\r\nxyz\r\n%s", q.body)
	case chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n" + inChunks(q.body))
	}
	return b.String()
}

func inChunks(body string) string {
	if body == "" {
		return "0\r\n\r\n"
	}
	half := len(body)/2 + 1
	out := fmt.Sprintf("%x\r\n%s\r\n", half, body[:half])
	if rest := body[half:]; rest != "" {
		out += fmt.Sprintf("%x\r\n%s\r\n", len(rest), rest)
	}
	return out + "0\r\n\r\n"
}

// request generates the next request to a route.
func (m *maker) request(rt *route, c *cloud) *request {
	q := &request{route: rt, method: rt.method, host: c.address(rt.api)}
	path := m.path(rt, q)
	if m.provider = ""; len(q.named) > 0 {
		m.provider = q.named[0].id
	}
	body := bodyTemplate{}
	if len(rt.bodies) > 0 && !m.chance(30) {
		body = rt.bodies[m.IntN(len(rt.bodies))]
	}
	q.target = path + m.query(rt)
	q.header = m.headers(rt, c, body)
	q.subject = m.tokenHeaders(q, c)
	if body.tree != nil {
		tree := m.body(body.tree)
		if m.chance(3) {
			m.spoil(tree)
		}
		q.body = tree.text()
		if m.chance(15) {
			q.body = m.garble(q.body)
		}
	} else if m.chance(20) {
		q.body = m.odd()
	}
	q.body = q.body[:min(len(q.body), m.one2(8<<20, 20<<20))]
	if q.body == "" && !m.chance(8) {
		q.how = silent
	}
	m.break_(q)
	return q
}

// kindsOf is the kind of objects that a path names behind each of its segments, where that differs
// from the segment.
var kindsOf = map[string]string{
	"os-aggregates": "aggregates", "os-server-groups": "server_groups", "os-services": "services",
	"os-hypervisors":      "hypervisors",
	"os-instance-actions": "requests", "os-interface": "ports", "network-ip-availabilities": "networks",
	"security-groups":      "security_groups",
	"security-group-rules": "security_group_rules",
}

// wordsOf are the words for objects without an id.
var wordsOf = map[string]string{
	"bindings": "$host", "explain": "$host", "hosts": "$host",
	"tags": "$tag", "traits": "$trait", "resource_classes": "$class",
	"inventories": "$class",
	"allocations": "$consumer", "os-extra_specs": "$spec", "metadata": "$metakey", "os-quota-sets": "$project",
	"os-quota-class-sets":    "$one:default|other",
	"os-simple-tenant-usage": "$project", "quotas": "$project",
	"extensions": "$one:qos|agent|provider|standard-attr-tag|nothing",
	"rule-types": "$one:bandwidth_limit|minimum_bandwidth|dscp_marking|none", "os-keypairs": "$keyname",
	"actions": "$one:deactivate|reactivate|import",
	"members": "$project",
}

// A named is the object of a part of a path. It has no kind when it has no id.
type named struct{ kind, id string }

// names generates the objects of a path.
func (m *maker) names(segments []string) (all []named) {
	for i, s := range segments {
		if !strings.HasPrefix(s, "{") {
			continue
		}
		before := segments[i-1]
		kind := before
		if k, cur := kindsOf[before]; cur {
			kind = k
		}
		kind = strings.TrimPrefix(kind, "alias_")
		n := named{kind, m.id(kind)}
		if word, cur := wordsOf[before]; cur {
			n = named{"", m.plain(word)}
		}
		if len(all) == 1 && !m.chance(6) { // mostly what is below each other belongs together
			if parent := m.pool.parent(n.id); parent != "" {
				all[0].id = parent
			}
		}
		all = append(all, n)
	}
	return all
}

// path generates the path of a route.
func (m *maker) path(rt *route, q *request) string {
	segments := strings.Split(rt.path, "/")
	q.named = m.names(segments)
	next := q.named
	for i, s := range segments {
		if !strings.HasPrefix(s, "{") {
			continue
		}
		id := next[0].id
		next = next[1:]
		segments[i] = url.PathEscape(id)
		if m.chance(40) {
			segments[i] = m.one("%00", "%2F", "..", ".", "%2e%2e", "a%0Ab", "%ff%fe", "%zz", "%", "x%", "ü", "detail", "null",
				"0", "-1", "1e3", "9999999999999999999999",
				strings.Repeat("9", 3000), strings.ToUpper(id), id+".json", id+"%0a", "%20"+id, id+"%20", ";a=b",
				strings.ReplaceAll(id, "-", ""), "{"+id+"}", "urn:uuid:"+id, "")
		}
		if m.chance(200) {
			segments[i] += strings.Repeat("y", 1<<m.IntN(20))
		}
	}
	if rt.path == "/v2.0" { // the name of a path that ends with a slash
		segments = append(segments, "")
	}
	path := strings.Join(segments, "/")
	if m.chance(60) {
		path = m.one(path+"/", path+".json", "/"+path, strings.ToUpper(path), path+"/x", path+"//", "/%2e"+path, path+"/..",
			path+";x", path+"#f", "", "*", "http://other"+path, path[:len(path)/2], path+"%0d%0aX:%20y")
	}
	return path
}

// pages are the parameters of lists of the network service, and serverPages of servers.
var (
	pages = []param{
		{"limit", "$int:0:20"},
		{"marker", "$id:networks"},
		{"marker", "$id:ports"},
		{"page_reverse", "$bool"},
		{"fields", "$one:id|name|tenant_id"},
		{"sort_key", "$one:id|name|tenant_id|created_at"},
		{"sort_dir", "$one:asc|desc"},
	}
	serverPages = []param{
		{"limit", "$int:0:20"},
		{"marker", "$id:servers"},
		{"sort_key", "$one:uuid|display_name|created_at|vm_state|key_name|vm_mode"},
		{"sort_dir", "$one:asc|desc"},
	}
)

// query generates the query of a route.
func (m *maker) query(rt *route) string {
	var params []param
	if len(rt.queries) > 0 {
		params = rt.queries[m.IntN(len(rt.queries))]
	}
	if i := slices.IndexFunc(params, func(p param) bool { return strings.HasPrefix(p.name, "$") }); i >= 0 {
		more := map[string][]param{"$page": pages, "$server_page": serverPages}[params[i].name]
		params = append(slices.Delete(slices.Clone(params), i, i+1), more...)
	}
	var parts []string
	for i, p := range params {
		if !m.chance(3) && !(i == 0 && m.chance(2)) {
			continue
		}
		value := m.plain(p.value)
		if m.chance(8) && p.name != "wait" {
			value = m.garble(value)
		}
		part := url.QueryEscape(p.name) + "=" + url.QueryEscape(value)
		parts = append(parts, part)
		for m.chance(10) && p.name != "wait" {
			parts = append(parts, part, url.QueryEscape(p.name)+"="+url.QueryEscape(m.plain(p.value)))
		}
	}
	if m.chance(20) {
		parts = append(parts, m.one("unknown=1", "=", "=x", "limit", "limit=-1", "limit=0", "limit=99999999999999999999",
			"marker=", "marker=%00", "fields=", "fields=%ff", "sort_key=", "sort_dir=up",
			"sort_key=id&sort_dir=asc&sort_dir=desc", "%zz=1", "a=%", "a=%f", "a=%ff", "a;b=c", "&&&", "name=%00",
			"name=%ed%a0%80", "a+b=c+d", "tenant_id=", "project_id=x&project_id=y", "id=", "id=1&id=2", "all_tenants=x",
			"resources=", "resources=VCPU", "resources=VCPU:", "resources=VCPU:0", "resources=VCPU:99999999999999",
			"resources1=VCPU:1&resources2=VCPU:1", "required=", "required=in:", "member_of=in:", "member_of=x", "limit=1e3",
			"limit=%2B1", "limit=%D9%A3"))
	}
	if m.chance(300) {
		n := m.IntN(5000)
		parts = append(parts, m.one("name="+strings.Repeat("n", n*20), strings.Repeat("a=b&", n),
			strings.Repeat("id="+m.uuid()+"&", n/3), strings.Repeat("fields=id&", n),
			strings.Repeat("required=HW_CPU_X86_AVX2&", n/2), strings.Repeat("sort_key=id&sort_dir=asc&", n/4),
			"resources="+strings.Repeat("VCPU:1,", n), strings.Repeat("tags=a,b&", n/2),
			"required=in:"+strings.Repeat("CUSTOM_A,", n)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "?" + strings.Join(parts, "&")
}

// versions are the highest minor versions of the APIs that have any.
var versions = map[string]int{"placement": 39, "compute": 104}

// headers generates the headers of a request except its tokens.
func (m *maker) headers(rt *route, c *cloud, body bodyTemplate) (lines []string) {
	lines = append(lines, "Host: "+c.address(rt.api))
	if m.chance(100) {
		lines[0] = "Host: " + m.one("", "other", "other.example:80", "[::1]", "a b", "127.0.0.1:1")
	}
	if newest, cur := versions[rt.api]; cur {
		minor := newest
		if body.until > 0 {
			minor = body.since + m.IntN(body.until-body.since+1)
		} else if m.chance(3) {
			minor = m.IntN(newest + 1)
		}
		version := fmt.Sprintf("%s %s.%d", rt.api, map[string]string{"placement": "1", "compute": "2"}[rt.api], minor)
		if m.chance(30) {
			version = m.one(rt.api, rt.api+" latest", rt.api+" 9.9", rt.api+" 1", rt.api+" 2.",
				rt.api+" 2.999999999999999999999", rt.api+" -1.1", rt.api+" 1.1.1", "compute 2.1, placement 1.1", "", ",,,",
				rt.api+" 1.1 1.2")
		}
		if !m.chance(40) {
			lines = append(lines, "OpenStack-API-Version: "+version)
		}
		if m.chance(40) {
			lines = append(lines, "X-OpenStack-Nova-API-Version: "+m.one("2.1", "2.104", "latest", "x", ""))
		}
	}
	if !m.chance(20) {
		accept := "application/json"
		if m.chance(8) {
			accept = m.one("*/*", "text/html", "text/plain", "application/*;q=0.5, text/html", "application/json;q=0", "x", "",
				"*/*;q=x", strings.Repeat("a/b,", 500))
		}
		lines = append(lines, "Accept: "+accept)
	}
	if !m.chance(20) {
		media := "application/json"
		if m.chance(15) {
			media = m.one("", "text/plain", "application/xml", "application/json; charset=utf-16", "application/json;",
				"APPLICATION/JSON", "application/octet-stream", "multipart/form-data; boundary=x", "json",
				"application/json, text/plain", "application/openstack-images-v2.1-json-patch")
		}
		lines = append(lines, "Content-Type: "+media)
	}
	if m.chance(15) {
		lines = append(lines, m.one("If-Match: revision_number=0", "If-Match: revision_number=1",
			"If-Match: revision_number=x", "If-Match: *", "If-Match: ", "If-None-Match: *",
			"If-Modified-Since: Mon, 01 Jan 2035 00:00:00 GMT",
			"X-OpenStack-Request-ID: req-"+m.uuid(), "X-OpenStack-Request-ID: nonsense",
			"X-OpenStack-Request-ID: req-"+strings.Repeat("a", 5000), "Accept-Encoding: gzip", "Accept-Encoding: gzip;q=0, *",
			"Accept-Encoding: br",
			"Expect: 100-continue", "Expect: nonsense", "Origin: http://evil.example", "Access-Control-Request-Method: PUT",
			"X-Forwarded-For: 1.2.3.4", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.example",
			"Forwarded: for=x;proto=https",
			"X-HTTP-Method-Override: DELETE", "Connection: close",
			"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
			"Upgrade: websocket", "Content-Encoding: gzip", "Range: bytes=0-1", "Cookie: a=b", "X-Project-Id: admin",
			"X-Roles: admin", "X-Identity-Status: Confirmed",
			"X-Long: "+strings.Repeat("h", 1<<m.IntN(20)), "TE: trailers", "Accept-Language: xx;q=2", "traceparent: 00-x",
			"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
	}
	return lines
}

// tokenHeaders adds the caller's token, and for identity the subject's, which it returns.
func (m *maker) tokenHeaders(q *request, c *cloud) (subject string) {
	token := m.users[[]int{0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5}[m.IntN(14)]].token()
	if m.chance(40) {
		token = m.one("", "admin", "nonsense", "x:y:admin", strings.Repeat("t", 9000), "ü", m.id("tokens"))
	}
	if !m.chance(50) {
		q.header = append(q.header, "X-Auth-Token: "+token)
	}
	if strings.HasPrefix(q.route.path, "/berth/v1/h") && !m.chance(4) { // routes of hosts
		q.header = append(q.header, "X-Berth-Host-Key: "+m.keys[m.one("devstack0", "devstack1", silentHost)])
	}
	if q.route.path != "/v3/auth/tokens" || q.route.method == "POST" {
		return ""
	}
	subject = m.id("tokens")
	if q.route.method != "DELETE" && m.chance(4) {
		subject = token
	}
	q.header = append(q.header, "X-Subject-Token: "+subject)
	return subject
}

// break_ breaks HTTP now and then.
func (m *maker) break_(q *request) {
	if m.chance(25) && q.how == exact {
		q.how = chunked
	}
	if m.chance(60) {
		q.method = m.one("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "get", "CONNECT",
			"GET/1", strings.Repeat("M", 500))
	}
	if m.chance(100) {
		q.how = framing(m.IntN(int(broken) + 1))
	}
	if m.chance(200) {
		q.header = append(q.header, m.one("no colon", "Name : x", ": x", " folded", "X-Bin: \x01\x02", "X-8: \xff\xfe",
			"Content-Length: 5\r\nContent-Length: 6", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked, chunked",
			"Host: second", "X-Auth-Token: second"))
		q.crude = true
	}
	q.old = m.chance(100)
	_, err := url.ParseRequestURI(q.target)
	q.crude = q.crude || q.how >= both || q.old || err != nil || strings.ContainsAny(q.target, " \x00\r\n#") ||
		!strings.HasPrefix(q.target, "/") ||
		len(q.bytes())-len(q.body) > 60_000 || q.header[0] != "Host: "+q.host || q.method == "CONNECT" || q.method == "GET/1"
	for _, line := range q.header {
		q.crude = q.crude || strings.HasPrefix(line, "Expect: n") || strings.HasPrefix(line, "Upgrade") ||
			strings.Contains(line, "HTTP2-Settings")
	}
}
