package fuzzing

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A maker generates values. It belongs to one client.
type maker struct {
	*rand.Rand
	pool     *pool
	users    []account
	keys     map[string]string
	provider string // the first object in the path of the request, "" for none
}

// chance reports true once in n times.
func (m *maker) chance(n int) bool { return m.IntN(n) == 0 }

func (m *maker) one(all ...string) string { return all[m.IntN(len(all))] }

// words generate the values of the table.
var words map[string]func(*maker, []string) *node

func init() { // words refer to words
	words = map[string]func(*maker, []string) *node{
		"id": func(m *maker, args []string) *node { return text(m.id(args[0])) },
		"one": func(m *maker, args []string) *node {
			return text(m.one(strings.Split(strings.Join(args, ":"), "|")...))
		},
		"int":         (*maker).integer,
		"bool":        func(m *maker, _ []string) *node { return &node{raw: m.one("true", "false")} },
		"ratio":       func(m *maker, _ []string) *node { return &node{raw: m.one("1.0", "1.5", "16", "0.5", "9999.0")} },
		"amounts":     func(m *maker, _ []string) *node { return m.amounts() },
		"claim":       (*maker).claim,
		"credentials": (*maker).credentials,
		"scope":       (*maker).scope,
		"generation": func(m *maker, _ []string) *node {
			return number(m.pool.generation(m.provider) + m.IntN(6)/5)
		},
		"consumer_generation": func(m *maker, _ []string) *node {
			return &node{raw: m.one("null", "null", "0", "1", "2", "3")}
		},
	}
	for name, f := range texts {
		words[name] = func(m *maker, _ []string) *node { return text(f(m)) }
	}
}

// texts are the words for a text without arguments.
var texts = map[string]func(*maker) string{
	"name": func(m *maker) string {
		return m.one("a", "b", "web", "db-1", "Ünïcode", "x y", "net0", "policy0") + strconv.Itoa(m.IntN(60))
	},
	"text":     func(m *maker) string { return m.one("", "text", "länger 🙂", strings.Repeat("y", 200)) },
	"uuid":     (*maker).uuid,
	"provider": func(m *maker) string { return m.id("resource_providers") },
	"provider_name": func(m *maker) string {
		return m.one("devstack0", "cn", "cn:dev", "shared ") + strconv.Itoa(m.IntN(40))
	},
	"aggregate":     func(m *maker) string { return fixed("a66", m.IntN(8)) },
	"consumer":      func(m *maker) string { return fixed("c05", m.IntN(40)) },
	"consumer_type": func(m *maker) string { return m.one("INSTANCE", "MIGRATION", "ALL", "unknown", "FUZZ") },
	"class":         (*maker).class,
	"trait":         (*maker).trait,
	"resources":     (*maker).resources,
	"required":      (*maker).required,
	"member_of":     (*maker).memberOf,
	"trait_filter": func(m *maker) string {
		return m.one("startswith:CUSTOM", "startswith:", "in:"+m.trait()+","+m.trait())
	},
	"project": func(m *maker) string {
		return m.one("d3e0000000000000000000000000d3e0", "demo", "p1", "p2", m.uuid())
	},
	"user": func(m *maker) string {
		return m.one("ad000000000000000000000000000001", "ad000000000000000000000000000002", "u1")
	},
	"login_name": func(m *maker) string { return m.account().name },
	"token":      func(m *maker) string { return m.id("tokens") },
	"host": func(m *maker) string {
		return m.one("devstack0", "devstack0", "devstack1", "fuzz0", "fuzz1", "nowhere")
	},
	"zone":    func(m *maker) string { return m.one("nova", "z1", "z2", "nova:devstack0", "internal") },
	"tag":     func(m *maker) string { return m.one("red", "blue", "grün", "t") + strconv.Itoa(m.IntN(2)) },
	"tags":    func(m *maker) string { return m.one("red1", "red1,blue0", "blue1,t0,t1") },
	"metakey": func(m *maker) string { return m.one("k", "key:1", "a.b", "a-b") },
	"keyname": func(m *maker) string { return m.one("key", "my-key", "k_") + strconv.Itoa(m.IntN(10)) },
	"spec": func(m *maker) string {
		return m.one("hw:cpu_policy", "resources:VCPU", "resources1:CUSTOM_FUZZ1", "trait:CUSTOM_FUZZ1", "group_policy",
			"foo", "hw:mem_page_size", "resources:NET_BW_EGR_KILOBIT_PER_SEC", "quota:cpu_shares",
			"aggregate_instance_extra_specs:x")
	},
	"spec_value": func(m *maker) string {
		return m.one("1", "0", "required", "forbidden", "dedicated", "none", "isolate", "large", "1000")
	},
	"ip":  func(m *maker) string { return fmt.Sprintf("10.%d.0.%d", m.IntN(8), m.IntN(256)) },
	"ip6": func(m *maker) string { return fmt.Sprintf("2001:db8:%x::%x", m.IntN(8), m.IntN(256)) },
	"cidr": func(m *maker) string {
		return fmt.Sprintf("10.%d.0.0/%s", m.IntN(8), m.one("24", "24", "16", "30", "32", "8"))
	},
	"cidr6": func(m *maker) string {
		return fmt.Sprintf("2001:db8:%x::/%s", m.IntN(8), m.one("64", "64", "56", "120", "127"))
	},
	"mac": func(m *maker) string { return fmt.Sprintf("fa:16:3e:00:%02x:%02X", m.IntN(4), m.IntN(256)) },
	"vnic": func(m *maker) string {
		return m.one("normal", "normal", "direct", "macvtap", "direct-physical", "smart-nic")
	},
	"device_owner": func(m *maker) string {
		return m.one("", "compute:nova", "network:dhcp", "network:router_interface", "trunk:subport", "me")
	},
	"network_type": func(m *maker) string { return m.one("vlan", "flat", "vxlan", "gre", "local", "geneve") },
	"direction":    func(m *maker) string { return m.one("egress", "ingress") },
	"fixed_ip_filter": func(m *maker) string {
		return m.one("ip_address=10.1.0.5", "subnet_id="+m.id("subnets"), "ip_address_substr=10.")
	},
	"regex": func(m *maker) string { return m.one("web", "^a.*", "[a-z]+[0-9]", "(a|b)", "(a*)*b", "\\d{1,500}") },
	"time": func(m *maker) string {
		return m.one("2026-11-20", "2020-01-01T00:00:00Z", "2026-11-23T10:00:00+02:00", "2030-01-01 00:00:00")
	},
	"time_filter": func(m *maker) string { return m.one("gt:2020-01-01T00:00:00Z", "lt:2030-01-01T00:00:00Z", "in:x") },
	"image_sort":  func(m *maker) string { return m.one("name:asc", "created_at:desc,id:asc", "size", "name,id") },
	"base64":      func(m *maker) string { return base64.StdEncoding.EncodeToString(make([]byte, m.IntN(100))) },
	"ssh_key":     func(m *maker) string { return sshKey },
	// Hosts may wait for a change for a minute; the test would do nothing else.
	"wait": func(m *maker) string { return m.one("0", "0", "0", "1", "-1", "x", "", "1.5", "1e0") },
}

