package config

import (
	"slices"

	"github.com/berthcloud/berth/osloconfig"
)

// A Setting is a row of the table of options: an option with its name, help and older names, bound
// to the field with its value. The help is a part of the documents and of the manual pages: it
// says what the option does here, and where that differs from upstream.
type Setting struct {
	osloconfig.Option
}

const (
	groupDefault   = osloconfig.DefaultGroup
	groupAPI       = "api"
	groupDatabase  = "placement_database"
	groupPlacement = "placement"
	groupCORS      = "cors"
	groupPolicy    = "oslo_policy"
	groupKeystone  = "keystone_authtoken"
	groupProxy     = "oslo_middleware"
	groupBerth     = "berth"

	groupOsloDB = "database"
	groupNova   = "nova"
	groupML2    = "ml2"
	groupQuotas = "quotas"
	groupSSL    = "ssl"

	groupAPIDatabase = "api_database"
	groupNeutron     = "neutron"
	groupGlance      = "glance"
	groupQuota       = "quota"
	groupScheduler   = "scheduler"
	groupFilters     = "filter_scheduler"
	groupWorkarounds = "workarounds"
	groupWSGI        = "wsgi"
)

// Settings returns the table of all options, in the order of the documentation, bound to the fields
// of p: their Display returns the values in p.
func (p *Placement) Settings() []Setting {
	return append(slices.Concat(
		p.base(), append(p.Paths.settings(), authStrategy(&p.API.AuthStrategy)), p.Database.settings(groupDatabase), p.placement(),
		p.cors(), p.policy(), p.keystone(), p.credentials(), p.middleware(), p.berth(),
	),
		used(groupBerth, "reconcile_interval", osloconfig.Seconds(&p.Berth.ReconcileInterval), "Time between comparisons of the snapshot in memory with the database. Writes of upstream's service or of other programs are seen after this time; those of other instances of Berth are seen at once. When a comparison takes more than a tenth of this time, the interval grows, up to a minute; a SQLite file is compared only after another program has written. 0: never."),
		used(groupBerth, "max_event_streams", osloconfig.IntBetween(&p.Berth.MaxEventStreams, 0, 1<<20), "Streams of events (GET /berth/v1/events) at a time; further ones are answered with 503. Each is a request under way (max_requests). 0: no bound."),
		used(groupBerth, "max_event_streams_per_project", osloconfig.IntBetween(&p.Berth.MaxEventStreamsPerProject, 0, 1<<20), "Streams of events at a time of the callers with one project; further ones are answered with 429. 0: no bound."),
	)
}

// maxLists is the row of a service whose lists can be long for its members.
func maxLists(b *Berth) Setting {
	return used(groupBerth, "max_lists_per_project", osloconfig.IntBetween(&b.MaxListsPerProject, 0, 1<<20),
		"Requests for lists (of servers, ports and others) under way at a time for the callers with one project; further ones wait up to ten seconds, and are then answered with 429. 0: no bound.")
}

// used returns a row of the table.
func used(group, name string, v osloconfig.Value, help string) Setting {
	return Setting{osloconfig.Option{Name: osloconfig.Name{Group: group, Option: name}, Value: v, Help: help}}
}

// formerly adds older names in the same group, which are read with a warning (deprecated_name in
// oslo.config).
func (s Setting) formerly(names ...string) Setting {
	for _, name := range names {
		s.Older = append(s.Older, osloconfig.Name{Option: name})
	}
	return s
}

// formerlyDefault adds the option's name in [DEFAULT] as an older name (deprecated_group).
func (s Setting) formerlyDefault() Setting {
	s.Older = append(s.Older, osloconfig.Name{Group: groupDefault, Option: s.Option.Option})
	return s
}

