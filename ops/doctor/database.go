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
	// Problem is why it could not be examined, "" when it could.
	Problem  string
	Revision string
	Release  string
	// Standing is what the revision means for this program, as dbtool has it.
	Standing string
	Rows     []RowCheck
	// What follows is how the server takes part in replication, as dbtool has it.
	ReadOnly bool
	Cluster  *Cluster
	Standbys []Standby
	// Sources are the servers that it follows. Grant is the statement that lets the user of the
	// database see them, "" when it may.
	Sources []Source
	Grant   string
	// Replicas is how many servers are connected to follow it, -1 when that is not known.
	Replicas int64
}

// A Cluster is a Galera cluster, as one of its servers sees it.
type Cluster struct {
	Size          int64
	Status, State string
}

// A Standby is a server that follows the one that was examined. Behind is by how many seconds, -1
// when that is not known.
type Standby struct {
	Name, State string
	Behind      float64
}

// A Source is a server that the one that was examined follows. Receives and Applies are "Yes" while
// it receives its changes and applies them, Behind by how many seconds it is behind, -1 when that
// is not known.
type Source struct {
	Address           string
	Receives, Applies string
	Problem           string
	Behind            float64
}

// A RowCheck is the result of a check of dbtool.
type RowCheck struct {
	Name    string
	Result  Status
	Details string
}

func databaseSchema(x *run, r *findings) {
	d := x.Database
	switch {
	case d.Problem != "":
		r.fail("berth db version", "the database %s: %s", d.Name, d.Problem)
	case d.Standing == "empty":
		r.fail("berth db sync", "the database %s is empty", d.Name)
	case d.Standing == "older":
		r.fail("berth db sync",
			"the tables of %s are of the revision %s, which is older than what current releases of placement work on", d.Name,
			d.Revision)
	case d.Standing == "unknown":
		r.warn("berth db version", "the tables of %s are of the revision %s, which this program does not know", d.Name,
			d.Revision)
	default:
		r.ok("%s (%s): revision %s, %s", d.Name, d.Server, d.Revision, d.Release)
	}
}

