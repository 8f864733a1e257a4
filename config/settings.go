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
		p.Default.Settings(), p.Default.logOptions(), append(p.Paths.settings(), authStrategy(&p.API.AuthStrategy)),
		p.Database.settings(groupDatabase), p.placement(),
		p.cors(), p.policy(), p.keystone(), p.credentials(), p.middleware(), p.berth(),
	),
		NewSetting(groupBerth, "reconcile_interval", osloconfig.Seconds(&p.ReconcileInterval),
			"Time between comparisons of the snapshot in memory with the database. "+
				"Writes of upstream's service or of other programs are seen after this time; "+
				"those of other instances of Berth are seen at once. When a comparison takes more than a tenth of this time, "+
				"the interval grows, up to a minute; a SQLite file is compared only after another program has written. 0: never."),
		NewSetting(groupBerth, "max_event_streams", osloconfig.IntBetween(&p.MaxEventStreams, 0, 1<<20),
			"Streams of events (GET /berth/v1/events) at a time; further ones are answered with 503. "+
				"Each is a request under way (max_requests). 0: no bound."),
		NewSetting(groupBerth, "max_event_streams_per_project",
			osloconfig.IntBetween(&p.MaxEventStreamsPerProject, 0, 1<<20),
			"Streams of events at a time of the callers with one project; further ones are answered with 429. 0: no bound."),
		NewSetting(groupBerth, "console", osloconfig.Bool(&p.Console),
			"Serve the console at /console, a page that shows what there is of resources and who has it. Users log in with "+
				"Keystone, and see what the policy lets them read from the API; without auth_strategy keystone there is none."),
	)
}

// Settings returns the options that all services share, bound to the fields of s.
func (s *Service) Settings() []Setting {
	return slices.Concat(
		s.Default.Settings(), s.Default.logOptions(), s.cors(), s.policy(), s.keystone(), s.credentials(),
		s.middleware(), s.berth(),
	)
}

// maxLists is the row of a service whose lists can be long for its members.
func maxLists(b *Berth) Setting {
	return NewSetting(groupBerth, "max_lists_per_project", osloconfig.IntBetween(&b.MaxListsPerProject, 0, 1<<20),
		"Requests for lists (of servers, ports and others) under way at a time for the callers with one project; "+
			"further ones wait up to ten seconds, and are then answered with 429. 0: no bound.")
}

// NewSetting returns a row of a table.
func NewSetting(group, name string, v osloconfig.Value, help string) Setting {
	return Setting{osloconfig.Option{Name: osloconfig.Name{Group: group, Option: name}, Value: v, Help: help}}
}

