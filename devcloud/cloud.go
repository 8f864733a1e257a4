// Package devcloud runs a whole cloud in one process on one machine, to try it: the services, small
// identity and image services, and hosts with their agents, with the example of OpenStack's guide
// to guaranteed minimum bandwidth loaded. It is "berth up" without the flags, and not for
// production: passwords are sent over HTTP.
//
// [Run] starts the services in the order of their dependencies, loads the example, prints a page
// that says what to try, and serves until the context ends; [RunGuide] plays the guide's steps
// instead. Services talk to each other as in production, by REST with tokens of the identity
// service. One call between a host and a service stays in the process: it reports its plugged-in
// ports to the network service, as a network agent would.
//
//	cloud.go                   start and end
//	identity.go, login.go      users, passwords and tokens; files for the openstack client
//	hosts.go, agents.go        hosts and their agents
//	netns.go                   servers as network namespaces (--driver netns)
//	guide.go, page.go          the guide: played, and printed
//	images.go, log.go, operators.go, console.go
//
// Everything is kept in one directory: databases, passwords, logs, and the files that a user edits.
package devcloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/berthcloud/berth/agent/driver/netns"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/identityapi"
	"github.com/berthcloud/berth/httpapi/imageapi"
	"github.com/berthcloud/berth/identity/hostkey"
	"github.com/berthcloud/berth/identity/local"
	"github.com/berthcloud/berth/internal/gcpolicy"
	"github.com/berthcloud/berth/osloconfig"
)

// Options are the options of a cloud, the flags of "berth up".
type Options struct {
	// The addresses of the services, HOST:PORT.
	Listen, NetworkListen, IdentityListen, ImageListen, ComputeListen string

	MetricsListen string // "" is nowhere

	Hosts  int    // 1 to MaxHosts, with Netns MaxNetnsHosts
	Driver string // Fake or Netns
	// NUMAHosts is how many of the hosts, the last ones, report their NUMA nodes to placement.
	NUMAHosts int

	Remote       bool     // other machines may reach it
	AllowedHosts []string // names of this machine that they may use

	Data  string // the directory of databases and files, "" for one in the user's data directory
	Reset bool   // begin again: empty databases, new passwords, the agents and images of the example

	Verbose bool // the services log to the terminal, and not to a file
}

// An Address is the address of a service, with the flag that sets it.
type Address struct {
	Service, Flag string
	Listen        *string
	Usual         string // the default
}

// Addresses returns the addresses of all services, in the order of the output. Listen points into
// o.
func (o *Options) Addresses() []Address {
	return []Address{
		{"placement", "listen", &o.Listen, "127.0.0.1:8778"},
		{"network", "network-listen", &o.NetworkListen, daemon.TrialNetworkAddress},
		{"compute", "compute-listen", &o.ComputeListen, "127.0.0.1:8774"},
		{"identity", "identity-listen", &o.IdentityListen, "127.0.0.1:5000"},
		{"image", "image-listen", &o.ImageListen, "127.0.0.1:9292"},
	}
}

// MaxHosts is the greatest number of hosts in one process.
const MaxHosts = 1000

// A cloud is a running "berth up": all services, and the agents of its hosts.
type cloud struct {
	process daemon.Process
	opts    Options
	dir     string
	log     *slog.Logger // of messages that belong to no service

	output    *upOutput // that all services share
	directory *local.Directory
	passwords passwords
	hostKeys  hostkey.Keys
	identity  *daemon.Server
	images    *daemon.Server
	placement *daemon.PlacementServer
	network   *daemon.NetworkServer
	compute   *daemon.ComputeServer
	operators *daemon.Operators // nil without an address for them
	console   lateHandler       // at /console of the placement service
	// consoleKey is the query string that begins a session of the console, "" when it needs none.
	consoleKey string
	// computeURL is the address of the compute service, nil before it has one.
	computeURL atomic.Value

	// lab is the network of the hosts, and servers are their drivers: nil unless servers are
	// network namespaces.
	lab     *netns.Lab
	labLock net.Listener             // open while there is the lab
	servers map[string]*netns.Driver // by host

	mu   sync.Mutex
	ends []func() // of the hosts and agents
}

