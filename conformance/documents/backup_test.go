package documents

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/rest"
	"github.com/berthcloud/berth/internal/server"
)

// serviceDatabases are the databases of the examples, by service.
var serviceDatabases = map[string]string{
	"placement": "placement", "network": "berth_network", "compute": "berth_compute",
}

// trio are the services over three databases, by service.
type trio struct {
	t         *testing.T
	databases map[string]string // URLs
	urls      map[string]string
	stop      []func()
}

// start starts the services.
func (c *trio) start() {
	c.t.Helper()
	places := server.StartBerth(c.t, server.Options{Database: c.databases["placement"]})
	networks := server.StartNetwork(c.t, places.URL(), server.Options{Database: c.databases["network"]})
	computes := server.StartCompute(c.t, places.URL(), networks.URL(), "http://127.0.0.1:1",
		server.Options{Database: c.databases["compute"]})
	c.urls = map[string]string{"placement": places.URL(), "network": networks.URL(), "compute": computes.URL()}
	c.stop = []func(){func() { computes.Stop() }, func() { networks.Stop() }, func() { places.Stop() }}
}

func (c *trio) end() {
	for _, stop := range c.stop {
		stop()
	}
}

// request sends a request to a service, and expects one of the statuses.
func (c *trio) request(service, method, path, body string, want ...int) int {
	c.t.Helper()
	req, err := http.NewRequest(method, c.urls[service]+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("X-Auth-Token", "admin")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("OpenStack-API-Version", "placement 1.39")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	res.Body.Close()
	for _, status := range want {
		if res.StatusCode == status {
			return status
		}
	}
	c.t.Fatalf("%s %s of %s = %d, want one of %v", method, path, service, res.StatusCode, want)
	return 0
}

// things are an object in each service: the path for its creation, its body, and its own path.
func things(n int) map[string][3]string {
	id := rest.UUID("ba", n)
	project := fmt.Sprintf("p%d", n)
	return map[string][3]string{
		"placement": {"PUT /traits/CUSTOM_" + strings.ToUpper(project), "", "/traits/CUSTOM_" + strings.ToUpper(project)},
		"network":   {"PUT /v2.0/quotas/" + project, `{"quota": {"port": 7}}`, "/v2.0/quotas/" + project},
		"compute": {
			"POST /v2.1/flavors", `{"flavor": {"id": "` + id + `", "name": "` + project + `", "ram": 1, "vcpus": 1, "disk": 1}}`,
			"/v2.1/flavors/" + id,
		},
	}
}

// make creates an object in each service.
func (c *trio) make(n int) {
	c.t.Helper()
	for service, thing := range things(n) {
		method, path, _ := strings.Cut(thing[0], " ")
		c.request(service, method, path, thing[1], 200, 201, 204)
	}
}

// has returns the services that have the object of a number.
func (c *trio) has(n int) (all []string) {
	c.t.Helper()
	for _, service := range []string{"placement", "network", "compute"} {
		thing := things(n)[service]
		if service == "network" { // a quota that was never set is the default
			if c.quota(thing[2]) {
				all = append(all, service)
			}
		} else if c.request(service, "GET", thing[2], "", 200, 204, 404) != 404 {
			all = append(all, service)
		}
	}
	return all
}

// quota reports whether a quota is the one that make sets.
func (c *trio) quota(path string) bool {
	c.t.Helper()
	var answer struct{ Quota struct{ Port int } }
	rest.NewOneShot(c.urls["network"], rest.Newest).Read(c.t, path, &answer)
	return answer.Quota.Port == 7
}

// TestBackups runs the commands of backup.md that back up all databases and restore them, on each
// kind of database: objects created after the backup are absent afterwards, and those from before
// exist.
func TestBackups(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare         func(*testing.T, *trio, *shell)
		backup, restore []string // beginnings of the lines
	}{
		"SQLite": {
			prepareSQLite,
			[]string{
				"sqlite3 /var/lib/berth/placement.db", "sqlite3 /var/lib/berth/network.db", "sqlite3 /var/lib/berth/compute.db",
				"sqlite3 /backup/placement.db",
			},
			[]string{"rm -f /var/lib/berth/*.db-wal", "install -m 0640", "berth db check --connection sqlite:"},
		},
		"MariaDB": {prepareMariaDB, []string{"mariadb-dump "}, []string{"mariadb < ", "berth db check --config"}},
		"PostgreSQL": {
			preparePostgreSQL,
			[]string{"pg_dump -Fc -f placement", "pg_dump -Fc -f network", "pg_dump -Fc -f compute"},
			[]string{
				"pg_restore -d placement --clean", "pg_restore -d berth_network --clean", "pg_restore -d berth_compute --clean",
				"berth db check --config",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shell{
				t: t, page: page{"backup.md", read(t, filepath.Join(operations, "backup.md"))}, dir: t.TempDir(),
				bin: server.Berth(t),
			}
			c := &trio{t: t, databases: make(map[string]string)}
			tc.prepare(t, c, s)
			conf := server.ConfigFile(t, strings.ReplaceAll(c.databases["placement"], "$", "$$"), nil)
			s.paths = strings.NewReplacer("/etc/berth/placement.conf", conf, "/var/lib/berth", s.dir+"/live", "/backup/",
				s.dir+"/backup/", " -o berth -g berth", "")
			for _, dir := range []string{"bin", "live", "backup", "rehearsal"} {
				if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(s.bin, filepath.Join(s.dir, "bin/berth")); err != nil {
				t.Fatal(err)
			}
			c.start()
			c.make(1)
			for _, line := range tc.backup {
				s.types(line)
			}
			c.make(2)
			c.end()
			for _, line := range tc.restore {
				s.types(line)
			}
			c.start()
			if before, after := c.has(1), c.has(2); len(before) != 3 || len(after) != 0 {
				t.Errorf("after the restore what was there is in %v, what was made since in %v", before, after)
			}
			if name == "MariaDB" {
				s.types("berth db dump --config /etc/berth/placement.conf | zstd")
				s.types("berth db dump --config /etc/berth/placement.conf --output")
				s.run("cp placement.dump old.dump && cp placement.dump new.dump")
				s.types("cmp old.dump")
			}
		})
	}
}

func prepareSQLite(_ *testing.T, c *trio, s *shell) {
	for service := range serviceDatabases {
		c.databases[service] = "sqlite:///" + s.dir + "/live/" + service + ".db"
	}
}

// prepareMariaDB creates an account for backups, and runs the documents' commands about databases
// and accounts on the server.
func prepareMariaDB(t *testing.T, c *trio, s *shell) {
	db := dbtest.MariaDB(t)
	host, port, _ := strings.Cut(db.Address(), ":")
	db.Exec(t, "CREATE USER backup@'%' IDENTIFIED BY 'secret'", "GRANT ALL ON *.* TO backup@'%' WITH GRANT OPTION")
	t.Cleanup(func() { db.Exec(t, "DROP USER backup@'%'") })
	s.write(".my.cnf", "[client]\nuser = backup\npassword = secret\nhost = "+host+"\nport = "+port, 0o600)
	for service, name := range serviceDatabases {
		t.Cleanup(func() { db.Exec(t, "DROP DATABASE IF EXISTS "+name, "DROP USER IF EXISTS "+name+"@'%'") })
		c.databases[service] = "mysql+pymysql://" + name + ":secret@" + db.Address() + "/" + name + "?charset=utf8mb4"
	}
	for _, line := range shellLines(t, "mariadb") {
		if strings.HasPrefix(line, "mariadb -e ") {
			execute(t, s.dir, "HOME="+s.dir+" "+line)
		}
	}
	db.Exec(t, "CREATE USER placement@'10.0.0.%' IDENTIFIED BY 'secret'")
	t.Cleanup(func() { db.Exec(t, "DROP USER placement@'10.0.0.%'") })
	for _, b := range blocks(t) {
		if b.kind == sqlKind {
			db.Exec(t, b.text)
		}
	}
}

// preparePostgreSQL creates the databases, and an account for backups.
func preparePostgreSQL(t *testing.T, c *trio, s *shell) {
	db := dbtest.PostgreSQL(t)
	for service, name := range serviceDatabases {
		db.Exec(t, "CREATE ROLE "+name+" LOGIN PASSWORD 'secret'", "CREATE DATABASE "+name+" OWNER "+name)
		t.Cleanup(func() { db.Exec(t, "DROP DATABASE "+name+" WITH (FORCE)", "DROP ROLE "+name) })
		c.databases[service] = "postgresql+psycopg2://" + name + ":secret@" + db.Address() + "/" + name
	}
	db.Exec(t, "CREATE ROLE backup SUPERUSER LOGIN PASSWORD 'secret'")
	t.Cleanup(func() { db.Exec(t, "DROP ROLE backup") })
	at, err := url.Parse("tcp://" + db.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGHOST", at.Hostname())
	t.Setenv("PGPORT", at.Port())
	t.Setenv("PGUSER", "backup")
	t.Setenv("PGPASSWORD", "secret")
}
