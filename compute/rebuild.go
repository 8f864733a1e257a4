package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
)

// A rebuild and its events, as Nova calls them.
const (
	rebuildAction     = "rebuild"
	eventBeginRebuild = "rebuild_server"
	eventRebuild      = "compute_rebuild_instance"
)

// A Rebuilding is a request to build a server again, from an image. What is nil stays as it is.
type Rebuilding struct {
	Image ID
	ServerChange
	Metadata          map[string]string
	KeyName, UserData *string // "" for none
}

// RebuildServer begins to build a server again on its host, from an image: what was on its disk is lost. It keeps its
// ports, its flavor and its power state. Faults: InstanceNotFound, InstanceIsLocked, InvalidState, InstanceNotReady,
// InstanceExists, KeypairNotFound, ImageNotFound, ImageUnacceptable, MetadataLimitExceeded, and those of a server's creation that are
// about the image.
func (s *Service) RebuildServer(ctx context.Context, by Caller, id ID, to Rebuilding) (one Server, err error) {
	var row ServerRow
	err = s.store.View(ctx, func(r Reader) error {
		row, err = s.rebuildable(r, by, id)
		return err
	})
	if err != nil {
		return one, err
	}
	image, err := s.imageToRebuild(ctx, by, row, to.Image)
	if err != nil {
		return one, err
	}
	err = s.update(ctx, func(c *change) error {
		row, err := s.rebuildable(c, by, id)
		if err != nil {
			return err
		}
		if err := c.apply(to.ServerChange, &row); err != nil {
			return err
		}
		if to.KeyName != nil {
			if row.KeyName, row.KeyData = *to.KeyName, ""; row.KeyName != "" {
				key, err := OneOr[KeypairRow](c, invalid("KeypairNotFound", "Invalid key_name provided."), Where(ByUser, by.User), Where(ByName, row.KeyName))
				if err != nil {
					return err
				}
				row.KeyData = key.PublicKey
			}
		}
		if to.Metadata != nil {
			row.Metadata = to.Metadata
			if err := c.enoughMetadata(row.Project, len(row.Metadata)); err != nil {
				return err
			}
		}
		if to.UserData != nil {
			row.UserData = *to.UserData
		}
		row.Image, row.Task, row.Progress, row.UpdatedAt = to.Image, TaskRebuilding, 0, c.At
		if row.ImageMeta, err = json.Marshal(image.Image); err != nil {
			return err
		}
		if err := c.Replace(&row); err != nil {
			return err
		}
		action, err := c.act(by, id, rebuildAction)
		if err != nil {
			return err
		}
		begun, err := c.begin(action.ID, eventBeginRebuild, "")
		if err == nil {
			err = c.end(begun.ID, nil)
		}
		if err != nil {
			return err
		}
		event, err := c.begin(action.ID, eventRebuild, row.Host)
		if err != nil {
			return err
		}
		if err := c.newOperation(id, kindRebuild, &powerData{common: common{Action: action.ID, Event: event.ID}}); err != nil {
			return err
		}
		one, err = c.server(c, id)
		return err
	})
	return one, err
}

// rebuildable returns a server that can be rebuilt now.
func (s *Service) rebuildable(r Reader, by Caller, id ID) (ServerRow, error) {
	row, err := OneOr[ServerRow](r, noServer(id), Where(ByID, id))
	if err != nil {
		return row, err
	}
	if err := row.unlocked(by); err != nil {
		return row, err
	}
	if err := row.in(rebuildAction, Active, Stopped, Error); err != nil {
		return row, err
	}
	if err := s.kinds.idle(r, row, rebuildAction); err != nil {
		return row, err
	}
	if err := row.launched(rebuildAction); err != nil {
		return row, err
	}
	if row.Host == "" {
		return row, conflict("InstanceNotReady", "Instance %s is not ready", id)
	}
	return row, s.canWork()
}