// Formerly adds older names in the same group, which are read with a warning (deprecated_name in
// oslo.config).
func (s Setting) Formerly(names ...string) Setting {
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

// Settings returns the rows of [DEFAULT] about the log.
func (d *Logging) Settings() []Setting {
	const g = groupDefault
	return []Setting{
		NewSetting(g, "debug", osloconfig.Bool(&d.Debug), "Log debug messages too."),
		NewSetting(g, "log_file", osloconfig.String(&d.LogFile), "File to log to; standard error when empty.").
			Formerly("logfile"),
		NewSetting(g, "log_dir", osloconfig.String(&d.LogDir), "Directory of log_file, when that is a relative path.").
			Formerly("logdir"),
		NewSetting(g, "watch_log_file", osloconfig.Bool(&d.WatchLog),
			"Reopen the log file when it was renamed, instead of only on SIGHUP."),
		NewSetting(g, "use_json", osloconfig.Bool(&d.UseJSON), "Log in JSON, a line for each message."),
	}
}

// logOptions returns the row of [DEFAULT] that services have and agents have not.
func (d *Logging) logOptions() []Setting {
	return []Setting{NewSetting(groupDefault, "log_options", osloconfig.Bool(&d.LogOptions),
		"With debug: log all options with their values when the service starts. "+
			"Passwords and other secrets are written `****`.")}
}

// settings returns the rows of upstream's directories, which oslo.config substitutes in other
// values: $state_path in the URL of a SQLite file.
func (d *Paths) settings() []Setting {
	const g = groupDefault
	return []Setting{
		NewSetting(g, "pybasedir", osloconfig.String(&d.PyBaseDir),
			"Where upstream's Python modules are. Only good for $pybasedir in other values."),
		NewSetting(g, "state_path", osloconfig.String(&d.StatePath),
			"Upstream's directory for state, by default the same as pybasedir. Only good for $state_path in other values."),
	}
}

// settings returns the rows of the group that the database is in.
func (d *Database) settings(g string) []Setting {
	return []Setting{
		NewSetting(g, "connection", osloconfig.Hidden(&d.Connection).Check(checkConnection),
			"Database, as a SQLAlchemy URL: `sqlite:////absolute/path`, `mysql+pymysql://…`, `postgresql+psycopg2://…`. "+
				"Empty: an embedded database in the user's data directory. A dollar sign is written `$$`."),
		NewSetting(g, "sync_on_startup", osloconfig.Bool(&d.SyncOnStartup), "Bring an older schema up to date at the start."),
		NewSetting(g, "connection_parameters", osloconfig.String(&d.ConnectionParameters),
			"More parameters for the connection to a server, as `name=value&name=value`."),
		NewSetting(g, "mysql_sql_mode", osloconfig.String(&d.MySQLSQLMode),
			"SQL mode of MariaDB and MySQL sessions; empty for the server's own. Berth adds NO_AUTO_VALUE_ON_ZERO."),
		NewSetting(g, "connection_recycle_time", osloconfig.Int(&d.ConnectionRecycleTime),
			"Seconds after which a connection to a server is replaced; 0 or below: never."),
		NewSetting(g, "max_pool_size", osloconfig.OptionalInt(&d.MaxPoolSize),
			"Idle connections to a server that are kept open, besides the one that writes; 5 when not set."),
		NewSetting(g, "max_overflow", osloconfig.OptionalInt(&d.MaxOverflow),
			"Connections beyond max_pool_size under load; 10 when not set, below 0: 100."),
		NewSetting(g, "pool_timeout", osloconfig.OptionalInt(&d.PoolTimeout),
			"Seconds to wait for a free connection before a request is answered 503; 30 when not set."),
		NewSetting(g, "max_retries", osloconfig.Int(&d.MaxRetries),
			"How often to try again to reach a server at the start; -1 for no end."),
		NewSetting(g, "retry_interval", osloconfig.Int(&d.RetryInterval), "Seconds between these attempts."),
	}
}

// authStrategy returns the row of [api] that placement.conf and nova.conf have.
func authStrategy(v *string) Setting {
	return NewSetting(groupAPI, "auth_strategy", osloconfig.Choice(v, StrategyKeystone, StrategyNoAuth2),
		"Authentication of callers: keystone, or noauth2, which checks nothing and is for tests: "+
			"the token is the user's name, and admin is the administrator.").formerlyDefault()
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
		NewSetting(g, "randomize_allocation_candidates", osloconfig.Bool(&b.RandomizeAllocationCandidates),
			"With a limit, answer with a random sample of the candidates instead of the first ones."),
		NewSetting(g, "incomplete_consumer_project_id", osloconfig.String(&b.IncompleteConsumerProjectID),
			"Project of allocations that were written without one (before microversion 1.8)."),
		NewSetting(g, "incomplete_consumer_user_id", osloconfig.String(&b.IncompleteConsumerUserID),
			"User of allocations that were written without one (before microversion 1.8)."),
		NewSetting(g, "allocation_conflict_retry_count", osloconfig.Int(&b.AllocationConflictRetryCount),
			"How often a write of allocations is tried again when another one came between."),
		NewSetting(g, "max_allocation_candidates", osloconfig.Int(&b.MaxAllocationCandidates),
			"Most candidates that one request may produce, before its own limit is applied; -1 for no bound."),
		NewSetting(g, "allocation_candidates_generation_strategy",
			osloconfig.Choice(&b.AllocationCandidatesGenerationStrategy, DepthFirst, BreadthFirst),
			"Order of candidates: all of one tree before the next (depth-first), or one of each tree in turn (breadth-first)."),
	}
}

// cors returns the rows of [cors] (oslo.middleware).
func (s *Service) cors() []Setting {
	c := &s.CORS
	const g = groupCORS
	return []Setting{
		NewSetting(g, "allowed_origin", osloconfig.List(&c.AllowedOrigin),
			"Web origins whose pages may call the API, as `scheme://host[:port]`, or `*`. Empty: no CORS headers."),
		NewSetting(g, "allow_credentials", osloconfig.Bool(&c.AllowCredentials), "Whether such a page may send credentials."),
		NewSetting(g, "expose_headers", osloconfig.List(&c.ExposeHeaders), "Headers of an answer that such a page may read."),
		NewSetting(g, "max_age", osloconfig.Int(&c.MaxAge), "Seconds for which a browser may cache these rules."),
		NewSetting(g, "allow_methods", osloconfig.List(&c.AllowMethods), "Methods such a page may use."),
		NewSetting(g, "allow_headers", osloconfig.List(&c.AllowHeaders), "Headers such a page may send."),
	}
}

// policy returns the rows of [oslo_policy]. Its options for rules that a remote server checks are
// ignored.
func (s *Service) policy() []Setting {
	o := &s.Policy
	const g = groupPolicy
	return []Setting{
		NewSetting(g, "policy_file", osloconfig.String(&o.File),
			"File with policy rules, relative to the file that names it.").formerlyDefault(),
		NewSetting(g, "policy_dirs", osloconfig.Multi(&o.Dirs),
			"Directories with more policy files. May be given several times.").formerlyDefault(),
		NewSetting(g, "policy_default_rule", osloconfig.String(&o.DefaultRule), "Rule for operations that have none.").
			formerlyDefault(),
		NewSetting(g, "enforce_scope", osloconfig.Bool(&o.EnforceScope),
			"Refuse tokens of the wrong scope, instead of only noting them."),
		NewSetting(g, "enforce_new_defaults", osloconfig.Bool(&o.EnforceNewDefaults),
			"Do not let a rule's deprecated default pass a request that its new one refuses."),
	}
}

