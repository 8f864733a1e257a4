package sqlstore

import (
	"context"
	"maps"
	"net/url"
	"time"

	"github.com/berthcloud/berth/network"
)

// A NetworkStore keeps the rows of the network service in a database of their own.
// It implements network.Store and is made by OpenNetwork.
type NetworkStore struct{ *engine }

var _ network.Store = (*NetworkStore)(nil)

// raiseTurn begins every transaction that writes to a server. Who has raised the
// row is alone until it commits: on one server others wait for the row; of
// transactions on two nodes of a cluster the one that comes second is rolled back.
const raiseTurn = "UPDATE berth_turn SET turn = turn + 1"

// OpenNetwork opens a database of the network service, making its tables when it
// is empty. One that belongs to something else, placement and OpenStack's own
// Neutron included, or that a newer program made, is an error that says so and is
// left as it is. Of an older one the same is true unless Options.Sync is set.
func OpenNetwork(ctx context.Context, opts Options) (*NetworkStore, error) {
	s := newNetworkStore(opts)
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func newNetworkStore(opts Options) *NetworkStore {
	if opts.Server != nil {
		opts.Server = opts.Server.named("berth-network")
	}
	s := &NetworkStore{newEngine(opts)}
	s.schema = schema{look: s.look, prepare: s.prepare, known: naming{"database", "berth_network"}}
	if opts.Server != nil {
		s.turn = raiseTurn
	}
	return s
}

// named is the server with the name that it shows its administrators for who is
// connected, unless the URL has one.
func (s *Server) named(program string) *Server {
	renamed := *s
	renamed.Params = maps.Clone(s.Params)
	if renamed.Params == nil {
		renamed.Params = url.Values{}
	}
	if s.Dialect == PostgreSQL && !renamed.Params.Has("application_name") {
		renamed.Params.Set("application_name", program)
	}
	return &renamed
}

// View runs fn against one consistent state of the rows. A panic in fn goes through
// to the caller.
func (s *NetworkStore) View(ctx context.Context, fn func(network.Reader) error) error {
	return s.view(ctx, func(r *reader) error {
		if err := s.refuseDemoted(r); err != nil {
			return err
		}
		return fn(networkReader{r})
	})
}

// refuseDemoted keeps a View from a server that answers with what was true when it
// was the primary. Connections are made again, to another one, before the next try.
func (s *NetworkStore) refuseDemoted(r *reader) error {
	if s.d.demoted == "" {
		return nil
	}
	demoted, err := first(r, integer, "SELECT "+s.d.demoted)
	if err == nil && demoted != 0 {
		s.epoch.Add(1)
		err = r.fail(errDemoted)
	}
	return err
}

// Update runs fn in a transaction that no other one runs beside, possibly more than
// once. A panic in fn is returned as an error. When ctx ends while it waits, it
// leaves without having run; once it runs, its outcome is waited for. On a server it
// also leaves when its turn does not come within Options.RetryTime.
func (s *NetworkStore) Update(ctx context.Context, now time.Time, fn func(network.Writer) error) error {
	return s.update(ctx, now, func(w *writer) error { return fn(networkWriter{networkReader{&w.reader}, w}) }, nil)
}
