package daemon

import (
	"fmt"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/request"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/config"
)

// computeSettings converts the settings for the service. The error says which of them is wrong.
func computeSettings(cfg *config.Compute) (set compute.Settings, err error) {
	set = compute.DefaultSettings()
	set.Quotas = computeQuotas(&cfg.Quota)
	set.ServiceDownTime = time.Duration(cfg.Nova.ServiceDownTime) * time.Second
	set.HostTime = time.Duration(cfg.Nova.ResponseTimeout) * time.Second
	set.LeaseTime = time.Duration(cfg.Boots.TakeoverTime) * time.Second
	set.History = time.Duration(cfg.Boots.HistoryDays) * 24 * time.Hour
	set.BuildTime = time.Duration(cfg.Nova.BuildTimeout) * time.Second
	set.PortInterval = time.Duration(cfg.Nova.HealInterval) * time.Second
	set.ResizeOnHost, set.ConfirmWindow = cfg.Nova.ResizeSameHost, time.Duration(cfg.Nova.ConfirmWindow)*time.Second
	set.LiveRetries = cfg.Nova.LiveRetries
	set.DefaultZone = cfg.Nova.DefaultZone
	set.NameTemplate, set.UniqueNames = cfg.Nova.NameTemplate, cfg.Nova.UniqueNames
	if set.Requests, err = computeRequests(cfg); err != nil {
		return set, err
	}
	set.Selection = computeSelection(cfg)
	set.AllowNetworkQoS, set.AllowAttachQoS = cfg.Boots.AllowNetworkQoS, cfg.Boots.AllowAttachQoS
	set.GuaranteedOperations = cfg.Boots.Guaranteed
	return set, nil
}

// computeQuotas returns the bounds of projects.
func computeQuotas(q *config.Quota) compute.Quotas {
	all := compute.DefaultQuotas()
	for resource, most := range map[string]int{
		compute.Instances: q.Instances, compute.Cores: q.Cores, compute.RAM: q.RAM, compute.MetadataItems: q.MetadataItems,
		compute.InjectedFiles: q.InjectedFiles, compute.InjectedBytes: q.InjectedFileBytes,
		compute.InjectedPath: q.InjectedPathLength,
		compute.KeyPairs:     q.KeyPairs, compute.ServerGroups: q.ServerGroups,
		compute.ServerGroupMembers: q.ServerGroupMembers,
	} {
		all[resource] = int64(most)
	}
	return all
}

// computeRequests converts the settings of requests to placement.
func computeRequests(cfg *config.Compute) (set request.Settings, err error) {
	set = RequestSettings(&cfg.Scheduler)
	set.Owner, set.Off = cfg.Boots.OwnedHosts, cfg.Boots.FiltersOff
	if cfg.Scheduler.PCIInPlacement {
		if set.PCI, err = request.ParseAliases(cfg.Aliases); err != nil {
			err = fmt.Errorf("[pci] alias: %w", err)
		}
	}
	return set, err
}

// RequestSettings converts Nova's own settings of requests to placement.
func RequestSettings(s *config.Scheduler) request.Settings {
	set := request.DefaultSettings()
	set.MaxResults = s.MaxPlacementResults
	set.LimitTenants, set.TenantsNeedAggregate = s.LimitTenants, s.TenantsNeedAggregate
	set.Zones, set.ImageTypes, set.ImageMetadata = s.Zones, s.ImageTypes, s.ImageMetadata
	set.IsolateAggregates, set.RoutedNetworks = s.IsolateAggregates, s.RoutedNetworks
	set.DisableFallbackPCPU = s.DisableFallbackPCPU
	return set
}

// computeSelection converts the settings of the selection among placement's candidates.
func computeSelection(cfg *config.Compute) selection.Settings {
	s, w, set := &cfg.Scheduler, &cfg.Scheduler.Weights, selection.DefaultSettings()
	set.Attempts, set.Subset, set.Shuffle = s.MaxAttempts, s.SubsetSize, s.ShuffleBest
	set.Candidates = cfg.Boots.CandidatesPerHost
	set.RAM, set.CPU, set.Disk, set.IOOps = w.RAM, w.CPU, w.Disk, w.IOOps
	set.BuildFailure, set.SoftAffinity, set.SoftAntiAffinity = w.BuildFailure, w.SoftAffinity, w.SoftAntiAffinity
	return set
}