// RunGuide plays the guide in a temporary cloud with ports of its own, and prints the steps to out.
// The error is a [daemon.Failure].
func RunGuide(ctx context.Context, p daemon.Process, out io.Writer, opts Options) error {
	dir, err := os.MkdirTemp("", "berth-guide-")
	if err != nil {
		return daemon.Fail(daemon.Failed, err)
	}
	defer os.RemoveAll(dir)
	opts.Data = dir
	for _, a := range opts.Addresses() { // ports that no other process has
		*a.Listen = "127.0.0.1:0"
	}
	if !opts.Verbose {
		p.Stderr = io.Discard // the services' warnings: the guide itself prints its errors
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var played error
	err = serve(ctx, p, opts, func(c *cloud, ctx context.Context) {
		if played = c.playGuide(ctx, out); played != nil {
			played = daemon.Fail(daemon.Failed, fmt.Errorf("playing the guide: %w", played))
		}
		stop()
	})
	return errors.Join(err, played)
}

// Run runs a cloud until ctx ends. Once everything is ready, it prints to out where the services
// are, how to log in and what to try. The error is a [daemon.Failure].
func Run(ctx context.Context, p daemon.Process, out io.Writer, opts Options) error {
	return serve(ctx, p, opts, func(c *cloud, _ context.Context) {
		fmt.Fprint(out, c.page()) // the cloud serves whether or not the page can be printed
	})
}

// serve runs a cloud until ctx ends. It calls then once everything is ready.
func serve(ctx context.Context, p daemon.Process, opts Options, then func(*cloud, context.Context)) error {
	dir, err := dataDir(p, opts)
	if err != nil {
		return daemon.Fail(daemon.WrongSettings, err)
	}
	output, err := opts.openLog(p, dir)
	if err != nil {
		return daemon.Fail(daemon.Failed, err)
	}
	defer output.Close()
	c := &cloud{process: p, opts: opts, dir: dir, log: output.Logger(daemon.UpLog), output: output}
	defer c.close()
	if err := c.start(ctx); err != nil {
		return err
	}
	defer gcpolicy.Start(p.Getenv)()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- c.serve(ctx) }()
	if err := c.load(ctx); err != nil {
		stop()
		return errors.Join(daemon.Fail(daemon.Failed, fmt.Errorf("loading the example: %w", err)), <-served)
	}
	_ = output.Flush() // the following output comes after the log's
	then(c, ctx)
	return <-served
}