// base returns the rows of [DEFAULT] that all services have, options of oslo.log.
func (s *Service) base() []Setting {
	d := &s.Default
	const g = groupDefault
	return []Setting{
		used(g, "debug", osloconfig.Bool(&d.Debug), "Log debug messages too."),
		used(g, "log_file", osloconfig.String(&d.LogFile), "File to log to; standard error when empty.").formerly("logfile"),
		used(g, "log_dir", osloconfig.String(&d.LogDir), "Directory of log_file, when that is a relative path.").formerly("logdir"),
		used(g, "watch_log_file", osloconfig.Bool(&d.WatchLog), "Reopen the log file when it was renamed, instead of only on SIGHUP."),
		used(g, "use_json", osloconfig.Bool(&d.UseJSON), "Log in JSON, a line for each message."),
	}
}

// settings returns the rows of upstream's directories, which oslo.config substitutes in other
// values: $state_path in the URL of a SQLite file.
func (d *Paths) settings() []Setting {
	const g = groupDefault
	return []Setting{
		used(g, "pybasedir", osloconfig.String(&d.PyBaseDir), "Where upstream's Python modules are. Only good for $pybasedir in other values."),
		used(g, "state_path", osloconfig.String(&d.StatePath),
			"Upstream's directory for state, by default the same as pybasedir. Only good for $state_path in other values."),
	}
}

// settings returns the rows of the group that the database is in.
func (d *Database) settings(g string) []Setting {
	return []Setting{
		used(g, "connection", osloconfig.Hidden(&d.Connection).Check(checkConnection),
			"Database, as a SQLAlchemy URL: `sqlite:////absolute/path`, `mysql+pymysql://…`, `postgresql+psycopg2://…`. Empty: an embedded database in the user's data directory. A dollar sign is written `$$`."),
		used(g, "sync_on_startup", osloconfig.Bool(&d.SyncOnStartup), "Bring an older schema up to date at the start."),
		used(g, "connection_parameters", osloconfig.String(&d.ConnectionParameters), "More parameters for the connection to a server, as `name=value&name=value`."),
		used(g, "mysql_sql_mode", osloconfig.String(&d.MySQLSQLMode), "SQL mode of MariaDB and MySQL sessions; empty for the server's own. Berth adds NO_AUTO_VALUE_ON_ZERO."),
		used(g, "connection_recycle_time", osloconfig.Int(&d.ConnectionRecycleTime), "Seconds after which a connection to a server is replaced; 0 or below: never."),
		used(g, "max_pool_size", osloconfig.OptionalInt(&d.MaxPoolSize), "Idle connections to a server that are kept open, besides the one that writes; 5 when not set."),
		used(g, "max_overflow", osloconfig.OptionalInt(&d.MaxOverflow), "Connections beyond max_pool_size under load; 10 when not set, below 0: 100."),
		used(g, "pool_timeout", osloconfig.OptionalInt(&d.PoolTimeout), "Seconds to wait for a free connection before a request is answered 503; 30 when not set."),
		used(g, "max_retries", osloconfig.Int(&d.MaxRetries), "How often to try again to reach a server at the start; -1 for no end."),
		used(g, "retry_interval", osloconfig.Int(&d.RetryInterval), "Seconds between these attempts."),
	}
}

// authStrategy returns the row of [api] that placement.conf and nova.conf have.
func authStrategy(v *string) Setting {
	return used(groupAPI, "auth_strategy", osloconfig.Choice(v, StrategyKeystone, StrategyNoAuth2),
		"Authentication of callers: keystone, or noauth2, which checks nothing and is for tests: the token is the user's name, and admin is the administrator.").formerlyDefault()
}

// checkConnection accepts "" and what ParseConnection accepts.
func checkConnection(text string) error {
	if text == "" {
		return nil
	}
	_, err := ParseConnection(text)
	return err
}

