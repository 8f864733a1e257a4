package httpserver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// TLSFiles are the paths of the files for TLS, all in PEM format.
type TLSFiles struct {
	Cert     string // the service's certificate and those of the authorities between
	Key      string // its private key
	ClientCA string // authorities of the clients' certificates; "" requires none
	// AgentCA are the authorities of agents' certificates, which replace a token, see
	// Certificates.Agent; "": all need tokens.
	AgentCA string

	MinVersion uint16 // tls.VersionTLS12, which 0 stands for, or later
}

// Certificates has the certificates of TLSFiles and reloads changed files while they are in use: a
// handshake checks them, at most once a second. On an error the certificates in use stay. Existing
// connections are unaffected. It may be used concurrently.
type Certificates struct {
	log     *slog.Logger
	metrics *Metrics

	current  atomic.Pointer[tls.Config]
	agents   atomic.Pointer[x509.CertPool] // of AgentCA; nil without
	nextLook atomic.Int64                  // in Unix nanoseconds

	mu    sync.Mutex // guards all below; locked while loading
	files TLSFiles
	seen  []stamp // of the files at the last attempt to load them
}

// certificateInterval is the least time between two checks of the files.
const certificateInterval = time.Second

// LoadCertificates reads the files; an expired certificate is only warned about. Metrics may be
// nil, and so may log, which gets a line for each later change.
func LoadCertificates(files TLSFiles, log *slog.Logger, m *Metrics) (*Certificates, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Certificates{log: log, metrics: m.orUnread(), files: files}
	c.nextLook.Store(time.Now().Add(certificateInterval).UnixNano())
	return c, c.load(files)
}

// Reload reads the files, which may have other paths than before. On an error, and for an expired
// certificate, the certificates in use stay.
func (c *Certificates) Reload(files TLSFiles) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.load(files)
}

// load reads files and puts them into effect; the caller has locked mu. On an error the
// certificates in use stay. The stamps of the same paths are noted all the same, so that a broken
// file is read, and logged, once for each of its changes. After an error with other paths the old
// paths are watched on.
func (c *Certificates) load(files TLSFiles) error {
	seen := stamps(files)
	cfg, agents, err := files.config()
	if err == nil {
		err = c.judge(cfg, files.Cert)
	}
	c.metrics.loadedCertificate(cfg, err)
	if err == nil || files == c.files {
		c.files, c.seen = files, seen
	}
	if err == nil {
		c.current.Store(cfg)
		c.agents.Store(agents)
	}
	return err
}

// judge refuses an expired certificate when another one is in use. At the start it is used with a
// warning, since there is no other.
func (c *Certificates) judge(cfg *tls.Config, path string) error {
	expiry := cfg.Certificates[0].Leaf.NotAfter
	if time.Now().Before(expiry) {
		return nil
	}
	if c.current.Load() == nil {
		c.log.Warn("the TLS certificate is out of date", "file", path, "expired", expiry)
		return nil
	}
	return fmt.Errorf("the certificate %s is out of date since %s", path, expiry.UTC())
}

// look reads the files again if they have changed. One handshake does so while
// the others go on with the certificates there are.
func (c *Certificates) look(now time.Time) {
	next := c.nextLook.Load()
	if now.UnixNano() < next || !c.nextLook.CompareAndSwap(next, now.Add(certificateInterval).UnixNano()) ||
		!c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if slices.Equal(c.seen, stamps(c.files)) {
		return
	}
	if err := c.load(c.files); err != nil {
		c.log.Error("the TLS files changed and cannot be used: the certificate stays as it was", "error", err)
		return
	}
	c.log.Info("the TLS files changed and are in force", "expires", c.current.Load().Certificates[0].Leaf.NotAfter)
}

// server returns a configuration for tls.Server that always has the newest
// certificates and offers the protocols.
//
// It is cloned for each handshake since the listeners that share the certificates offer different
// protocols.
func (c *Certificates) server(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c.look(time.Now())
			cfg := c.current.Load().Clone()
			cfg.NextProtos = protocols
			return cfg, nil
		},
	}
}

// Agent returns the names of the hosts in the certificate of a request's client, and whether one of
// the authorities in AgentCA has issued it: the DNS names, or the common name without any.
func (c *Certificates) Agent(r *http.Request) (hosts []string, ok bool) {
	roots := c.agents.Load()
	if roots == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, false
	}
	leaf, between := r.TLS.PeerCertificates[0], x509.NewCertPool()
	for _, other := range r.TLS.PeerCertificates[1:] {
		between.AddCert(other)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return nil, false
	}
	hosts = slices.Clone(leaf.DNSNames)
	if len(hosts) == 0 && leaf.Subject.CommonName != "" {
		hosts = []string{leaf.Subject.CommonName}
	}
	return hosts, len(hosts) > 0
}

// config reads the files. A client with an agent's certificate may present it; ClientCA decides
// whether all clients must present one. With both, the handshake admits certificates of either's
// authorities, and Agent verifies again which of them has issued one. TLS is 1.2 or later whatever
// MinVersion says. A key that does not belong to the certificate is an error.
func (f TLSFiles) config() (cfg *tls.Config, agents *x509.CertPool, err error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the certificate %s and its key %s: %w", f.Cert, f.Key, err)
	}
	cfg = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: max(f.MinVersion, tls.VersionTLS12)}
	if f.AgentCA != "" {
		if agents, err = readAuthorities(f.AgentCA); err != nil {
			return cfg, nil, err
		}
		cfg.ClientAuth, cfg.ClientCAs = tls.VerifyClientCertIfGiven, agents
	}
	if f.ClientCA == "" {
		return cfg, agents, nil
	}
	cfg.ClientAuth = tls.RequireAndVerifyClientCert
	cfg.ClientCAs, err = readAuthorities(f.ClientCA, f.AgentCA)
	return cfg, agents, err
}

// readAuthorities reads the certificates in files, of which those without a name are
// none.
func readAuthorities(paths ...string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for _, path := range paths {
		if path == "" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading the authorities of clients: %w", err)
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("reading the authorities of clients: %s has no certificate in PEM format", path)
		}
	}
	return pool, nil
}

// A stamp detects whether a file has changed. The target of a link is part of it: tools that renew
// certificates put another file behind the link, which may have the same size and time.
type stamp struct {
	name    string // what the path is a link to
	changed time.Time
	size    int64
	missing bool
}

// stamps returns those of all files that are named.
func stamps(f TLSFiles) []stamp {
	var all []stamp
	for _, path := range []string{f.Cert, f.Key, f.ClientCA, f.AgentCA} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			all = append(all, stamp{name: path, missing: errors.Is(err, fs.ErrNotExist)})
			continue
		}
		target, _ := os.Readlink(path) // "" for a file that is no link
		all = append(all, stamp{target, info.ModTime(), info.Size(), false})
	}
	return all
}