const sshKey = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQCqGKukO1De7zhZj6+H0qtjTkVxwTCpvKe4eCZ0FPqri0cb2JZfXJ/DgYSF6v" +
	"UpwmJG8wVQZKjeGcjDOL5UlsuusFncCzWBQ7RKNUSesmQRMSGkVb1/3j+skZ6UtW+5u09lHNsj6tQ51s1SPrCBkedbNf0Tp0GbMJDyR4e9T04ZZw== me"

func text(s string) *node { return &node{raw: quoted(s)} }

func number(n int) *node { return &node{raw: strconv.Itoa(n)} }

func mustJSON(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // of what was read from JSON
	}
	return out
}

// fixed is one of a few UUIDs that clients choose.
func fixed(prefix string, n int) string {
	return fmt.Sprintf("%s00000-0000-4000-8000-%012d", prefix, n)
}

func (m *maker) uuid() string {
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", m.Uint32(), m.IntN(1<<16), m.IntN(1<<12), m.IntN(1<<12),
		m.Int64N(1<<48))
}

func (m *maker) account() account { return m.users[m.IntN(len(m.users))] }

// id is mostly an existing or removed one of the kind, else one of another kind, or one that never
// existed.
func (m *maker) id(kind string) string {
	if m.chance(25) {
		kind = m.one("networks", "ports", "servers", "resource_providers", "images", "policies", "users", "flavors", "agents")
	}
	if id := m.pool.pick(m.Rand, kind); id != "" && !m.chance(25) {
		return id
	}
	if kind == "resource_providers" {
		return fixed("9a0", m.IntN(30))
	}
	return m.uuid()
}

func (m *maker) integer(args []string) *node {
	low, _ := strconv.Atoi(args[0])
	high, _ := strconv.Atoi(args[1])
	return number(low + m.IntN(high-low+1))
}

