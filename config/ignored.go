package config

import (
	"strings"

	"github.com/berthcloud/berth/osloconfig"
)

// logLevels are the levels upstream sets for the loggers of its libraries.
const logLevels = "amqp=WARN,amqplib=WARN,boto=WARN,qpid=WARN,sqlalchemy=WARN,suds=INFO,oslo.messaging=INFO," +
	"oslo_messaging=INFO,iso8601=WARN,requests.packages.urllib3.connectionpool=WARN,urllib3.connectionpool=WARN," +
	"websocket=WARN,requests.packages.urllib3.util.retry=WARN,urllib3.util.retry=WARN,keystonemiddleware=WARN," +
	"routes.middleware=WARN,stevedore=WARN,taskflow=WARN,keystoneauth=WARN,oslo.cache=INFO,oslo_policy=INFO," +
	"dogpile.core.dogpile=INFO,routes=INFO"

// Defaults of ignored options.
func off() osloconfig.Value                 { return osloconfig.Bool(new(bool)) }
func on() osloconfig.Value                  { return osloconfig.Bool(new(true)) }
func text(s string) osloconfig.Value        { return osloconfig.String(&s) }
func number(n int) osloconfig.Value         { return osloconfig.Int(&n) }
func maybeNumber() osloconfig.Value         { return osloconfig.OptionalInt(new(*int)) }
func hidden() osloconfig.Value              { return osloconfig.Hidden(new(osloconfig.Secret)) }
func list(words ...string) osloconfig.Value { return osloconfig.List(&words) }
func decimal(f float64) osloconfig.Value    { return osloconfig.Float(&f) }

// logging describes the options of oslo.log in [DEFAULT] that Berth ignores.
func logging() []Setting {
	const g = groupDefault
	return []Setting{
		ignored(g, "log_options", osloconfig.Bool(new(true)), "Log all settings at the start, at debug level."),
		ignored(g, "log_config_append", text(""), "Python logging configuration file.").formerly("log-config", "log_config"),
		ignored(g, "log_date_format", text("%Y-%m-%d %H:%M:%S"), "Format of the time in log lines."),
		ignored(g, "log_color", off(), "Colours by level."),
		ignored(g, "use_syslog", off(), "Log to syslog."),
		ignored(g, "use_journal", off(), "Log to the systemd journal."),
		ignored(g, "syslog_log_facility", text("LOG_USER"), "Facility in syslog."),
		ignored(g, "use_stderr", off(), "Log to standard error too."),
		ignored(g, "use_eventlog", off(), "Log to the event log of Windows."),
		ignored(g, "log_rotate_interval", number(1), "Length of a rotation interval."),
		ignored(g, "log_rotate_interval_type", osloconfig.FoldChoice(new("days"),
			"Seconds", "Minutes", "Hours", "Days", "Weekday", "Midnight"), "Unit of the rotation interval."),
		ignored(g, "max_logfile_count", number(30), "Rotated files to keep."),
		ignored(g, "max_logfile_size_mb", number(200), "Size at which a file is rotated."),
		ignored(g, "log_rotation_type", osloconfig.FoldChoice(new("none"), "interval", "size", "none"), "When log files are rotated."),
		ignored(g, "logging_context_format_string", text("%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s "+
			"[%(global_request_id)s %(request_id)s %(user_identity)s] %(instance)s%(message)s"), "Format of lines about a request."),
		ignored(g, "logging_default_format_string", text("%(asctime)s.%(msecs)03d %(process)d %(levelname)s %(name)s [-] %(instance)s%(message)s"),
			"Format of other lines."),
		ignored(g, "logging_debug_format_suffix", text("%(funcName)s %(pathname)s:%(lineno)d"), "What debug lines end with."),
		ignored(g, "logging_exception_prefix", text("%(asctime)s.%(msecs)03d %(process)d ERROR %(name)s %(instance)s"), "What lines of a Python traceback begin with."),
		ignored(g, "logging_user_identity_format", text("%(user)s %(project)s %(domain)s %(system_scope)s %(user_domain)s %(project_domain)s"),
			"Format of the caller in log lines."),
		ignored(g, "default_log_levels", osloconfig.List(new(strings.Split(logLevels, ","))), "Levels of Python loggers."),
		ignored(g, "publish_errors", off(), "Send errors as notifications."),
		ignored(g, "instance_format", text("[instance: %(uuid)s] "), "Format of a server in log lines."),
		ignored(g, "instance_uuid_format", text("[instance: %(uuid)s] "), "Format of a server's id in log lines."),
		ignored(g, "rate_limit_interval", number(0), "Seconds over which log lines are counted."),
		ignored(g, "rate_limit_burst", number(0), "Log lines allowed in that time."),
		ignored(g, "rate_limit_except_level", text("CRITICAL"), "Level that is not counted."),
		ignored(g, "fatal_deprecations", off(), "Fail on the use of anything deprecated."),
	}
}