// placement returns the rows of [placement] of placement.conf.
func (p *Placement) placement() []Setting {
	b := &p.Placement
	const g = groupPlacement
	return []Setting{
		used(g, "randomize_allocation_candidates", osloconfig.Bool(&b.RandomizeAllocationCandidates),
			"With a limit, answer with a random sample of the candidates instead of the first ones."),
		used(g, "incomplete_consumer_project_id", osloconfig.String(&b.IncompleteConsumerProjectID),
			"Project of allocations that were written without one (before microversion 1.8)."),
		used(g, "incomplete_consumer_user_id", osloconfig.String(&b.IncompleteConsumerUserID),
			"User of allocations that were written without one (before microversion 1.8)."),
		used(g, "allocation_conflict_retry_count", osloconfig.Int(&b.AllocationConflictRetryCount),
			"How often a write of allocations is tried again when another one came between."),
		used(g, "max_allocation_candidates", osloconfig.Int(&b.MaxAllocationCandidates),
			"Most candidates that one request may produce, before its own limit is applied; -1 for no bound."),
		used(g, "allocation_candidates_generation_strategy",
			osloconfig.Choice(&b.AllocationCandidatesGenerationStrategy, DepthFirst, BreadthFirst),
			"Order of candidates: all of one tree before the next (depth-first), or one of each tree in turn (breadth-first)."),
	}
}

// cors returns the rows of [cors] (oslo.middleware).
func (s *Service) cors() []Setting {
	c := &s.CORS
	const g = groupCORS
	return []Setting{
		used(g, "allowed_origin", osloconfig.List(&c.AllowedOrigin), "Web origins whose pages may call the API, as `scheme://host[:port]`, or `*`. Empty: no CORS headers."),
		used(g, "allow_credentials", osloconfig.Bool(&c.AllowCredentials), "Whether such a page may send credentials."),
		used(g, "expose_headers", osloconfig.List(&c.ExposeHeaders), "Headers of an answer that such a page may read."),
		used(g, "max_age", osloconfig.Int(&c.MaxAge), "Seconds for which a browser may cache these rules."),
		used(g, "allow_methods", osloconfig.List(&c.AllowMethods), "Methods such a page may use."),
		used(g, "allow_headers", osloconfig.List(&c.AllowHeaders), "Headers such a page may send."),
	}
}

// policy returns the rows of [oslo_policy]. Its options for rules that a remote server checks are
// ignored.
func (s *Service) policy() []Setting {
	o := &s.Policy
	const g = groupPolicy
	return []Setting{
		used(g, "policy_file", osloconfig.String(&o.File), "File with policy rules, relative to the file that names it.").formerlyDefault(),
		used(g, "policy_dirs", osloconfig.Multi(&o.Dirs), "Directories with more policy files. May be given several times.").formerlyDefault(),
		used(g, "policy_default_rule", osloconfig.String(&o.DefaultRule), "Rule for operations that have none.").formerlyDefault(),
		used(g, "enforce_scope", osloconfig.Bool(&o.EnforceScope), "Refuse tokens of the wrong scope, instead of only noting them."),
		used(g, "enforce_new_defaults", osloconfig.Bool(&o.EnforceNewDefaults), "Do not let a rule's deprecated default pass a request that its new one refuses."),
	}
}

// middleware returns the row of [oslo_middleware], whose headers upstream believes from everybody.
func (s *Service) middleware() []Setting {
	const g = groupProxy
	return []Setting{
		used(g, "enable_proxy_headers_parsing", osloconfig.Bool(&s.Proxy.EnableProxyHeadersParsing),
			"Believe the headers Forwarded and X-Forwarded-Proto, -Host, -For and -Prefix, from [berth] trusted_proxies only."),
	}
}

// formerlyIn adds an older name in another group.
func (s Setting) formerlyIn(group, name string) Setting {
	s.Older = append(s.Older, osloconfig.Name{Group: group, Option: name})
	return s
}

