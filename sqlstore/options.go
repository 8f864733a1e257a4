package sqlstore

import (
	"github.com/berthcloud/berth/sqlstore/engine"
	"github.com/berthcloud/berth/sqlstore/sqlconn"
)

// Options say which database to open and how. Only Path or Server must be set.
type Options = engine.Options

// Metrics are called by a store as things happen.
type Metrics = engine.Metrics

// Memory is the Path of a database that is in memory and ends with its store.
const Memory = engine.Memory

// Server is a database on a server.
type Server = sqlconn.Server

// The values of Server.Dialect.
const (
	MySQL      = sqlconn.MySQL
	PostgreSQL = sqlconn.PostgreSQL
)

// What opening a store, and using it, may fail with.
var (
	ErrInUse    = sqlconn.ErrInUse
	ErrFileLost = sqlconn.ErrFileLost
)
