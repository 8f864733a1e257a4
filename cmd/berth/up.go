package main

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

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/agent/driver/netns"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/daemon"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/identityapi"
	"github.com/berthcloud/berth/httpapi/imageapi"
	"github.com/berthcloud/berth/identity/local"
	"github.com/berthcloud/berth/inprocess"
	"github.com/berthcloud/berth/osloconfig"
)

// upOptions are the flags of "berth up".
type upOptions struct {
	listen, networkListen, identityListen, imageListen, computeListen string

	metricsListen string // "" is nowhere

	hosts  int
	driver string

	remote       bool     // other machines may reach it
	allowedHosts []string // names of this machine that they may use

	data  string
	reset bool

	verbose  bool // the services log to the terminal, and not to a file
	runGuide bool
}

// An upAddress is the address of a service, and its flag.
type upAddress struct {
	service, flag string
	listen        *string
	usual         string // the default
}

// addresses are those of all services, in the order of the output.
func (o *upOptions) addresses() []upAddress {
	return []upAddress{
		{"placement", "listen", &o.listen, "127.0.0.1:8778"},
		{"network", "network-listen", &o.networkListen, daemon.TrialNetworkAddress},
		{"compute", "compute-listen", &o.computeListen, "127.0.0.1:8774"},
		{"identity", "identity-listen", &o.identityListen, "127.0.0.1:5000"},
		{"image", "image-listen", &o.imageListen, "127.0.0.1:9292"},
	}
}

// apart sets the options of a separate cloud, in a directory and at ports that no other process
// has.
func (o *upOptions) apart(dir string) {
	o.data = dir
	for _, a := range o.addresses() {
		*a.listen = "127.0.0.1:0"
	}
}

func newUp(env environment) *cobra.Command {
	var opts upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run Berth on this machine with an example loaded, to try it",
		Long: `Up serves the Placement, Networking and Compute APIs on this machine only, with
the host devstack0 of OpenStack's guide to guaranteed minimum bandwidth: a
compute host, its Open vSwitch agent with the bridge br-physnet0 and its NIC
Switch agent with the network card ens5. The agents report the devices in the
file devstack0.ini, which may be edited. Servers are only recorded: nothing runs
on the host.

With --driver netns, as root on Linux, servers are network namespaces, and so is
devstack0, with a bridge and a network card whose links carry 500 Mbit/s to the
namespaces berth-outside-bridge and berth-outside-nic. Its agents enforce the
policies of ports, and guarantees can be measured with iperf3.

The users admin and demo of the project demo log in at an identity service, a
small part of Keystone, with clouds.yaml, admin-openrc and demo-openrc in the
directory of the databases. An image service, a small part of Glance, lists the
images of the file images.json there; they have no data.

Up prints the addresses of the services, how to log in and what to try. Requests
are logged in the file berth.log in the same directory, or shown with --verbose;
warnings and errors are always shown.

Passwords, and a token for curl in the file token, are generated at the first
start and readable by their owner only; --reset generates new ones. They are
sent without TLS: addresses that other machines can reach are refused without
--allow-remote-without-tls, and so are requests whose Host header names a host
other than loopback, the address or --allowed-host.

Changes are kept for the next start; --reset deletes them.

` + exitHelp,
		Example: `  berth up
  berth up --listen 127.0.0.1:18778 --data /tmp/berth --reset
  berth up --run-guide`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.runGuide {
				return runGuide(cmd.Context(), env.process(), env.stdout, opts)
			}
			return up(cmd.Context(), env.process(), opts, func(c *cloud, _ context.Context) { fmt.Fprint(env.stdout, c.page()) })
		},
	}
	for _, a := range opts.addresses() {
		cmd.Flags().StringVar(a.listen, a.flag, a.usual, "serve the "+a.service+" API at `HOST:PORT`")
	}
	cmd.Flags().BoolVar(&opts.remote, "allow-remote-without-tls", false, "listen on addresses that other machines can reach; passwords and tokens are sent unencrypted")
	cmd.Flags().StringSliceVar(&opts.allowedHosts, "allowed-host", nil, "answer requests for the host `NAME` too; the first is in the catalogue when listening on all addresses")
	cmd.Flags().StringVar(&opts.metricsListen, "metrics-listen", "", "serve metrics and readiness of all services at `HOST:PORT`, as /placement/metrics and /placement/readyz")
	cmd.Flags().IntVar(&opts.hosts, "hosts", 1, "run `N` hosts: devstack0 with the guide's devices, devstack1 and so on without any")
	cmd.Flags().StringVar(&opts.driver, "driver", upFake, "run servers with `DRIVER`: fake only records them, netns makes them network namespaces with interfaces")
	cmd.Flags().StringVar(&opts.data, "data", "", "keep databases and files in `DIR` (default $XDG_DATA_HOME/berth/up)")
	cmd.Flags().BoolVar(&opts.runGuide, "run-guide", false, "run the steps of the guide in a temporary cloud, and print what happens")
	cmd.Flags().BoolVarP(&opts.verbose, "verbose", "v", false, "show the services' log, requests included, and do not write DIR/"+upLogFile)
	cmd.Flags().BoolVar(&opts.reset, "reset", false, "delete the databases and start with the example, and with new passwords")
	return cmd
}

