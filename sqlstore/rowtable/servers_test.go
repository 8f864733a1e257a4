package rowtable_test

import (
	"time"

	"github.com/berthcloud/berth/internal/sqltest"
)

// What tests of stores have in common.
var (
	server      = sqltest.Server
	kinds       = sqltest.Kinds
	needServers = sqltest.Need
	wantAway    = sqltest.WantUnavailable
	makeFile    = sqltest.MakeFile
	contents    = sqltest.Contents
	open        = sqltest.Open
)

// now is the time of the Updates.
var now = time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC)