// tokenCache describes the options of upstream's token check about Memcached and plugins that Berth
// does not have.
func tokenCache() []Setting {
	const g = groupKeystone
	return []Setting{
		ignored(g, "cache", text(""), "WSGI environment key of a Swift cache."),
		ignored(g, "memcache_security_strategy", osloconfig.FoldChoice(new("None"), "None", "MAC", "ENCRYPT"), "How cached tokens are protected."),
		ignored(g, "memcache_secret_key", hidden(), "Key for that protection."),
		ignored(g, "memcache_pool_dead_retry", number(300), "Seconds before a dead Memcached server is tried again."),
		ignored(g, "memcache_pool_maxsize", number(10), "Connections to a Memcached server."),
		ignored(g, "memcache_pool_socket_timeout", number(3), "Seconds to wait for a Memcached server."),
		ignored(g, "memcache_pool_unused_timeout", number(60), "Seconds an unused connection stays open."),
		ignored(g, "memcache_pool_conn_get_timeout", number(10), "Seconds to wait for a free connection."),
		ignored(g, "memcache_use_advanced_pool", osloconfig.Bool(new(true)), "Kind of connection pool."),
		ignored(g, "memcache_sasl_enabled", osloconfig.Bool(new(bool)), "Log in to Memcached."),
		ignored(g, "memcache_username", text(""), "User at Memcached."),
		ignored(g, "memcache_password", hidden(), "Password at Memcached."),
		ignored(g, "memcache_tls_enabled", osloconfig.Bool(new(bool)), "Encrypt connections to Memcached."),
		ignored(g, "memcache_tls_cafile", text(""), "Authorities for Memcached's certificate."),
		ignored(g, "memcache_tls_certfile", text(""), "Client certificate for Memcached."),
		ignored(g, "memcache_tls_keyfile", text(""), "Key of that certificate."),
		ignored(g, "memcache_tls_allowed_ciphers", text(""), "Ciphers for Memcached."),
		ignored(g, "include_service_catalog", osloconfig.Bool(new(true)), "Ask Keystone for the catalogue with each token. Placement does not need it."),
		ignored(g, "enforce_token_bind", text("permissive"), "How tokens bound to a client are checked. Berth refuses them; Keystone has stopped making them."),
		ignored(g, "collect_timing", osloconfig.Bool(new(bool)), "Measure requests to Keystone."),
		ignored(g, "split_loggers", osloconfig.Bool(new(bool)), "Log requests to Keystone to several loggers."),
	}
}

// processes describes the options of oslo.service in [DEFAULT].
func processes() []Setting {
	const g = groupDefault
	return []Setting{
		ignored(g, "run_external_periodic_tasks", on(), "Let some periodic tasks run elsewhere."),
		ignored(g, "backdoor_port", text(""), "Port of a Python console."),
		ignored(g, "backdoor_socket", text(""), "Socket of a Python console."),
		ignored(g, "graceful_shutdown_timeout", number(60), "Seconds for requests under way at the end. See [berth] shutdown_timeout."),
	}
}

// messaging describes the options of oslo.messaging in [DEFAULT], which Berth ignores: it uses HTTP
// between services, agents and hosts. The exchange is named after the service. The time-out of
// answers is left to the service.
func messaging(exchange string) []Setting {
	const g = groupDefault
	return []Setting{
		ignored(g, "transport_url", osloconfig.Hidden(new(osloconfig.Secret("rabbit://"))), "Message broker. Berth needs none."),
		ignored(g, "control_exchange", text(exchange), "Exchange at the broker."),
		ignored(g, "rpc_conn_pool_size", number(30), "Connections to the broker."),
		ignored(g, "conn_pool_min_size", number(2), "Connections to the broker that stay open."),
		ignored(g, "conn_pool_ttl", number(1200), "Seconds an idle one stays open."),
		ignored(g, "executor_thread_pool_size", number(64), "Threads for messages.").formerly("rpc_thread_pool_size"),
		ignored(g, "rpc_ping_enabled", off(), "Answer to pings."),
	}
}
