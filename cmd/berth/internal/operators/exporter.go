package operators

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/cmd/berth/internal/database"
	"github.com/berthcloud/berth/dbtool"
	"github.com/berthcloud/berth/httpapi/placementapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/microversion"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/ops/exporter"
	"github.com/berthcloud/berth/ops/metrics"
	"github.com/berthcloud/berth/systemd"
)

// exporterOptions are the flags of "berth exporter".
type exporterOptions struct {
	env          cli.Env
	source       cloudSource
	nova         novaSettings
	listen       string
	interval     time.Duration
	rate         float64
	projects     int
	queries      []string
	flavorPorts  []string
	compatible   []string
	metrics      metrics.Options
	tls          httpserver.TLSFiles
	namedQueries []metrics.Query
	pairs        []metrics.Pair
}

// The exporters whose names of metrics are known.
const (
	osCapacity        = "os-capacity"
	openStackExporter = "openstack-exporter"
)

// NewExporter returns "berth exporter".
func NewExporter(env cli.Env) *cobra.Command {
	x := &exporterOptions{env: env}
	cmd := &cobra.Command{
		Use:   "exporter [--listen HOST:PORT]",
		Short: "Export metrics of a cloud to Prometheus",
		Long: `Exporter reads a cloud each --interval, and answers scrapes of Prometheus at
/metrics from the last reading: what providers have and what is free, free
slots of flavors, usage and limits of projects, findings of the audit, the state
of hosts and agents. It sends no request to the cloud because of a scrape.

It reads the APIs, with an administrator or another user who may read them, or
placement's database (--config, --connection), or both: with a database and
--os-cloud, placement is read from the database, and the other services from
their APIs. What cannot be read has no metrics, berth_cloud_source_up{source}
is 0, and the log says why.

Of placement's API only providers are read again whose generation has changed.
The first reading takes four requests for each provider, and one for each
server; --requests-per-second bounds them.

Free slots are those of berth capacity headroom, for each flavor, for each query
of --query, and for each flavor with ports of --flavor-ports: ports in these
networks with these QoS policies, of which each server has one.

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  logging in failed; standard error says why
  2  wrong arguments or settings
  5  the address cannot be used`,
		Example: `  berth exporter --os-cloud reader
  berth exporter --os-cloud reader --config /etc/placement/placement.conf \
      --listen 0.0.0.0:9779 --interval 2m
  berth exporter --connection @/etc/berth/exporter.url \
      --query 'small=resources=VCPU:1,MEMORY_MB:2048,DISK_GB:10'
  berth exporter --os-cloud reader --flavor-ports gold=m1.large,net0/gold \
      --flavor-ports nfv=m1.large,net0/gold,net1/gold/direct`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd.Context()) },
	}
	x.source.apiFlags(cmd)
	x.source.databaseFlags(cmd)
	x.nova.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&x.listen, "listen", "127.0.0.1:9779", "`HOST:PORT`: address of /metrics, /healthz and /readyz")
	f.DurationVar(&x.interval, "interval", time.Minute, "`DURATION`: time between two readings; 30s is 30 seconds")
	f.Float64Var(&x.rate, "requests-per-second", 100,
		"`NUMBER`: number of requests per second to the APIs, of all services together; 0 is no bound")
	f.StringArrayVar(&x.queries, "query", nil,
		"`NAME=QUERY`: query string of GET /allocation_candidates whose free slots are counted too; may be repeated")
	f.StringArrayVar(&x.flavorPorts, "flavor-ports", nil,
		"`NAME=SERVER`: flavor and ports of servers whose free slots are counted too, as FLAVOR,NETWORK/POLICY/VNIC,...; "+
			"without a QoS policy a port has its network's, and its VNIC type is normal; may be repeated")
	f.IntVar(&x.projects, "projects", 1000, "`NUMBER`: number of projects with metrics at most, those with most servers "+
		"first; their quotas take a request each, and 0 is none")
	f.BoolVar(&x.metrics.WithoutHosts, "without-hosts", false, "leave out the metrics of single hosts")
	f.BoolVar(&x.metrics.SlotsByHost, "slots-by-host", false, "add the free slots of each flavor on each host")
	f.StringSliceVar(&x.compatible, "compatible", nil,
		"`EXPORTERS`: add metrics with the names of os-capacity or openstack-exporter, for dashboards that exist")
	f.StringVar(&x.tls.Cert, "tls-cert", "",
		"`FILE`: certificate to serve with, in PEM format; changed files are read again")
	f.StringVar(&x.tls.Key, "tls-key", "", "`FILE`: its private key")
	f.StringVar(&x.tls.ClientCA, "tls-client-ca", "",
		"`FILE`: authorities of clients' certificates, which are required then")
	return cmd
}