// middleware returns the row of [oslo_middleware], whose headers upstream believes from everybody.
func (s *Service) middleware() []Setting {
	const g = groupProxy
	return []Setting{
		NewSetting(g, "enable_proxy_headers_parsing", osloconfig.Bool(&s.Proxy.EnableProxyHeadersParsing),
			"Believe the headers Forwarded and X-Forwarded-Proto, -Host, -For and -Prefix, from [berth] trusted_proxies only."),
	}
}

// FormerlyIn adds an older name in another group.
func (s Setting) FormerlyIn(group, name string) Setting {
	s.Older = append(s.Older, osloconfig.Name{Group: group, Option: name})
	return s
}

// berth returns the rows of [berth] that all services have: listeners, TLS and HTTP/2, bounds.
func (s *Service) berth() []Setting {
	b := &s.Berth
	const g = groupBerth
	return []Setting{
		NewSetting(g, "listen", osloconfig.String(&b.Listen).Check(checkAddresses),
			"Addresses of the API, separated by commas: host:port, or unix:/path for a Unix socket. "+
				"Sockets from systemd take their place."),
		NewSetting(g, "listen_mode", osloconfig.String(&b.ListenMode).Check(checkMode),
			"Permissions of Unix sockets, in octal."),
		NewSetting(g, "metrics_listen", osloconfig.String(&b.MetricsListen).Check(checkOptionalAddresses),
			"Addresses of a second listener with /metrics, /healthz and /readyz, written like listen. Empty: none."),
		NewSetting(g, "pprof", osloconfig.Bool(&b.PProf), "Offer Go's profiles on the second listener."),
		NewSetting(g, "path_prefix", osloconfig.String(&b.PathPrefix).Check(checkPrefix),
			"Path, such as /placement, below which the API answers too. Links and Location headers then begin with it."),
		NewSetting(g, "trusted_proxies", osloconfig.List(&b.TrustedProxies).Check(checkProxies),
			"Networks or addresses of proxies whose forwarding headers are trusted, and unix for peers on a Unix socket."),
		NewSetting(g, "allowed_hosts", osloconfig.List(&b.AllowedHosts).Check(checkHosts),
			"Names or addresses, without ports, that requests may have in their Host header in addition to those of loopback, "+
				"of the socket and in listen. Others are answered with 403 while auth_strategy accepts any token, "+
				"since a web page could make a browser send them."),
		NewSetting(g, "allow_remote_noauth", osloconfig.Bool(&b.AllowRemoteNoAuth),
			"Start although auth_strategy accepts any token and other machines can reach the API: "+
				"every client that reaches it has full access."),
		NewSetting(g, "compress_min_size", osloconfig.Int(&b.CompressMinSize),
			"Size in bytes from which answers are compressed for clients that accept gzip. 0 or -1: never, as upstream. "+
				"For clients behind slow links: on a fast network compressing takes longer than sending."),

		NewSetting(g, "tls_cert_file", osloconfig.String(&b.TLSCertFile),
			"PEM file with the certificate of the API and those of the authorities between. Empty: no TLS. "+
				"Changed files are noticed."),
		NewSetting(g, "tls_key_file", osloconfig.String(&b.TLSKeyFile), "PEM file with the private key of that certificate."),
		NewSetting(g, "tls_client_ca_file", osloconfig.String(&b.TLSClientCAFile),
			"PEM file with the authorities that sign clients' certificates; clients then need one. Empty: they need none."),
		NewSetting(g, "tls_min_version", osloconfig.Choice(&b.TLSMinVersion, TLS12, TLS13),
			"Oldest version of TLS that is spoken."),
		NewSetting(g, "http2", osloconfig.Bool(&b.HTTP2),
			"Speak HTTP/2 too: over TLS, and without TLS to clients that begin with it."),

		NewSetting(g, "max_connections", osloconfig.IntBetween(&b.MaxConnections, 0, 1<<20),
			"Connections to the API that are served at a time; further ones wait. 0: no bound, here and in the next two."),
		NewSetting(g, "max_connections_per_client", osloconfig.IntBetween(&b.MaxConnectionsPerClient, 0, 1<<20),
			"Connections from one address, trusted proxies excepted; further ones are answered with 503 and closed."),
		NewSetting(g, "max_requests", osloconfig.IntBetween(&b.MaxRequests, 0, 1<<20),
			"Requests under way at a time; further ones are answered with 503."),
		NewSetting(g, "max_body_size", osloconfig.IntBetween(&b.MaxBodySize, 1, 1<<30),
			"Largest body of a request in bytes; more is answered with 413."),
		NewSetting(g, "shutdown_timeout", osloconfig.Seconds(&b.ShutdownTimeout),
			"Time that requests under way have to finish when the service is stopped. 0: no bound."),
	}
}
