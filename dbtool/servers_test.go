package dbtool_test

import "github.com/berthcloud/berth/internal/sqltest"

// What tests of stores have in common.
var (
	server      = sqltest.Server
	needServers = sqltest.Need
	onServers   = sqltest.OnServers
	makeFile    = sqltest.MakeFile
	old         = sqltest.Old
	open        = sqltest.Open
)
