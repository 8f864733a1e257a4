package console

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloudapi"
	"github.com/berthcloud/berth/ops/lookup"
	"github.com/berthcloud/berth/placement/snapshot"
)

// A Reading is a cloud at a moment. It does not change.
type Reading struct {
	// Snapshot has placement's providers.
	Snapshot *snapshot.Snapshot
	// Cloud are the records of the services. Placement and its consumers may be absent where the
	// source reads them on demand, and compute and network where there are none.
	Cloud *cloud.Cloud
	// Time is when the records were complete.
	Time time.Time
}

// A Source is where a console gets its readings.
type Source struct {
	// Name names the cloud for people, without credentials.
	Name string
	// Read reads the cloud, and ends when its context does. It is called by one goroutine at a time.
	Read func(ctx context.Context) (*Reading, error)
	// Progress returns how far the reading under way is: what it reads, how much of it and how much
	// there is, "" for nothing yet. It is called while Read runs; nil where it is not known.
	Progress func() (subject string, done, total int)
	// Interval is the pause between two readings while a page is open.
	Interval time.Duration
	// Consumers returns the consumers that have something of a tree's providers, with all that they
	// have, and Consumer one of them, nil when it has nothing. Both are nil where readings have all
	// consumers.
	Consumers func(ctx context.Context, tree *snapshot.Tree) ([]cloud.Consumer, error)
	Consumer  func(ctx context.Context, id string) (*cloud.Consumer, error)
	// Changes returns what has changed since its call before, for sources that know it of a log, the
	// project and the type of consumers included. Where complete is false, as for the first call,
	// readings are compared. It is called as Read is; nil where there is no log.
	Changes func(ctx context.Context) (list []Change, complete bool, err error)
	// Counts returns what services have counted of their requests; nil where there are none to count.
	Counts func() (Counts, error)
	// Finder returns what finds flavors, images and ports by their names, in a reading's records; nil
	// where there are no such services.
	Finder func(o lookup.Options, c *cloud.Cloud) *lookup.Finder
	// Flavors lists the flavors, and Nova are the settings of nova.conf; nil where there is no compute
	// service.
	Flavors func(ctx context.Context) ([]cloud.Flavor, error)
	Nova    lookup.Settings
	// Images lists the names of images, as far as they can be read; nil as Flavors is.
	Images func(ctx context.Context) ([]string, error)
}

// File returns the source of records that do not change.
func File(c *cloud.Cloud) (Source, error) {
	s, err := c.Snapshot()
	if err != nil {
		return Source{}, err
	}
	reading := &Reading{Snapshot: s, Cloud: c, Time: c.Ended}
	return Source{
		Name: c.Source, Interval: time.Hour,
		Read: func(context.Context) (*Reading, error) { return reading, nil },
	}, nil
}

// Records returns the source of records that a function reads whole.
func Records(name string, interval time.Duration, read func(ctx context.Context) (*cloud.Cloud, error)) Source {
	return Source{Name: name, Interval: interval, Read: func(ctx context.Context) (*Reading, error) {
		c, err := read(ctx)
		if err != nil {
			return nil, err
		}
		s, err := c.Snapshot()
		if err != nil {
			return nil, err
		}
		return &Reading{Snapshot: s, Cloud: c, Time: c.Ended}, nil
	}}
}

// APIOptions say how APIs are read.
type APIOptions struct {
	Interval time.Duration
	// Progress is called while records are read; nil is not called.
	Progress cloudapi.Progress
	// Nova are the settings of the cloud's nova.conf, for the queries of servers.
	Nova lookup.Settings
}

// APIs returns the source of the records of a cloud's services. What cannot be read of compute and
// network is a sentence in the records.
func APIs(client *cloudapi.Client, o APIOptions) Source {
	follower := client.Follower(cloud.PlacementPart | cloud.ComputePart | cloud.NetworkPart)
	var far progress
	follower.Progress = func(subject string, done, total int) {
		far.set(subject, done, total)
		if o.Progress != nil {
			o.Progress(subject, done, total)
		}
	}
	s := Records(client.Source(), o.Interval, func(ctx context.Context) (*cloud.Cloud, error) {
		c, failed := follower.Read(ctx, nil)
		if err := failed[cloud.PlacementPart]; err != nil {
			return nil, err
		}
		unread := slices.Clone(c.Unread)
		for _, part := range []struct {
			part cloud.Part
			name string
		}{{cloud.ComputePart, "compute"}, {cloud.NetworkPart, "network"}} {
			if err := failed[part.part]; err != nil {
				unread = append(unread, "the "+part.name+" service: "+err.Error())
			}
		}
		c.Unread = unread
		return c, nil
	})
	begin := time.Now()
	s.Counts = func() (Counts, error) { return countsOf(begin, client.Measured()), nil }
	s.Progress, s.Flavors, s.Nova = far.get, client.Flavors, o.Nova
	s.Images = func(ctx context.Context) (names []string, err error) {
		images, err := client.Names(ctx, cloudapi.Images, "")
		for _, image := range images {
			names = append(names, image.Name)
		}
		return names, err
	}
	s.Finder = func(options lookup.Options, c *cloud.Cloud) *lookup.Finder {
		return &lookup.Finder{
			Options: options, Cloud: c, Client: client, Settings: o.Nova, Progress: func(string, int, int) {},
		}
	}
	return s
}

// countsOf returns what a client has measured of its own requests: nobody else counts them where
// services have no metrics.
func countsOf(since time.Time, measured []cloudapi.Measured) Counts {
	c := Counts{Since: since}
	for i := range measured {
		m := &measured[i]
		c.Requests = append(c.Requests, RequestCount{
			Service: m.Service, Statuses: m.Statuses, Bounds: cloudapi.Bounds, Within: m.Within,
		})
	}
	return c
}

// A progress is how far a reading is. It may be used by several goroutines.
type progress struct {
	mu          sync.Mutex
	subject     string
	done, total int
}

func (p *progress) set(subject string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subject, p.done, p.total = subject, done, total
}

func (p *progress) get() (subject string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.subject, p.done, p.total
}