func databaseRows(x *run, r *findings) {
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

// standbyLate is by how many seconds a standby may be behind. What it has not applied is lost when
// it takes over.
const standbyLate = 10

func databaseReplicas(x *run, r *findings) {
	d := x.Database
	if d.Problem != "" {
		r.unknown("The database was not read: %s.", d.Problem)
		return
	}
	readOnly := "it is a standby, or was made read-only"
	for _, s := range d.Sources {
		readOnly = "it follows " + s.Address + ", which placement has to use"
	}
	if d.ReadOnly {
		r.fail("grep -A9 'database\\]' /etc/placement/placement.conf", "%s takes no writes: %s", d.Name, readOnly)
	}
	for _, s := range d.Sources {
		show := `mysql -e 'SHOW ALL REPLICAS STATUS\G'`
		if !strings.HasPrefix(d.Server, "MariaDB") {
			show = `mysql -e 'SHOW REPLICA STATUS\G'`
		}
		problem := ""
		if s.Problem != "" {
			problem = ": " + withoutCredentials(s.Problem)
		}
		switch {
		case s.Applies != "Yes":
			r.warn(show, "the server does not apply what it receives of %s (the SQL thread does not run)%s", s.Address, problem)
		case s.Receives != "Yes":
			r.warn(show, "the server receives nothing of %s (its I/O thread is in the state %s)%s", s.Address, s.Receives,
				problem)
		case s.Behind > standbyLate:
			r.warn(show, "the server is %.0f s behind %s, which it follows", s.Behind, s.Address)
		default:
			r.ok("the server follows %s, %.0f s behind", s.Address, max(s.Behind, 0))
		}
		if !d.ReadOnly && d.Replicas == 0 {
			r.warn(show,
				"the server takes writes, and follows %s, which does not follow it: what placement writes here is not in %s",
				s.Address, s.Address)
		}
	}
	if c := d.Cluster; c != nil {
		show := `mysql -e "SHOW GLOBAL STATUS LIKE 'wsrep%'"`
		switch {
		case c.Status != "Primary":
			r.fail(show, "the server does not belong to the majority of its cluster (%s, %s): it refuses statements", c.Status,
				c.State)
		case c.State != "Synced":
			r.warn(show, "the server of the cluster is not up to date: it is %s", c.State)
		case c.Size < 3:
			r.warn(show, "the cluster has %s; it stops when one of fewer than three fails", count(int(c.Size), "server"))
		default:
			r.ok("a cluster of %d servers, %s", c.Size, c.State)
		}
	}
	for _, s := range d.Standbys {
		show := "psql -c 'SELECT * FROM pg_stat_replication'"
		switch {
		case s.State == "":
			r.unknown("The database does not show this user how far the standby %s is; the role pg_monitor may see it.", s.Name)
		case s.State != "streaming":
			r.warn(show, "the standby %s does not follow: it is in the state %s", s.Name, s.State)
		case s.Behind > standbyLate:
			r.warn(show, "the standby %s is %.0f s behind", s.Name, s.Behind)
		case s.Behind < 0: // since nothing was written
			r.ok("the standby %s follows", s.Name)
		default:
			r.ok("the standby %s is %.1f s behind", s.Name, s.Behind)
		}
	}
	if d.Replicas > 0 {
		r.ok("%s connected to the server; each knows how far it is: berth doctor --check database-replicas --connection URL",
			count(int(d.Replicas), "replica"))
	}
	switch {
	case r.list != nil && !d.ReadOnly:
	case strings.HasPrefix(d.Server, "SQLite"):
		r.ok("a file has no replicas")
	case strings.HasPrefix(d.Server, "PostgreSQL"):
		if r.list == nil {
			r.ok("the server has no standby")
		}
	case d.Grant != "":
		r.unknown("Whether the server follows another one is not shown to the user of the database; this lets it: %s",
			d.Grant)
	case r.list == nil:
		r.ok("the server follows no other one, and is in no Galera cluster")
	}
}

// A PolicyFile is a policy file of the placement service.
type PolicyFile struct {
	Path string
	// Problem is why it cannot be used, "" when it can.
	Problem string
	// JSON says that the file is in JSON, which upstream's releases since Xena do not read by
	// default.
	JSON  bool
	Rules map[string]string // by name, in the policy language
	// Defaults are the rules of the service.
	Defaults map[string]string
}

func policyFiles(x *run, r *findings) {
	first := x.Policies[0]
	for _, f := range x.Policies {
		if f.Problem != "" {
			r.fail("less "+f.Path, "%s: %s", f.Path, withoutCredentials(f.Problem))
			continue
		}
		if f.JSON {
			r.warn("oslopolicy-convert-json-to-yaml --namespace placement --policy-file "+f.Path,
				"%s is JSON, which current releases of OpenStack do not read", f.Path)
		}
		changed := 0
		for _, name := range slices.Sorted(maps.Keys(f.Rules)) {
			def, known := f.Defaults[name]
			switch {
			case !known && !used(name, f.Rules):
				r.warn("oslopolicy-list-redundant --namespace placement", "%s has the rule %s, which placement does not request",
					f.Path, name)
			case known && normalizeRule(def) != normalizeRule(f.Rules[name]):
				changed++
				r.ok("%s: %s is %q, by default %q", f.Path, name, withoutCredentials(f.Rules[name]), def)
			}
		}
		r.ok("%s: %s, different from the default: %d", f.Path, count(len(f.Rules), "rule"), changed)
		for _, name := range slices.Sorted(maps.Keys(union(first.Rules, f.Rules))) {
			if a, b := first.Rules[name], f.Rules[name]; first.Problem == "" && normalizeRule(a) != normalizeRule(b) {
				r.fail("diff "+first.Path+" "+f.Path,
					"%s is %q in %s and %q in %s: the instances of the service decide differently", name, withoutCredentials(a),
					first.Path, withoutCredentials(b), f.Path)
			}
		}
	}
}

// used reports whether another rule of the file refers to a rule.
func used(name string, rules map[string]string) bool {
	for _, text := range rules {
		if slices.Contains(strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" ()", c) }),
			"rule:"+name) {
			return true
		}
	}
	return false
}

func normalizeRule(text string) string { return strings.Join(strings.Fields(text), " ") }

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}
