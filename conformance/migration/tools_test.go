package migration

import (
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/upstreamtest"
)

// target is the revision that Berth creates and upgrades to.
const target = "422ece571366"

// toolTime bounds a run of an operator's tool.
const toolTime = 2 * time.Minute

// tool runs a program that must succeed and returns its output.
func tool(t *testing.T, program string, args ...string) string {
	t.Helper()
	upstreamtest.Need(t, server.Packages, program)
	code, out := server.Run(t, toolTime, program, args...)
	if code != 0 {
		t.Fatalf("%s %v ends with %d\n%s", program, args, code, out)
	}
	return out
}

// manage runs upstream's placement-manage on the database.
func (db *database) manage(args ...string) string {
	db.t.Helper()
	return tool(db.t, "/usr/bin/placement-manage", append([]string{"--config-file", db.config()}, args...)...)
}

func (db *database) config() string { return server.ConfigFile(db.t, db.url, nil) }

// content requires upstream's tools to find no problem in the database.
func (db *database) content() {
	db.t.Helper()
	if got := strings.TrimSpace(db.manage("db", "version")); got != target {
		db.t.Errorf("placement-manage db version = %q, want %s", got, target)
	}
	before := db.schema(false)
	db.manage("db", "sync")
	sameLines(db.t, "placement-manage db sync changes the schema", before, db.schema(false))
	out := tool(db.t, "/usr/bin/placement-status", "--config-file", db.config(), "upgrade", "check")
	if n := strings.Count(out, "Result: Success"); n == 0 || n != strings.Count(out, "Result: ") {
		db.t.Errorf("placement-status upgrade check says:\n%s", out)
	}
}

// stopAt has upstream's code bring a database to a revision and no further.
const stopAt = `
import sys
from oslo_config import cfg
from placement import conf, db_api
from placement.db.sqlalchemy import migration
config = cfg.ConfigOpts()
conf.register_opts(config)
config(["--config-file", sys.argv[1]], project="placement")
db_api.configure(config)
migration.upgrade(sys.argv[2])
`

func (db *database) upstreamTo(revision string) {
	db.t.Helper()
	tool(db.t, "/usr/bin/python3", "-c", stopAt, db.config(), revision)
}