func (m *maker) class() string {
	return m.one("VCPU", "MEMORY_MB", "DISK_GB", "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC", "VGPU",
		"PCPU", "CUSTOM_FUZZ"+strconv.Itoa(m.IntN(12)))
}

func (m *maker) trait() string {
	return m.one("HW_CPU_X86_AVX2", "CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_NORMAL", "MISC_SHARES_VIA_AGGREGATE",
		"COMPUTE_NODE", "CUSTOM_FUZZ"+strconv.Itoa(m.IntN(12)))
}

// resources is the value of resources in a query for candidates.
func (m *maker) resources() string {
	all := []string{m.class() + ":" + strconv.Itoa(1+m.IntN(8))}
	for m.chance(2) && len(all) < 4 {
		all = append(all, m.class()+":1")
	}
	return strings.Join(all, ",")
}

func (m *maker) required() string {
	return m.one(m.trait(), "!"+m.trait(), m.trait()+",!"+m.trait(), "in:"+m.trait()+","+m.trait())
}

func (m *maker) memberOf() string {
	a, b := fixed("a66", m.IntN(8)), fixed("a66", m.IntN(8))
	return m.one(a, "in:"+a+","+b, "!"+a, "!in:"+a+","+b)
}

func (m *maker) amounts() *node {
	n := &node{kind: '{'}
	for range 1 + m.IntN(3) {
		n.members = append(n.members, member{m.class(), number(1 + m.IntN(4))})
	}
	return n
}

// claim is the allocations in a request, since 1.12: mostly those of a candidate.
func (m *maker) claim(_ []string) *node {
	if known := m.pool.claim(m.Rand); known != nil && !m.chance(4) {
		return copied(known, 20000)
	}
	n := &node{kind: '{'}
	for range m.IntN(3) {
		n.members = append(n.members, member{
			m.id("resource_providers"), &node{kind: '{', members: []member{{"resources", m.amounts()}}},
		})
	}
	return n
}

// credentials are mostly those of an account.
func (m *maker) credentials(_ []string) *node {
	a := m.account()
	password := a.password
	if m.chance(4) {
		password = m.account().password
	}
	return &node{kind: '{', members: []member{
		{"name", text(a.name)},
		{"domain", &node{kind: '{', members: []member{{"id", text("default")}}}},
		{"password", text(password)},
	}}
}

func (m *maker) scope(_ []string) *node {
	tree, err := parse(m.one(
		`{"project":{"name":"demo","domain":{"id":"default"}}}`, `{"project":{"id":"d3e0000000000000000000000000d3e0"}}`,
		`{"system":{"all":true}}`, `"unscoped"`, `{"domain":{"id":"default"}}`,
		`{"project":{"name":"other","domain":{"name":"Default"}}}`, `null`, `{}`))
	if err != nil {
		panic(err) // they are constants
	}
	return tree
}

// word generates the value of "$name:argument:argument". What begins with "$?" may be null.
func (m *maker) word(text string) *node {
	name, args, _ := strings.Cut(text[1:], ":")
	name, maybe := strings.CutPrefix(name, "?")
	f := words[name]
	if f == nil {
		panic("the table has the word " + text + ", which words_test.go has not")
	}
	if maybe && m.chance(4) {
		return &node{raw: "null"}
	}
	return f(m, strings.Split(args, ":"))
}

// plain generates a value in the form for a path or query.
func (m *maker) plain(template string) string {
	if !strings.HasPrefix(template, "$") {
		return template
	}
	n := m.word(template)
	var s string
	if json.Unmarshal([]byte(n.raw), &s) == nil {
		return s
	}
	return n.raw
}

// body generates a body of a template.
func (m *maker) body(t *node) *node {
	switch t.kind {
	case '{':
		n := &node{kind: '{'}
		for _, part := range t.members {
			name, optional := strings.CutSuffix(part.name, "?")
			name, many := strings.CutSuffix(name, "*")
			count := 1
			if optional {
				count = m.IntN(2)
			}
			if many {
				count = m.IntN(4)
			}
			for range count {
				n.members = append(n.members, member{m.plain(name), m.body(part.value)})
			}
		}
		return n
	case '[':
		n := &node{kind: '['}
		if len(t.items) == 1 {
			for range m.IntN(4) {
				n.items = append(n.items, m.body(t.items[0]))
			}
			return n
		}
		for _, item := range t.items {
			n.items = append(n.items, m.body(item))
		}
		return n
	}
	if strings.HasPrefix(t.raw, `"$`) {
		return m.word(strings.Trim(t.raw, `"`))
	}
	return &node{raw: t.raw}
}