// check refuses wrong values.
func (x *exporterOptions) check() error {
	api := x.source.options.Cloud + x.source.options.Region + x.source.iface.Word
	switch {
	case x.interval < time.Second:
		return errors.New("--interval: want 1s or more")
	case !(x.rate >= 0):
		return errors.New("--requests-per-second: want a number that is not negative")
	case x.projects < 0:
		return errors.New("--projects: want a number that is not negative")
	case (x.tls.Cert == "") != (x.tls.Key == ""):
		return errors.New("--tls-cert and --tls-key belong together")
	case x.tls.ClientCA != "" && x.tls.Cert == "":
		return errors.New("--tls-client-ca wants --tls-cert and --tls-key")
	case x.metrics.SlotsByHost && x.metrics.WithoutHosts:
		return errors.New("--slots-by-host and --without-hosts exclude each other")
	case x.source.db.Given() && api == "" && x.nova.file != "":
		return errors.New("--nova-config is about flavors, which are read from the APIs: it wants --os-cloud")
	}
	for _, name := range x.compatible {
		switch name {
		case osCapacity:
			x.metrics.OSCapacity = true
		case openStackExporter:
			x.metrics.OpenStackExporter = true
		default:
			return fmt.Errorf("--compatible %s: want %s or %s", name, osCapacity, openStackExporter)
		}
	}
	for _, word := range x.queries {
		name, raw, ok := strings.Cut(word, "=")
		if !ok || name == "" || !strings.Contains(raw, "=") {
			return fmt.Errorf("--query %q: want a name and a query, as small=resources=VCPU:1", word)
		}
		if slices.ContainsFunc(x.namedQueries, func(q metrics.Query) bool { return q.Name == name }) {
			return fmt.Errorf("--query: the name %s is there twice", name)
		}
		q, err := placementapi.CandidatesQuery(placementapi.LoggedQuery(raw), microversion.Placement.Max().Minor)
		if err != nil {
			return fmt.Errorf("--query %s: %w", name, err)
		}
		x.namedQueries = append(x.namedQueries, metrics.Query{Name: name, Query: q})
	}
	return x.checkPairs(x.source.db.Given() && api == "")
}

// checkPairs reads the flavors with ports. Without APIs they are refused.
func (x *exporterOptions) checkPairs(withoutAPIs bool) error {
	if withoutAPIs && len(x.flavorPorts) > 0 {
		return errors.New("--flavor-ports is about flavors and networks, which are read from the APIs: it wants --os-cloud")
	}
	for _, word := range x.flavorPorts {
		name, rest, _ := strings.Cut(word, "=")
		parts := strings.Split(rest, ",")
		pair := metrics.Pair{Name: name, Flavor: parts[0]}
		for _, part := range parts[1:] {
			fields := append(strings.Split(part, "/"), "", "")
			if fields[0] == "" || len(fields) > 5 {
				return fmt.Errorf("--flavor-ports %s: the port %q: want NETWORK, NETWORK/POLICY or NETWORK/POLICY/VNIC", name, part)
			}
			pair.Ports = append(pair.Ports, metrics.PairedPort{
				Network: fields[0], Policy: fields[1], VNIC: cmp.Or(fields[2], "normal"),
			})
		}
		if name == "" || pair.Flavor == "" || len(pair.Ports) == 0 {
			return fmt.Errorf("--flavor-ports %q: want a name, a flavor and ports, as gold=m1.large,net0/gold", word)
		}
		if slices.ContainsFunc(x.namedQueries, func(q metrics.Query) bool { return q.Name == name }) ||
			slices.ContainsFunc(x.pairs, func(p metrics.Pair) bool { return p.Name == name }) {
			return fmt.Errorf("--flavor-ports: the name %s is there twice", name)
		}
		x.pairs = append(x.pairs, pair)
	}
	return nil
}

