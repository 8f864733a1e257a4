package sqlstore

import "github.com/berthcloud/berth/sqlstore/sqlconn"

// Server is a database on a server.
type Server = sqlconn.Server

// The values of Server.Dialect.
const (
	MySQL      = sqlconn.MySQL
	PostgreSQL = sqlconn.PostgreSQL
)

// Trace is told of statements.
type Trace = sqlconn.Trace

// The codes of the faults that a store raises itself.
const (
	CodeBusy = sqlconn.CodeBusy
	CodeAway = sqlconn.CodeAway
)

// What opening a store, and using it, may fail with.
var (
	ErrInUse    = sqlconn.ErrInUse
	ErrFileLost = sqlconn.ErrFileLost
)
