package doctor

import (
	"maps"
	"slices"
	"strings"
)

// A Database is the state of placement's database.
type Database struct {
	Name   string // without credentials
	Server string // its name and version
	// Problem is why it could not be looked at, "" when it could.
	Problem  string
	Revision string
	Release  string
	// Standing is what the revision means for this program, as dbtool has it.
	Standing string
	Rows     []RowCheck
}

// A RowCheck is the result of a check of dbtool.
type RowCheck struct {
	Name    string
	Result  Status
	Details string
}

func databaseSchema(x *exam, r *findings) {
	d := x.Database
	switch {
	case d.Problem != "":
		r.fail("berth db version", "the database %s: %s", d.Name, d.Problem)
	case d.Standing == "empty":
		r.fail("berth db sync", "the database %s is empty", d.Name)
	case d.Standing == "older":
		r.fail("berth db sync", "the tables of %s are of the revision %s, which is older than what current releases of placement work on", d.Name, d.Revision)
	case d.Standing == "unknown":
		r.warn("berth db version", "the tables of %s are of the revision %s, which this program does not know", d.Name, d.Revision)
	default:
		r.ok("%s (%s): revision %s, %s", d.Name, d.Server, d.Revision, d.Release)
	}
}

func databaseRows(x *exam, r *findings) {
	if x.Database.Problem != "" {
		r.unknown("The database was not read: %s.", x.Database.Problem)
		return
	}
	passed := 0
	for _, c := range x.Database.Rows {
		if c.Result == OK {
			passed++
			continue
		}
		r.add(c.Result, "berth db check", c.Name+": "+c.Details)
	}
	r.ok("%d of %d checks of berth db check pass", passed, len(x.Database.Rows))
}

// A PolicyFile is a policy file of the placement service.
type PolicyFile struct {
	Path string
	// Problem is why it cannot be used, "" when it can.
	Problem string
	// JSON says that the file is in JSON, which upstream's releases since Xena do not read by default.
	JSON  bool
	Rules map[string]string // by name, in the policy language
	// Defaults are the rules of the service.
	Defaults map[string]string
}

func policyFiles(x *exam, r *findings) {
	first := x.Policies[0]
	for _, f := range x.Policies {
		if f.Problem != "" {
			r.fail("less "+f.Path, "%s: %s", f.Path, f.Problem)
			continue
		}
		if f.JSON {
			r.warn("oslopolicy-convert-json-to-yaml --namespace placement --policy-file "+f.Path, "%s is JSON, which current releases of OpenStack do not read", f.Path)
		}
		changed := 0
		for _, name := range slices.Sorted(maps.Keys(f.Rules)) {
			is, known := f.Defaults[name]
			switch {
			case !known && !used(name, f.Rules):
				r.warn("oslopolicy-list-redundant --namespace placement", "%s has the rule %s, which placement does not ask for", f.Path, name)
			case known && plainRule(is) != plainRule(f.Rules[name]):
				changed++
				r.ok("%s: %s is %q, by default %q", f.Path, name, withoutCredentials(f.Rules[name]), is)
			}
		}
		r.ok("%s: %d rules, of which %d differ from the default", f.Path, len(f.Rules), changed)
		for _, name := range slices.Sorted(maps.Keys(union(first.Rules, f.Rules))) {
			if a, b := first.Rules[name], f.Rules[name]; first.Problem == "" && plainRule(a) != plainRule(b) {
				r.fail("diff "+first.Path+" "+f.Path, "%s is %q in %s and %q in %s: the instances of the service decide differently", name, withoutCredentials(a), first.Path, withoutCredentials(b), f.Path)
			}
		}
	}
}

// used reports whether another rule of the file refers to a rule.
func used(name string, rules map[string]string) bool {
	for _, text := range rules {
		if slices.Contains(strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" ()", c) }), "rule:"+name) {
			return true
		}
	}
	return false
}

func plainRule(text string) string { return strings.Join(strings.Fields(text), " ") }

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}
