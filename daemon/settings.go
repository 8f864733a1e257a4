package daemon

import (
	"crypto/tls"
	"errors"
	"log/slog"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
)

// frontSettings converts the settings of the handlers in front of the API, whose errors have the
// given format.
func frontSettings(cfg *config.Service, g *Guard, as httpapi.Format) httpserver.FrontSettings {
	return httpserver.FrontSettings{
		MaxRequests:     cfg.Berth.MaxRequests,
		Prefix:          cfg.Berth.PathPrefix,
		Hosts:           g.hosts(cfg),
		Forwarded:       cfg.Proxy.EnableProxyHeadersParsing,
		Proxies:         proxies(cfg),
		Refuse:          httpapi.Refusal(as),
		CompressMinSize: cfg.Berth.CompressMinSize,
	}
}

// limitSettings converts the bounds of connections. Trusted proxies are exempt from the bound for
// one address: the connections of all clients come from theirs.
func limitSettings(cfg *config.Service) httpserver.LimitSettings {
	return httpserver.LimitSettings{
		Max:       cfg.Berth.MaxConnections,
		PerClient: cfg.Berth.MaxConnectionsPerClient,
		Exempt:    proxies(cfg),
	}
}

func proxies(cfg *config.Service) httpserver.Proxies {
	networks, unix := cfg.Berth.ProxyNetworks()
	return httpserver.Proxies{Networks: networks, Unix: unix}
}

// tlsFiles returns the files for TLS, and whether TLS is enabled. The error is about a setting
// without one that it needs.
func tlsFiles(cfg *config.Service) (files httpserver.TLSFiles, enabled bool, err error) {
	b := &cfg.Berth
	if (b.TLSCertFile == "") != (b.TLSKeyFile == "") {
		return files, false, errors.New("[berth] tls_cert_file and tls_key_file: set both or none")
	}
	if b.TLSCertFile == "" && b.TLSClientCAFile != "" {
		return files, false, errors.New("[berth] tls_client_ca_file: clients can show certificates only when tls_cert_file " +
			"and tls_key_file are set too")
	}
	if b.TLSCertFile == "" && b.TLSAgentCAFile != "" {
		return files, false, errors.New("[berth] tls_agent_ca_file: agents can show certificates only when tls_cert_file " +
			"and tls_key_file are set too")
	}
	files = httpserver.TLSFiles{
		Cert: b.TLSCertFile, Key: b.TLSKeyFile, ClientCA: b.TLSClientCAFile, AgentCA: b.TLSAgentCAFile,
		MinVersion: tls.VersionTLS12,
	}
	if b.TLSMinVersion == config.TLS13 {
		files.MinVersion = tls.VersionTLS13
	}
	return files, b.TLSCertFile != "", nil
}

// loadCertificates returns the certificates for TLS, nil when it is disabled.
func loadCertificates(cfg *config.Service, log *slog.Logger, m *httpserver.Metrics) (*httpserver.Certificates, error) {
	files, enabled, err := tlsFiles(cfg)
	if err != nil || !enabled {
		return nil, err
	}
	return httpserver.LoadCertificates(files, log, m)
}