// maxHosts bounds the hosts of one process.
const maxHosts = 1000

// A cloud is a running "berth up": all services, and the agents of its hosts.
type cloud struct {
	process daemon.Process
	opts    upOptions
	dir     string
	log     *slog.Logger // of messages that belong to no service

	output    *upOutput // that all services share
	directory *local.Directory
	passwords passwords
	identity  *daemon.SmallServer
	images    *daemon.SmallServer
	placement *daemon.PlacementServer
	network   *daemon.NetworkServer
	compute   *daemon.ComputeServer
	operators *daemon.Operators // nil without an address for them
	// computeURL is the address of the compute service, nil before it has one.
	computeURL atomic.Value

	// lab is the network of the guide's host, and servers its driver: nil unless servers are
	// network namespaces.
	lab     *netns.Lab
	labLock net.Listener // open while there is the lab
	servers *netns.Driver

	mu   sync.Mutex
	ends []func() // of the hosts and agents
}

// runGuide plays the guide in a separate cloud.
func runGuide(ctx context.Context, p daemon.Process, out io.Writer, opts upOptions) error {
	dir, err := os.MkdirTemp("", "berth-guide-")
	if err != nil {
		return fail(exitFailure, err)
	}
	defer os.RemoveAll(dir)
	opts.apart(dir)
	if !opts.verbose {
		p.Stderr = io.Discard // the services' warnings: the guide itself prints its errors
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var played error
	err = up(ctx, p, opts, func(c *cloud, ctx context.Context) {
		if played = c.playGuide(ctx, out); played != nil {
			played = fail(exitFailure, fmt.Errorf("playing the guide: %w", played))
		}
		stop()
	})
	return errors.Join(err, played)
}

// up serves until ctx ends. It calls then once everything is ready.
func up(ctx context.Context, p daemon.Process, opts upOptions, then func(*cloud, context.Context)) error {
	if opts.driver != upFake && opts.driver != upNetns {
		return fail(exitUsage, fmt.Errorf("--driver %s: want %s or %s", opts.driver, upFake, upNetns))
	}
	for _, a := range opts.addresses() {
		if err := checkListen(a.flag, *a.listen); err != nil {
			return err
		}
	}
	if opts.hosts < 1 || opts.hosts > maxHosts {
		return fail(exitUsage, fmt.Errorf("--hosts %d: want 1 to %d", opts.hosts, maxHosts))
	}
	dir, err := upDir(p, opts)
	if err != nil {
		return fail(exitUsage, err)
	}
	output, err := opts.openLog(p, dir)
	if err != nil {
		return fail(exitFailure, err)
	}
	defer output.Close()
	c := &cloud{process: p, opts: opts, dir: dir, log: output.Logger(daemon.UpLog), output: output}
	defer c.close()
	if err := c.start(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- c.serve(ctx) }()
	if err := c.load(ctx); err != nil {
		stop()
		return errors.Join(fail(exitFailure, fmt.Errorf("loading the example: %w", err)), <-served)
	}
	_ = output.Flush() // the following output comes after the log's
	then(c, ctx)
	return <-served
}

// start starts the services. An error carries its exit code.
func (c *cloud) start(ctx context.Context) (err error) {
	if c.passwords, err = loadPasswords(c.dir, c.opts.reset); err != nil {
		return fail(exitFailure, err)
	}
	token, err := loadToken(c.dir, c.opts.reset)
	if err != nil {
		return fail(exitFailure, err)
	}
	if err := c.startLab(ctx); err != nil {
		return err
	}
	c.directory = newDirectory(c.passwords, token)
	trust := daemon.Dependencies{
		Authenticate: identityapi.Authenticate(c.directory), Empty: c.opts.reset,
		Guard: &daemon.Guard{Remote: c.opts.remote, Advice: "passwords and tokens go over the network without TLS; accept the danger with --allow-remote-without-tls"},
	}
	if c.identity, err = daemon.StartSmall(ctx, c.process, c.listening(c.opts.identityListen), "Identity", httpapi.Config{
		Service: "identity", Routes: (&identityapi.API{Directory: c.directory}).Routes(), Public: identityapi.Public, Problem: identityapi.Problem,
	}, c.output.Logger(daemon.IdentityLog), trust); err != nil {
		return atFlag(err, "identity", "identity-listen")
	}
	catalog, err := c.loadImages()
	if err != nil {
		return fail(exitUsage, err)
	}
	if c.images, err = daemon.StartSmall(ctx, c.process, c.listening(c.opts.imageListen), "Image", httpapi.Config{
		Service: "image", Routes: (&imageapi.API{Catalog: catalog}).Routes(), Public: imageapi.Public, Problem: imageapi.Problem,
	}, c.output.Logger(daemon.ImageLog), trust); err != nil {
		return atFlag(err, "image", "image-listen")
	}
	places := config.DefaultPlacement()
	c.listening(c.opts.listen)(&places.Berth)
	places.Database.Connection = c.database("placement.db")
	if c.placement, err = daemon.StartPlacement(ctx, c.process, places, c.output.Logger(daemon.PlacementLog), trust); err != nil {
		return atFlag(err, "placement", "listen")
	}
	networks := config.DefaultNetwork()
	daemon.TrialNetwork(networks)
	c.listening(c.opts.networkListen)(&networks.Berth)
	networks.Neutron.ServicePlugins = append(networks.Neutron.ServicePlugins, config.PluginPlacement)
	networks.Database.Connection = c.database("network.db")
	trust.AgentID = upAgentID
	trust.Placement = inprocess.NewPlacement(c.placement.Placement())
	trust.Access = map[string]client.Access{"compute": c.login(upCompute, func() string { at, _ := c.computeURL.Load().(string); return at })}
	if c.network, err = daemon.StartNetwork(ctx, c.process, networks, c.output.Logger(daemon.NetworkLog), trust); err != nil {
		return atFlag(err, "network", "network-listen")
	}
	if err := c.startCompute(ctx, trust); err != nil {
		return err
	}
	return atFlag(c.listenForOperators(ctx, trust.Guard), "metrics", "metrics-listen")
}

// atFlag adds to the error of a service that cannot listen which one it is, and which flag has it
// listen elsewhere. Other errors are returned as they are.
func atFlag(err error, service, flag string) error {
	var f *daemon.Failure
	if !errors.As(err, &f) || f.Cause != daemon.AddressUnusable {
		return err
	}
	return daemon.Fail(daemon.AddressUnusable, fmt.Errorf("the %s service cannot have its address, which --%s changes: %w", service, flag, err))
}

// listening sets the address of a service, and the accepted names of this machine.
func (c *cloud) listening(address string) func(*config.Berth) {
	return func(b *config.Berth) { b.Listen, b.AllowedHosts = address, c.opts.allowedHosts }
}

// daemon.StartCompute starts the compute service with clients of the others.
func (c *cloud) startCompute(ctx context.Context, g daemon.Dependencies) error {
	computes := config.DefaultCompute()
	c.listening(c.opts.computeListen)(&computes.Berth)
	computes.Database.Connection = c.database("compute.db")
	g.Access, g.Alone = map[string]client.Access{}, true
	for kind, s := range map[string]*daemon.Server{"placement": &c.placement.Server, "network": &c.network.Server, "image": &c.images.Server} {
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

// database is the address of a database file of the directory.
func (c *cloud) database(name string) osloconfig.Secret {
	return osloconfig.Secret("sqlite:///" + filepath.Join(c.dir, name)) // which is absolute: four slashes
}

// serve serves until ctx ends or one of the services does, and ends the others: clients before the
// services that they use.
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
	stage(c.runHosts)
	stage(c.compute.Run)
	stage(c.network.Run)
	stage(c.placement.Run, c.identity.Run, c.images.Run)
	<-ctx.Done()
	for _, end := range ending {
		end()
	}
	return errors.Join(errs...)
}

// runHosts runs hosts and agents until ctx ends.
func (c *cloud) runHosts(ctx context.Context) error {
	<-ctx.Done()
	c.endHosts()
	return nil
}

func (c *cloud) endHosts() {
	c.mu.Lock()
	ends := c.ends
	c.ends = nil
	c.mu.Unlock()
	for _, end := range ends {
		end()
	}
}

// keep registers a function to be called when the hosts end.
func (c *cloud) keep(end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(c.ends, end)
}

// load loads the example into the services: the compute host, and its agents, and waits for their
// devices.
func (c *cloud) load(ctx context.Context) error {
	if err := c.loadFlavor(ctx); err != nil {
		return err
	}
	for _, s := range []local.Service{
		{Type: "identity", Name: "keystone", URL: c.offered(&c.identity.Server) + "/v3"},
		{Type: "placement", Name: "placement", URL: c.offered(&c.placement.Server)},
		{Type: "network", Name: "neutron", URL: c.offered(&c.network.Server)},
		{Type: "image", Name: "glance", URL: c.offered(&c.images.Server)},
		{Type: "compute", Name: "nova", URL: c.offered(&c.compute.Server) + "/v2.1"},
	} {
		c.directory.Offer(s)
	}
	for n := range c.opts.hosts {
		end, err := c.startHost(ctx, n)
		if err != nil {
			return err
		}
		c.keep(end)
		if n > 0 {
			continue
		}
		if end, err = c.startAgents(ctx); err != nil { // below the first host, before there are others
			return err
		}
		c.keep(end)
	}
	end, err := c.startOtherAgents(ctx)
	if err != nil {
		return err
	}
	c.keep(end)
	return c.writeFiles() // last, since other processes wait for these files
}

// url is the address of a service on this machine.
func (c *cloud) url(s *daemon.Server) string { return "http://" + reached(s.Addr(), "localhost") }

// offered is the address of a service for its users.
func (c *cloud) offered(s *daemon.Server) string {
	return "http://" + reached(s.Addr(), c.publicName())
}

// publicName is the name of this machine for users of services that listen on all addresses.
func (c *cloud) publicName() string {
	if len(c.opts.allowedHosts) == 0 {
		return "localhost"
	}
	return c.opts.allowedHosts[0]
}

// reached is where an address is reached, at a name when it listens on all addresses.
func reached(addr net.Addr, name string) string {
	if at, ok := addr.(*net.TCPAddr); ok && at.IP.IsUnspecified() {
		return net.JoinHostPort(name, strconv.Itoa(at.Port))
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

// upDir returns the directory of the databases, which it makes.
func upDir(p daemon.Process, opts upOptions) (string, error) {
	dir := opts.data
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