// run exports until ctx ends.
func (x *exporterOptions) run(ctx context.Context) error {
	if err := x.check(); err != nil {
		return cli.Fail(cli.ExitUsage, err)
	}
	if err := x.nova.read(); err != nil {
		return err
	}
	log, output, err := logging.Open(logging.Options{Text: true, Name: "exporter"}, x.env.Stderr)
	if err != nil {
		return cli.Fail(cli.ExitFailure, err)
	}
	defer output.Close()
	o := exporter.Options{Interval: x.interval, Metrics: x.metrics, Log: log}
	serve := httpserver.ServeOptions{Log: log}
	if x.tls.Cert != "" {
		if serve.TLS, err = httpserver.LoadCertificates(x.tls, log, nil); err != nil {
			return cli.Fail(cli.ExitUsage, err)
		}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", x.listen)
	if err != nil {
		return cli.Fail(cli.ExitListen, fmt.Errorf("listening on %s: %w", x.listen, unwrapListen(err)))
	}
	if err := x.reader(ctx, &o); err != nil {
		ln.Close()
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	e := exporter.New(o)
	reading, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Run(reading)
	}()
	log.Info("serving metrics", "address", ln.Addr().String(), "path", "/metrics")
	if err := systemd.NewNotifier().Ready("serving metrics"); err != nil {
		log.Warn("systemd cannot be notified", "error", err)
	}
	err = httpserver.Serve(ctx, ln, e.Handler(), serve)
	stop()
	<-done
	return cli.Fail(cli.ExitFailure, err)
}

// unwrapListen leaves of an error what is not the address, which is said already.
func unwrapListen(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}

// reader sets how the cloud is read. The error has its exit code.
func (x *exporterOptions) reader(ctx context.Context, o *exporter.Options) error {
	api := x.source.options.Cloud + x.source.options.Region + x.source.iface.Word
	if x.source.db.Given() && api == "" {
		o.Read = func(ctx context.Context) exporter.Reading {
			r := x.readDatabase(ctx)
			r.Projects = &cloud.Projects{}
			r.Projects.Select(r.Cloud, x.projects)
			return r
		}
		return nil
	}
	x.source.options.Rate = x.rate
	client, err := x.source.connect(ctx, x.env)
	if err != nil {
		if _, coded := cli.CodeOf(err); !coded {
			err = cli.Fail(cli.ExitFailure, err)
		}
		return err
	}
	parts := cloud.ComputePart | cloud.NetworkPart
	if !x.source.db.Given() {
		parts |= cloud.PlacementPart
	}
	o.Requests = client.Requests
	follower, projects := client.Follower(parts), client.ProjectReader(x.projects)
	o.Read = func(ctx context.Context) exporter.Reading {
		r := exporter.Reading{Cloud: &cloud.Cloud{}, Failed: map[string]error{}}
		if x.source.db.Given() {
			r = x.readDatabase(ctx)
		}
		c, failed := follower.Read(ctx, r.Cloud.Placement)
		r.Cloud = c
		for part, name := range map[cloud.Part]string{
			cloud.PlacementPart: "placement", cloud.ComputePart: "compute", cloud.NetworkPart: "network",
		} {
			if parts&part != 0 {
				r.Failed[name] = failed[part]
			}
		}
		x.addFlavors(ctx, client, &r)
		if r.Projects = (&cloud.Projects{}); x.projects > 0 {
			var failed map[string]error
			r.Projects, failed = projects.Read(ctx, c)
			maps.Copy(r.Failed, failed)
		}
		return r
	}
	return nil
}

// readDatabase reads placement's records from its database.
func (x *exporterOptions) readDatabase(ctx context.Context) exporter.Reading {
	c := &cloud.Cloud{Begun: time.Now().UTC()}
	source := x.source.db
	source.Once = true // the next reading tries again
	err := source.Work(ctx, x.env, dbtool.Look, func(db *database.DB) (err error) {
		c.Source = "the database " + db.Name
		c.Placement, err = db.Placement(ctx, true, nil)
		return err
	})
	c.Ended = time.Now().UTC()
	return exporter.Reading{Cloud: c, Failed: map[string]error{"database": err}, Queries: x.namedQueries}
}

// addFlavors adds the queries for flavors, without ports and with those of --flavor-ports, where
// the compute service was read.
func (x *exporterOptions) addFlavors(ctx context.Context, client *cloudapi.Client, r *exporter.Reading) {
	r.Queries = slices.Clone(x.namedQueries)
	if r.Cloud.Compute == nil {
		return
	}
	flavors, err := client.Flavors(ctx)
	if err != nil {
		r.Failed["compute"] = fmt.Errorf("the flavors: %w", err)
		return
	}
	pairs, unknown := metrics.PairQueries(r.Cloud, flavors, x.pairs, x.nova.Request, x.nova.ScheduleZone,
		x.nova.DefaultZone,
		func(network string) ([]string, error) { return client.Segments(ctx, network, "") })
	r.Queries = append(r.Queries, pairs...)
	for _, err := range unknown {
		r.Cloud.Unread = append(r.Cloud.Unread, err.Error())
	}
	named := len(r.Queries)
	for _, q := range metrics.FlavorQueries(r.Cloud, flavors, x.nova.Request, x.nova.ScheduleZone, x.nova.DefaultZone) {
		if !slices.ContainsFunc(r.Queries[:named], func(named metrics.Query) bool { return named.Name == q.Name }) {
			r.Queries = append(r.Queries, q)
		}
	}
}