// berth returns the rows of [berth] that all services have: listeners, TLS and HTTP/2, bounds.
func (s *Service) berth() []Setting {
	b := &s.Berth
	const g = groupBerth
	return []Setting{
		used(g, "listen", osloconfig.String(&b.Listen).Check(checkAddresses),
			"Addresses of the API, separated by commas: host:port, or unix:/path for a Unix socket. Sockets from systemd take their place."),
		used(g, "listen_mode", osloconfig.String(&b.ListenMode).Check(checkMode), "Permissions of Unix sockets, in octal."),
		used(g, "metrics_listen", osloconfig.String(&b.MetricsListen).Check(checkOptionalAddresses),
			"Addresses of a second listener with /metrics, /healthz and /readyz, written like listen. Empty: none."),
		used(g, "pprof", osloconfig.Bool(&b.PProf), "Offer Go's profiles on the second listener."),
		used(g, "path_prefix", osloconfig.String(&b.PathPrefix).Check(checkPrefix),
			"Path, such as /placement, below which the API answers too. Links and Location headers then begin with it."),
		used(g, "trusted_proxies", osloconfig.List(&b.TrustedProxies).Check(checkProxies),
			"Networks or addresses of proxies whose forwarding headers are trusted, and unix for peers on a Unix socket."),
		used(g, "allowed_hosts", osloconfig.List(&b.AllowedHosts).Check(checkHosts),
			"Names or addresses, without ports, that requests may have in their Host header beside those of loopback, of the socket and in listen. Others are answered with 403 while auth_strategy accepts any token, since a web page could make a browser send them."),
		used(g, "allow_remote_noauth", osloconfig.Bool(&b.AllowRemoteNoAuth),
			"Start although auth_strategy accepts any token and other machines can reach the API: every client that reaches it has full access."),
		used(g, "compress_min_size", osloconfig.Int(&b.CompressMinSize),
			"Size in bytes from which answers are compressed for clients that accept gzip. 0 or -1: never."),

		used(g, "tls_cert_file", osloconfig.String(&b.TLSCertFile),
			"PEM file with the certificate of the API and those of the authorities between. Empty: no TLS. Changed files are noticed."),
		used(g, "tls_key_file", osloconfig.String(&b.TLSKeyFile), "PEM file with the private key of that certificate."),
		used(g, "tls_client_ca_file", osloconfig.String(&b.TLSClientCAFile),
			"PEM file with the authorities that sign clients' certificates; clients then need one. Empty: they need none."),
		used(g, "tls_min_version", osloconfig.Choice(&b.TLSMinVersion, TLS12, TLS13), "Oldest version of TLS that is spoken."),
		used(g, "http2", osloconfig.Bool(&b.HTTP2), "Speak HTTP/2 too: over TLS, and without TLS to clients that begin with it."),
		used(g, "http2_max_streams", osloconfig.IntBetween(&b.HTTP2MaxStreams, 1, 1<<16), "Requests that may be under way on one HTTP/2 connection."),

		used(g, "max_connections", osloconfig.IntBetween(&b.MaxConnections, 0, 1<<20),
			"Connections to the API that are served at a time; further ones wait. 0: no bound, here and in the next two."),
		used(g, "max_connections_per_client", osloconfig.IntBetween(&b.MaxConnectionsPerClient, 0, 1<<20),
			"Connections from one address, trusted proxies excepted; further ones are answered with 503 and closed."),
		used(g, "max_requests", osloconfig.IntBetween(&b.MaxRequests, 0, 1<<20), "Requests under way at a time; further ones are answered with 503."),
		used(g, "max_body_size", osloconfig.IntBetween(&b.MaxBodySize, 1, 1<<30), "Largest body of a request in bytes; more is answered with 413."),
		used(g, "read_header_timeout", osloconfig.Seconds(&b.ReadHeaderTimeout), "Time a client has to send its headers. 0: no bound, here and below."),
		used(g, "read_timeout", osloconfig.Seconds(&b.ReadTimeout), "Time a client has to send its whole request."),
		used(g, "write_timeout", osloconfig.Seconds(&b.WriteTimeout), "Time from the end of the headers to the end of the answer."),
		used(g, "idle_timeout", osloconfig.Seconds(&b.IdleTimeout), "Time an idle connection stays open."),
		used(g, "shutdown_timeout", osloconfig.Seconds(&b.ShutdownTimeout), "Time that requests under way have to finish when the service is stopped."),
	}
}