// imageToRebuild returns the image that a server is to be built from, unless it cannot be: it must request of a host what the
// server's image requests, because the server stays where it is and nothing is claimed.
func (s *Service) imageToRebuild(ctx context.Context, by Caller, row ServerRow, id ID) (image Image, err error) {
	if s.images == nil {
		return image, absent("image")
	}
	if row.Image == "" {
		return image, invalid("ImageUnacceptable", "Image %s is unacceptable: Unable to rebuild with a different image for a volume-backed server.", id)
	}
	image, err = s.images.Image(ctx, by.Project, id)
	if errors.Is(err, ErrNoImage) {
		return image, invalid("ImageNotFound", "Cannot find image for rebuild")
	}
	if err != nil {
		return image, err
	}
	flavor, err := row.StoredFlavor()
	if err != nil {
		return image, err
	}
	if err := s.fits(image, flavor, row.Project); err != nil {
		return image, err
	}
	if id == row.Image {
		return image, nil
	}
	before, err := s.imageOf(ctx, row)
	if err != nil {
		return image, err
	}
	requestFor := func(i Image) (request.Request, error) {
		return request.New(request.Spec{Flavor: flavor, Image: i.Image, Project: row.Project}, s.rules.Settings.Requests, nil)
	}
	prev, err := requestFor(before)
	cur, failure := requestFor(image)
	if err != nil || failure != nil || !reflect.DeepEqual(prev.Query, cur.Query) {
		return image, invalid("ImageUnacceptable", "Image %s is unacceptable: it requires other resources or traits of a host than the image of the server.", id)
	}
	return image, nil
}

// fits refuses an image that a server of a flavor cannot be built from.
func (s *Service) fits(image Image, flavor extraspecs.Flavor, project string) error {
	if image.Status != "active" {
		return invalid("ImageNotActive", "Image %s is not active.", image.ID)
	}
	if err := (FlavorRow{MemoryMB: flavor.MemoryMB, RootGB: flavor.RootGB}).holds(image); err != nil {
		return err
	}
	if err := image.Check(); err != nil {
		return err
	}
	_, err := request.New(request.Spec{Flavor: flavor, Image: image.Image, Project: project}, s.rules.Settings.Requests, nil)
	if err != nil && !errors.As(err, new(*request.NoValidHost)) { // the failure is reported where it can name the reason
		return err
	}
	return extraspecs.Supported(flavor, image.Image)
}

// sendRebuild sends the host of a server the command to build it again.
func sendRebuild(c *change, server ServerRow, d *powerData) error {
	d.Awaited = d.Event
	return c.wish(server, func(row *HostedRow) {
		row.Event, row.Boot, row.Wish = d.Event, "", WishRunning
		if server.State == Stopped {
			row.Wish = WishStopped
		}
		row.Generation++
	})
}

// rebuild has the host build the server again.
func (p *powerJob) rebuild(ctx context.Context) (next, error) {
	if p.Awaited == "" {
		return next{}, p.waitAfter(ctx, func(c *change, row *ServerRow) error { return sendRebuild(c, *row, &p.powerData) })
	}
	event, err := p.await(ctx, "")
	if err != nil {
		return next{}, err
	}
	return next{Change: func(c *change, row *ServerRow) error {
		if event.Result == failed {
			if err := c.wish(*row, func(hosted *HostedRow) { hosted.Wish, hosted.Event = row.usual(), "" }); err != nil {
				return err
			}
			text := fmt.Sprintf("Failed to rebuild instance %s: %s", row.ID, event.Details)
			if err := c.end(p.Event, &stepError{text: event.Details, details: event.Details}); err != nil {
				return err
			}
			return c.inError(row, Failure{Code: 500, Message: text, Details: event.Traceback})
		}
		if row.Task, row.LaunchedAt = "", c.At; row.State != Stopped {
			row.State, row.Power = Active, Running
		}
		return c.end(p.Event, nil)
	}}, nil
}
