package servers

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/lifecycle"
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
	Image compute.ID
	ServerChange
	Metadata          map[string]string
	KeyName, UserData *string // "" for none
}

// RebuildServer begins to build a server again on its host, from an image: what was on its disk is
// lost. It keeps its ports, its flavor and its power state. Faults: InstanceNotFound,
// InstanceIsLocked, InvalidState, InstanceNotReady, InstanceExists, KeypairNotFound, ImageNotFound,
// ImageUnacceptable, ImageNUMATopologyRebuildConflict, MetadataLimitExceeded, and those of a
// server's creation that are about the image.
func (s *Service) RebuildServer(
	ctx context.Context, by compute.Caller, id compute.ID, to Rebuilding,
) (one Server, err error) {
	var row compute.ServerRow
	err = s.store.View(ctx, func(r compute.Reader) error {
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
	err = s.lifecycle.Update(ctx, func(c *lifecycle.Change) error {
		row, err := s.rebuildable(c, by, id)
		if err != nil {
			return err
		}
		if err := applyChange(c, to.ServerChange, &row); err != nil {
			return err
		}
		if to.KeyName != nil {
			if row.KeyName, row.KeyData = *to.KeyName, ""; row.KeyName != "" {
				key, err := compute.OneOr[compute.KeypairRow](c, compute.Invalid("KeypairNotFound", "Invalid key_name provided."),
					compute.Where(compute.ByUser, by.User), compute.Where(compute.ByName, row.KeyName))
				if err != nil {
					return err
				}
				row.KeyData = key.PublicKey
			}
		}
		if to.Metadata != nil {
			row.Metadata = to.Metadata
			if err := enoughMetadata(c, row.Project, len(row.Metadata)); err != nil {
				return err
			}
		}
		if to.UserData != nil {
			row.UserData = *to.UserData
		}
		row.Image, row.Task, row.Progress, row.UpdatedAt = to.Image, compute.TaskRebuilding, 0, c.At
		if row.ImageMeta, err = json.Marshal(image.Image); err != nil {
			return err
		}
		if err := c.Replace(&row); err != nil {
			return err
		}
		action, err := c.RecordAction(by, id, rebuildAction)
		if err != nil {
			return err
		}
		begun, err := c.StartEvent(action.ID, eventBeginRebuild, "")
		if err == nil {
			err = c.EndEvent(begun.ID, nil)
		}
		if err != nil {
			return err
		}
		event, err := c.StartEvent(action.ID, eventRebuild, row.Host)
		if err != nil {
			return err
		}
		if err := c.NewOperation(id, lifecycle.KindRebuild,
			&lifecycle.PowerData{Common: lifecycle.Common{Action: action.ID, Event: event.ID}}); err != nil {
			return err
		}
		one, err = readServer(c.Tx.Rules, c, id)
		return err
	})
	return one, err
}

// rebuildable returns a server that can be rebuilt now.
func (s *Service) rebuildable(r compute.Reader, by compute.Caller, id compute.ID) (compute.ServerRow, error) {
	row, err := compute.OneOr[compute.ServerRow](r, compute.NoServer(id), compute.Where(compute.ByID, id))
	if err != nil {
		return row, err
	}
	if err := row.CheckUnlocked(by); err != nil {
		return row, err
	}
	if err := row.CheckState(rebuildAction, compute.Active, compute.Stopped, compute.Error); err != nil {
		return row, err
	}
	if err := s.lifecycle.Idle(r, row, rebuildAction); err != nil {
		return row, err
	}
	if err := row.CheckLaunched(rebuildAction); err != nil {
		return row, err
	}
	if row.Host == "" {
		return row, compute.Conflict("InstanceNotReady", "Instance %s is not ready", id)
	}
	return row, s.lifecycle.CanWork()
}

// imageToRebuild returns the image that a server is to be built from, unless it cannot be: it must
// request of a host what the server's image requests, because the server stays where it is and
// nothing is claimed.
func (s *Service) imageToRebuild(
	ctx context.Context, by compute.Caller, row compute.ServerRow, id compute.ID,
) (image compute.Image, err error) {
	if s.images == nil {
		return image, compute.NotConfigured("image")
	}
	if row.Image == "" {
		return image, compute.Invalid("ImageUnacceptable",
			"Image %s is unacceptable: Unable to rebuild with a different image for a volume-backed server.", id)
	}
	image, err = s.images.Image(ctx, by.Project, id)
	if errors.Is(err, compute.ErrNoImage) {
		return image, compute.Invalid("ImageNotFound", "Cannot find image for rebuild")
	}
	if err != nil {
		return image, err
	}
	flavor, err := row.StoredFlavor()
	if err != nil {
		return image, err
	}
	if err := s.fits(ctx, image, flavor, row.Project); err != nil {
		return image, err
	}
	if id == row.Image {
		return image, nil
	}
	before, err := s.imageOf(ctx, row)
	if err != nil {
		return image, err
	}
	if err := sameTopology(flavor, before, image); err != nil {
		return image, err
	}
	requestFor := func(i compute.Image) (request.Request, error) {
		return request.New(request.Spec{Flavor: flavor, Image: i.Image, Project: row.Project}, s.rules.Settings.Requests, nil)
	}
	prev, err := requestFor(before)
	cur, failure := requestFor(image)
	if err != nil || failure != nil || !reflect.DeepEqual(prev.Query, cur.Query) {
		return image, compute.Invalid("ImageUnacceptable",
			"Image %s is unacceptable: it requires other resources or traits of a host than the image of the server.", id)
	}
	return image, nil
}

// sameTopology refuses an image with which a server would have other NUMA nodes or pages.
func sameTopology(flavor extraspecs.Flavor, before, after compute.Image) error {
	prev, err := extraspecs.Topology(flavor, before.Image)
	if err != nil {
		return err
	}
	cur, err := extraspecs.Topology(flavor, after.Image)
	if err == nil && !prev.Equal(cur) {
		err = compute.Invalid("ImageNUMATopologyRebuildConflict",
			"An instance's NUMA topology cannot be changed as part of a rebuild. "+
				"The image provided is invalid for this instance.")
	}
	return err
}
