package daemon

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/berthcloud/berth/changelog"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/console"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/identity/keystone"
	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/events"
	"github.com/berthcloud/berth/placement/snapshot"
)

// consoleInterval is how often the snapshot is compared with that which pages show, while one is
// open.
const consoleInterval = time.Second

// withConsole returns what puts the console in front of the API: that of d, or the service's own,
// unless it is off. Without Keystone there is no login, and so no console.
func (s *PlacementServer) withConsole(d Dependencies) func(http.Handler) http.Handler {
	h := d.Console
	switch {
	case h != nil:
	case !s.cfg.Console || d.Authenticate != nil:
		return func(next http.Handler) http.Handler { return next }
	case s.cfg.API.AuthStrategy != config.StrategyKeystone:
		s.log.Info("the console is off: it needs the login of auth_strategy keystone")
		return func(next http.Handler) http.Handler { return next }
	default:
		c := console.New(console.Options{Source: s.consoleSource(), Access: s.consoleAccess(), Log: s.log})
		s.atEnd(Background(c.Run))
		h = c
	}
	h = httpserver.Compress(h, console.CompressMinSize)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == console.Path || strings.HasPrefix(r.URL.Path, console.Path+"/") {
				h.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// consoleSource reads the snapshot in memory, and allocations when they are looked at.
func (s *PlacementServer) consoleSource() console.Source {
	var last *console.Reading
	return console.Source{
		Name:     "Berth's placement service",
		Interval: consoleInterval,
		Read: func(ctx context.Context) (*console.Reading, error) {
			snap, err := s.service.Snapshot(ctx)
			if err != nil {
				return nil, err
			}
			if last == nil || last.Snapshot != snap {
				last = &console.Reading{Snapshot: snap, Cloud: &cloud.Cloud{}, Time: time.Now().UTC()}
			}
			return last, nil
		},
		Counts:    func() (console.Counts, error) { return ConsoleCounts(&s.Server) },
		Changes:   (&consoleLog{server: s}).next,
		Consumers: s.consumersOn,
		Consumer:  s.consumer,
	}
}

// consumersOn returns the consumers that have something of a tree's providers, with all that they
// have.
func (s *PlacementServer) consumersOn(ctx context.Context, tree *snapshot.Tree) ([]cloud.Consumer, error) {
	snap, err := s.service.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.service.AllocationsIn(ctx, tree.Root().ID)
	list := make([]cloud.Consumer, 0, len(all))
	for i := range all {
		list = append(list, consumerOf(snap, &all[i]))
	}
	return list, err
}

// consumer returns a consumer with what it has, nil when that is nothing.
func (s *PlacementServer) consumer(ctx context.Context, id string) (*cloud.Consumer, error) {
	all, err := s.service.AllocationsOf(ctx, placement.UUID(id))
	if err != nil || len(all.Allocations) == 0 {
		return nil, err
	}
	snap, err := s.service.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	c := consumerOf(snap, &all)
	return &c, nil
}

// consumerOf converts a consumer with its allocations, whose classes are those of a snapshot.
func consumerOf(snap *snapshot.Snapshot, all *placement.ConsumerAllocations) cloud.Consumer {
	row := &all.Consumer
	c := cloud.Consumer{
		UUID: string(row.UUID), Generation: int64(row.Generation), Project: row.Project, User: row.User, Type: row.Type,
		Allocations: map[string]map[string]int64{},
	}
	for _, a := range all.Allocations {
		amounts := c.Allocations[string(a.ProviderUUID)]
		if amounts == nil {
			amounts = map[string]int64{}
			c.Allocations[string(a.ProviderUUID)] = amounts
		}
		amounts[snap.ClassName(a.Class)] += a.Used
	}
	return c
}

// A consoleLog reads the change log for the console. It is for one goroutine.
type consoleLog struct {
	server *PlacementServer
	at     changelog.Position // after what was read; nil at the beginning
}

const (
	// maxConsolePages is how many pages of the log are read of what happened between two states.
	// After them readings are compared: nobody reads that many changes.
	maxConsolePages = 4
	// maxConsoleEntries is how many entries of each writer a page has at most.
	maxConsoleEntries = 500
)

// next returns what the log has after the position, console.MaxChanges at most, and whether it is
// all that has changed. It costs one query for the log, and one for the consumers in it.
func (l *consoleLog) next(ctx context.Context) (list []console.Change, complete bool, err error) {
	log := l.server.service.ChangeLog()
	complete = l.at != nil
	for range maxConsolePages {
		page, err := log.Read(ctx, l.at, maxConsoleEntries)
		if err != nil {
			return nil, false, err
		}
		l.at = page.At
		complete = complete && !page.Lost
		for i := range page.Entries {
			t := events.Decode(page.Entries[i])
			complete = complete && !t.Unlisted
			list = append(list, console.ChangesOf(&t)...)
		}
		if !page.More {
			list = list[:min(len(list), console.MaxChanges)]
			return list, complete, l.addOwners(ctx, list)
		}
	}
	page, err := log.Read(ctx, nil, 0) // the end of the log
	if err != nil {
		return nil, false, err
	}
	l.at = page.At
	return nil, false, nil
}

// addOwners adds the types and projects of consumers that have something still.
func (l *consoleLog) addOwners(ctx context.Context, list []console.Change) error {
	var ids []placement.UUID
	for i := range list {
		if list[i].Consumer != "" {
			ids = append(ids, placement.UUID(list[i].Consumer))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := l.server.service.Consumers(ctx, ids...)
	owners := make(map[string]*placement.ConsumerRow, len(rows))
	for i := range rows {
		owners[string(rows[i].UUID)] = &rows[i]
	}
	for i := range list {
		if owner := owners[list[i].Consumer]; owner != nil {
			list[i].Type, list[i].Project = owner.Type, owner.Project
		}
	}
	return err
}

// consoleAccess logs users in at the Keystone that checks the tokens of the API, and applies the
// API's policy.
func (s *PlacementServer) consoleAccess() console.Access {
	k := &s.cfg.Keystone
	return console.NewKeystone(console.KeystoneOptions{
		Login: func(ctx context.Context, l console.Login) (console.User, error) {
			opts := keystoneOptions(k)
			opts.Log = s.log
			opts.Credentials = keystone.Credentials{Type: keystone.Password, Auth: keystone.Auth{
				AuthURL: k.Auth.AuthURL, Username: l.User, Password: keystone.Secret(l.Password), UserDomainName: l.Domain,
				ProjectName: l.Project, ProjectDomainName: l.Domain,
			}}
			if l.CredentialID != "" {
				opts.Credentials = keystone.Credentials{Type: keystone.ApplicationCredential, Auth: keystone.Auth{
					AuthURL: k.Auth.AuthURL, ApplicationCredentialID: l.CredentialID,
					ApplicationCredentialSecret: keystone.Secret(l.Secret),
				}}
			}
			token, holder, err := keystone.Login(ctx, opts)
			return console.User{
				Token: token, Name: holder.UserName, Project: holder.ProjectName, Expires: holder.Expires,
			}, err
		},
		Caller: func(r *http.Request, token string) (identity.Caller, error) {
			r = r.Clone(r.Context())
			r.Header = http.Header{"X-Auth-Token": {token}}
			return s.authenticate(r)
		},
		Allow: func(c identity.Caller, rule string) error { return s.rules.Allow(c, rule, nil) },
	})
}