// start starts the services, each after those that it depends on. The error is a [daemon.Failure].
func (c *cloud) start(ctx context.Context) (err error) {
	if c.passwords, err = loadPasswords(c.dir, c.opts.Reset); err != nil {
		return daemon.Fail(daemon.Failed, err)
	}
	token, err := loadSecret(filepath.Join(c.dir, tokenFile), "", c.opts.Reset)
	if err != nil {
		return daemon.Fail(daemon.Failed, err)
	}
	secret, err := loadSecret(filepath.Join(c.dir, hostsFile), hostsSettings, c.opts.Reset)
	if err != nil {
		return daemon.Fail(daemon.Failed, err)
	}
	c.hostKeys = hostkey.New(secret)
	if err := c.startLab(ctx); err != nil {
		return err
	}
	c.directory = newDirectory(c.passwords, token)
	trust := daemon.Dependencies{
		Authenticate: identityapi.Authenticate(c.directory), Empty: c.opts.Reset,
		Guard: &daemon.Guard{
			Remote: c.opts.Remote,
			Advice: "passwords and tokens go over the network without TLS; accept the danger with --allow-remote-without-tls",
		},
	}
	if c.identity, err = daemon.StartAPI(ctx, c.process, c.listening(c.opts.IdentityListen), "Identity", httpapi.Config{
		Service: "identity", Routes: (&identityapi.API{Directory: c.directory}).Routes(), Public: identityapi.Public,
		Problem: identityapi.Problem,
	}, c.output.Logger(daemon.IdentityLog), trust); err != nil {
		return atFlag(err, "identity", "identity-listen")
	}
	catalog, err := c.loadImages()
	if err != nil {
		return daemon.Fail(daemon.WrongSettings, err)
	}
	if c.images, err = daemon.StartAPI(ctx, c.process, c.listening(c.opts.ImageListen), "Image", httpapi.Config{
		Service: "image", Routes: (&imageapi.API{Catalog: catalog}).Routes(), Public: imageapi.Public,
		Problem: imageapi.Problem,
	}, c.output.Logger(daemon.ImageLog), trust); err != nil {
		return atFlag(err, "image", "image-listen")
	}
	places := config.DefaultPlacement()
	c.listening(c.opts.Listen)(&places.Berth)
	places.Database.Connection = c.database("placement.db")
	placementLog := c.output.Logger(daemon.PlacementLog)
	trust.Console = &c.console
	if c.placement, err = daemon.StartPlacement(ctx, c.process, places, placementLog, trust); err != nil {
		return atFlag(err, "placement", "listen")
	}
	networks := config.DefaultNetwork()
	daemon.TrialNetwork(networks)
	c.listening(c.opts.NetworkListen)(&networks.Berth)
	networks.Berth.HostKeySecret = osloconfig.Secret(secret)
	networks.Neutron.ServicePlugins = append(networks.Neutron.ServicePlugins, config.PluginPlacement)
	networks.Database.Connection, networks.Database.SyncOnStartup = c.database("network.db"), true
	trust.AgentID = upAgentID
	trust.Access = map[string]client.Access{
		"placement": c.login(upNetwork, func() string { return c.url(&c.placement.Server) }),
		"compute":   c.login(upNetwork, func() string { addr, _ := c.computeURL.Load().(string); return addr }),
	}
	networkLog := c.output.Logger(daemon.NetworkLog)
	if c.network, err = daemon.StartNetwork(ctx, c.process, networks, networkLog, trust); err != nil {
		return atFlag(err, "network", "network-listen")
	}
	if err := c.startCompute(ctx, secret, trust); err != nil {
		return err
	}
	return atFlag(c.listenForOperators(ctx, trust.Guard), "metrics", "metrics-listen")
}

// atFlag adds to the error of a service that cannot listen which service it is, and the flag that
// changes its address. Other errors are returned as they are.
func atFlag(err error, service, flag string) error {
	var f *daemon.Failure
	if !errors.As(err, &f) || f.Cause != daemon.AddressUnusable {
		return err
	}
	return daemon.Fail(daemon.AddressUnusable,
		fmt.Errorf("the %s service cannot have its address, which --%s changes: %w", service, flag, err))
}

// listening sets the address of a service, and the accepted names of this machine.
func (c *cloud) listening(address string) func(*config.Berth) {
	return func(b *config.Berth) { b.Listen, b.AllowedHosts = address, c.opts.AllowedHosts }
}

// startCompute starts the compute service with clients of the others.
func (c *cloud) startCompute(ctx context.Context, secret string, g daemon.Dependencies) error {
	computes := config.DefaultCompute()
	c.listening(c.opts.ComputeListen)(&computes.Berth)
	computes.Berth.HostKeySecret = osloconfig.Secret(secret)
	computes.Database.Connection, computes.Database.SyncOnStartup = c.database("compute.db"), true
	g.Access, g.SingleProcess = map[string]client.Access{}, true
	for kind, s := range map[string]*daemon.Server{
		"placement": &c.placement.Server, "network": &c.network.Server, "image": c.images,
	} {
		g.Access[kind] = c.login(upCompute, func() string { return c.url(s) })
	}
	s, err := daemon.StartCompute(ctx, c.process, computes, c.output.Logger(daemon.ComputeLog), g)
	if err != nil {
		return atFlag(err, "compute", "compute-listen")
	}
	c.compute = s
	c.computeURL.Store(c.url(&s.Server) + "/v2.1")
	return nil
}

// database returns the URL of a SQLite file in the directory.
func (c *cloud) database(name string) osloconfig.Secret {
	return osloconfig.Secret("sqlite:///" + filepath.Join(c.dir, name)) // which is absolute: four slashes
}

