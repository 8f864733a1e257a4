package servers

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/request"
)

// imageOf returns the image of a server. One that does not exist any more has no Status, and the
// properties that it had when the server was created.
func (s *Service) imageOf(ctx context.Context, row compute.ServerRow) (image compute.Image, err error) {
	if s.images == nil {
		return image, compute.NotConfigured("image")
	}
	if row.Image == "" {
		return image, nil
	}
	image, err = s.images.Image(ctx, row.Project, row.Image)
	switch {
	case err != nil && !errors.Is(err, compute.ErrNoImage):
		return image, err
	case err != nil:
		image = compute.Image{Image: extraspecs.Image{ID: string(row.Image)}}
	}
	if len(row.ImageMeta) > 0 {
		err = json.Unmarshal(row.ImageMeta, &image.Image)
	} else {
		err = nil
	}
	return image, err
}

// checkRoom refuses an image that a server of the flavor has no room for.
func checkRoom(f compute.FlavorRow, image compute.Image) error {
	disk := f.RootGB * gib
	switch {
	case f.MemoryMB < image.MinMemoryMB:
		return compute.Invalid("FlavorMemoryTooSmall", "Flavor's memory is too small for requested image.")
	case disk > 0 && image.Size > disk:
		return compute.Invalid("FlavorDiskSmallerThanImage",
			"Flavor's disk is too small for requested image. Flavor disk is %d bytes, image is %d bytes.",
			disk, image.Size)
	case disk > 0 && image.MinDiskGB*gib > disk:
		return compute.Invalid("FlavorDiskSmallerThanMinDisk",
			"Flavor's disk is smaller than the minimum size specified in image metadata. "+
				"Flavor disk is %d bytes, minimum size is %d bytes.", disk, image.MinDiskGB*gib)
	}
	return nil
}

// extraSpecsOf returns the flavor as extra specs see it.
func extraSpecsOf(f compute.FlavorRow) extraspecs.Flavor {
	return extraspecs.Flavor{
		Name: f.Name, VCPUs: f.VCPUs, MemoryMB: f.MemoryMB, RootGB: f.RootGB, EphemeralGB: f.EphemeralGB, SwapMB: f.SwapMB,
		Specs: f.Specs,
	}
}

const gib = 1 << 30

// fits refuses an image that a server of a flavor cannot be built from.
func (s *Service) fits(ctx context.Context, image compute.Image, flavor extraspecs.Flavor, project string) error {
	if image.Status != "active" {
		return compute.Invalid("ImageNotActive", "Image %s is not active.", image.ID)
	}
	if err := checkRoom((compute.FlavorRow{MemoryMB: flavor.MemoryMB, RootGB: flavor.RootGB}), image); err != nil {
		return err
	}
	if err := image.Check(); err != nil {
		return err
	}
	settings, err := s.hosts.Requests(ctx)
	if err != nil {
		return err
	}
	_, err = request.New(request.Spec{Flavor: flavor, Image: image.Image, Project: project}, settings, nil)
	if err != nil && !errors.As(err, new(*request.NoValidHost)) { // the failure is reported where it can name the reason
		return err
	}
	return honoured(flavor, image, settings)
}

// honoured refuses a flavor and an image of which Nova's API says that the NUMA topology is
// impossible, or that require what nothing here honours: aliases of PCI devices that do not exist,
// for example.
func honoured(flavor extraspecs.Flavor, image compute.Image, settings request.Settings) error {
	if _, err := extraspecs.Topology(flavor, image.Image); err != nil {
		return err
	}
	if _, err := request.PCIDevices(flavor, settings); err != nil {
		return err
	}
	return extraspecs.Supported(flavor, image.Image, extraspecs.Abilities{
		NUMA: settings.NUMA || settings.Topologies, Aliases: settings.PCI != nil,
	})
}
