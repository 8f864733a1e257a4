package fuzzing

import (
	"slices"
	"strconv"
	"strings"
)

// odd are values that are seldom valid, as JSON or nearly.
func (m *maker) odd() string {
	switch m.IntN(40) {
	case 0:
		return quoted(strings.Repeat("x", 1<<(4+m.IntN(15)))) // up to 256 KiB
	case 1:
		return strings.Repeat("[", 1<<m.IntN(12)) + "1"
	case 2:
		n := 1 << m.IntN(13)
		return strings.Repeat("[", n) + strings.Repeat("]", n)
	case 3:
		n := 1 << m.IntN(12)
		return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
	case 4:
		return "1" + strings.Repeat("0", 1<<m.IntN(14))
	case 5:
		n := m.IntN(m.one2(20, 2000))
		return "[" + strings.Repeat(quoted(m.id("ports"))+",", n) + `"x"]`
	}
	return m.one("null", "true", "false", "0", "-1", "1", "-0", "0.0", "1.5", "1e3", "1e400", "-1e400", "1E-400",
		"2147483647", "2147483648", "-2147483648",
		"4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"18446744073709551616", "NaN", "Infinity", "-Infinity",
		`""`, `" "`, `"\u0000"`, `"\ud800"`, `"\udc00\ud800"`, `"\ud83d\ude00"`, "\"\xff\xfe\"", "\"\xed\xa0\x80\"",
		"\"\xc0\x80\"", `"a\nb"`, `"\n"`, `"None"`, `"null"`, `"true"`, `"0"`, `"-1"`, `"1e3"`, `"٣"`, `"²"`, `"１"`,
		`"../.."`, `"%00"`, `"%s%n"`, `"' OR 1=1 --"`, `"<script>"`, `"{}"`, `"\\"`, `"\u202e"`, `"K"`, `"ß"`, `"İ"`,
		`"default"`, `"all"`,
		`"0.0.0.0/0"`, `"::/0"`, `"::ffff:10.0.0.1"`, `"10.0.0.1/33"`, `"fe80::1%eth0"`, `"255.255.255.255"`,
		`"00:00:00:00:00:00"`, `"ff:ff:ff:ff:ff:ff"`, `"010.0.0.1"`, `"10.0.0"`, `"1"`,
		"{}", "[]", "[[]]", "[null]", `[""]`, `[{}]`, `{"":""}`, `{"a":null}`, `{"id":"x"}`, "[1,1]", `["a","a"]`,
		"'x'", "undefined", "{a:1}", "[1,]", `{"a":1,}`, "01", "+1", ".5", "1.", "0x10", "// no", "\"\t\"", "\ufeff1", `"`,
		"")
}

func (m *maker) one2(a, b int) int {
	if m.chance(30) {
		return b
	}
	return a
}

// spoil changes a few things in a body.
func (m *maker) spoil(body *node) {
	for range 1 + m.IntN(3) {
		all := body.all()
		n := all[m.IntN(len(all))]
		switch m.IntN(9) {
		case 0:
			n.grow(m)
		case 1:
			n.shrink(m)
		case 2: // what another part has
			*n = *copied(all[m.IntN(len(all))], 20000)
		case 3: // into a list, or out of one
			if n.kind == '[' && len(n.items) > 0 {
				*n = *n.items[0]
			} else {
				*n = node{kind: '[', items: []*node{copied(n, 20000)}}
			}
		case 4: // as text, or as the content of the text
			if n.kind == 0 && strings.HasPrefix(n.raw, `"`) {
				n.raw = strings.Trim(n.raw, `"`)
			} else if n.kind == 0 {
				n.raw = quoted(n.raw)
			}
		case 5:
			*n = *m.word(m.one("$uuid", "$name", "$ip", "$int:-5:100000", "$bool", "$id:networks", "$id:servers", "$cidr",
				"$class", "$trait", "$host"))
		default:
			*n = node{raw: m.odd()}
		}
	}
}

// grow adds a member or an item, a duplicate, or many.
func (n *node) grow(m *maker) {
	if n.kind == '[' && len(n.items) > 0 {
		one := n.items[m.IntN(len(n.items))]
		for range 1 + m.IntN(m.one2(8, 3000)) {
			n.items = append(n.items, copied(one, 400))
		}
		return
	}
	if n.kind != '{' {
		return
	}
	if len(n.members) == 0 || m.chance(2) {
		name := m.one("id", "uuid", "tenant_id", "project_id", "revision_number", "created_at", "status", "unknown", "",
			"name ", "NAME", "binding:host_id",
			"router:external", "is_default", "force", "\x00", "ünknown", "adminPass", "host", "OS-DCF:diskConfig", "generation",
			"device_owner", "shared", strings.Repeat("k", 300))
		n.members = append(n.members, member{name, &node{raw: m.odd()}})
		return
	}
	one := n.members[m.IntN(len(n.members))]
	for i := range m.one2(1, 1+m.IntN(1000)) {
		name := one.name
		if i > 0 {
			name += strconv.Itoa(i)
		}
		n.members = append(n.members, member{name, copied(one.value, 400)})
	}
}

// shrink removes a member or an item.
func (n *node) shrink(m *maker) {
	if len(n.items) > 0 {
		i := m.IntN(len(n.items))
		n.items = slices.Delete(n.items, i, i+1)
	}
	if len(n.members) > 0 {
		i := m.IntN(len(n.members))
		n.members = slices.Delete(n.members, i, i+1)
	}
}

// copied is a copy of a node. One whose text is longer than most bytes is null.
func copied(n *node, most int) *node {
	if len(n.text()) > most {
		return &node{raw: "null"}
	}
	c := &node{kind: n.kind, raw: n.raw}
	for _, m := range n.members {
		c.members = append(c.members, member{m.name, copied(m.value, most)})
	}
	for _, item := range n.items {
		c.items = append(c.items, copied(item, most))
	}
	return c
}

// garble breaks a text.
func (m *maker) garble(s string) string {
	at := m.IntN(len(s) + 1)
	switch m.IntN(10) {
	case 0:
		return s[:at]
	case 1:
		return s[at:]
	case 2:
		return s[:at] + m.odd() + s[at:]
	case 3:
		return s + m.one("x", "}", "]", "\x00", s, " \n\t ", ",")
	case 4:
		return "\ufeff" + s
	case 5:
		var b strings.Builder // UTF-16
		for _, c := range s {
			b.WriteByte(byte(c))
			b.WriteByte(byte(c >> 8))
		}
		return b.String()
	case 6:
		return ""
	case 7:
		return m.odd()
	}
	out := []byte(s)
	for range 1 + m.IntN(4) {
		if len(out) > 0 {
			out[m.IntN(len(out))] = byte(m.IntN(256))
		}
	}
	return string(out)
}