// serve runs the services until ctx ends or one of them does, and ends them in stages: clients
// before the services that they use.
func (c *cloud) serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var errs []error
	var mu sync.Mutex
	var ending []func() // one stage after the other
	stage := func(runs ...func(context.Context) error) {
		its, end := context.WithCancel(context.WithoutCancel(ctx))
		var all sync.WaitGroup
		for _, run := range runs {
			all.Go(func() {
				err := run(its)
				stop()
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			})
		}
		ending = append(ending, func() { end(); all.Wait() })
	}
	stage(func(ctx context.Context) error {
		<-ctx.Done()
		c.endHosts()
		return nil
	})
	stage(c.compute.Run)
	stage(c.network.Run)
	stage(c.placement.Run, c.identity.Run, c.images.Run)
	<-ctx.Done()
	for _, end := range ending {
		end()
	}
	return errors.Join(errs...)
}

// endHosts ends hosts and agents. It may be called while the example is being loaded: what is
// started later is ended by the next call.
func (c *cloud) endHosts() {
	c.mu.Lock()
	ends := c.ends
	c.ends = nil
	c.mu.Unlock()
	for _, end := range ends {
		end()
	}
}

// keep registers a function that is called when the hosts end.
func (c *cloud) keep(end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(c.ends, end)
}

// load loads the example: flavors, the catalogue, hosts and agents. It returns when placement has
// the devices of the agents, and writes the files for the openstack client last, since other
// processes wait for these.
func (c *cloud) load(ctx context.Context) error {
	if err := c.loadFlavor(ctx); err != nil {
		return err
	}
	for _, s := range []local.Service{
		{Type: "identity", Name: "keystone", URL: c.offered(c.identity) + "/v3"},
		{Type: "placement", Name: "placement", URL: c.offered(&c.placement.Server)},
		{Type: "network", Name: "neutron", URL: c.offered(&c.network.Server)},
		{Type: "image", Name: "glance", URL: c.offered(c.images)},
		{Type: "compute", Name: "nova", URL: c.offered(&c.compute.Server) + "/v2.1"},
	} {
		c.directory.Offer(s)
	}
	for n := range c.opts.Hosts {
		end, err := c.startHost(ctx, n)
		if err != nil {
			return err
		}
		c.keep(end)
		if n > 0 && c.lab == nil {
			continue
		}
		if end, err = c.startAgents(ctx, n); err != nil { // below the first host, before there are others
			return err
		}
		c.keep(end)
	}
	end, err := c.startOtherAgents(ctx)
	if err != nil {
		return err
	}
	c.keep(end)
	if err := c.writeFiles(); err != nil { // last, since other processes wait for these files
		return err
	}
	return c.startConsole(ctx)
}

// url is the address of a service on this machine.
func (c *cloud) url(s *daemon.Server) string { return "http://" + reached(s.Addr(), "localhost") }

// offered is the address of a service for its users.
func (c *cloud) offered(s *daemon.Server) string {
	return "http://" + reached(s.Addr(), c.publicName())
}

// publicName is the name of this machine for users of services that listen on all addresses.
func (c *cloud) publicName() string {
	if len(c.opts.AllowedHosts) == 0 {
		return "localhost"
	}
	return c.opts.AllowedHosts[0]
}

// reached is where an address is reached, at a name when it listens on all addresses.
func reached(addr net.Addr, name string) string {
	if local, ok := addr.(*net.TCPAddr); ok && local.IP.IsUnspecified() {
		return net.JoinHostPort(name, strconv.Itoa(local.Port))
	}
	return addr.String()
}

// close ends everything that was started, in reverse order. It may be called more than once.
func (c *cloud) close() {
	c.endHosts()
	c.endLab()
	if c.operators != nil {
		_ = c.operators.Close() // scrapes need not be completed
	}
	if c.compute != nil {
		c.compute.Close()
	}
	if c.network != nil {
		c.network.Close()
	}
	if c.placement != nil {
		c.placement.Close()
	}
	if c.images != nil {
		c.images.Close()
	}
	if c.identity != nil {
		c.identity.Close()
	}
}

// dataDir returns the directory of the cloud, which it creates with access for its owner only.
func dataDir(p daemon.Process, opts Options) (string, error) {
	dir := opts.Data
	if dir == "" {
		base, err := daemon.DataDir(p.Getenv)
		if err != nil {
			return "", err
		}
		dir = filepath.Join(base, "up")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}
