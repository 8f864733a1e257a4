package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/traits"
)

// A guideProvider is a provider of the guide's example. The UUIDs of agents and
// devices are what Neutron derives from the names (UUID version 5).
type guideProvider struct {
	uuid, name, parent string
	inventories        map[string]resourceproviders.Inventory
	traits             []string
}

// guide is the host of the Guaranteed Minimum Bandwidth guide as the compute
// service and the network agents report it. The guide prints another UUID for
// br-physnet0, which does not follow from the names.
var guide = []guideProvider{
	{
		uuid: "3b36d91e-bf60-460f-b1f8-3322dee5cdfd", name: "devstack0",
		inventories: map[string]resourceproviders.Inventory{
			"VCPU":      guideInventory(8, 16, 0, 8),
			"MEMORY_MB": guideInventory(16384, 1.5, 512, 16384),
			"DISK_GB":   guideInventory(100, 1, 0, 100),
		},
		traits: []string{"COMPUTE_NODE", "COMPUTE_NET_ATTACH_INTERFACE", "HW_CPU_X86_VMX"},
	},
	{
		uuid: "4a8a819d-61f9-5822-8c5c-3e9c7cb942d6", name: "devstack0:NIC Switch agent",
		parent: "3b36d91e-bf60-460f-b1f8-3322dee5cdfd",
	},
	{
		uuid: "1c7e83f0-108d-5c35-ada7-7ebebbe43aad", name: "devstack0:NIC Switch agent:ens5",
		parent:      "4a8a819d-61f9-5822-8c5c-3e9c7cb942d6",
		inventories: guideBandwidth(40000000),
		traits: []string{
			"CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_DIRECT", "CUSTOM_VNIC_TYPE_DIRECT_PHYSICAL", "CUSTOM_VNIC_TYPE_MACVTAP",
		},
	},
	{
		uuid: "89ca1421-5117-5348-acab-6d0e2054239c", name: "devstack0:Open vSwitch agent",
		parent: "3b36d91e-bf60-460f-b1f8-3322dee5cdfd",
	},
	{
		uuid: "4a6f5f40-b7a1-5df4-9938-63983543f365", name: "devstack0:Open vSwitch agent:br-physnet0",
		parent:      "89ca1421-5117-5348-acab-6d0e2054239c",
		inventories: guideBandwidth(10000000),
		traits:      []string{"CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_NORMAL", "CUSTOM_VNIC_TYPE_DIRECT"},
	},
}

func guideInventory(total int, ratio float32, reserved, maxUnit int) resourceproviders.Inventory {
	return resourceproviders.Inventory{
		Total: total, AllocationRatio: ratio, Reserved: reserved, MinUnit: 1, MaxUnit: maxUnit, StepSize: 1,
	}
}

// guideBandwidth is what a device offers in each direction, in kbit/s.
func guideBandwidth(kbps int) map[string]resourceproviders.Inventory {
	inv := guideInventory(kbps, 1, 0, 2147483647)
	return map[string]resourceproviders.Inventory{
		"NET_BW_EGR_KILOBIT_PER_SEC": inv,
		"NET_BW_IGR_KILOBIT_PER_SEC": inv,
	}
}

// loadGuide brings the example into the service at the URL through its API.
// Providers that are there already are left as they are.
func loadGuide(ctx context.Context, url string) error {
	client := &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{TokenID: "admin"},
		Endpoint:       url + "/",
		Type:           "placement",
		Microversion:   "1.39",
	}
	for _, p := range guide {
		err := resourceproviders.Get(ctx, client, p.uuid).Err
		if err == nil {
			continue
		}
		if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return err
		}
		if err := p.load(ctx, client); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// load creates one provider with its inventories and traits.
func (p guideProvider) load(ctx context.Context, client *gophercloud.ServiceClient) error {
	made, err := resourceproviders.Create(ctx, client, resourceproviders.CreateOpts{
		Name: p.name, UUID: p.uuid, ParentProviderUUID: p.parent,
	}).Extract()
	if err != nil {
		return err
	}
	generation := made.Generation
	if len(p.inventories) > 0 {
		set, err := resourceproviders.UpdateInventories(ctx, client, p.uuid, resourceproviders.UpdateInventoriesOpts{
			ResourceProviderGeneration: generation, Inventories: p.inventories,
		}).Extract()
		if err != nil {
			return err
		}
		generation = set.ResourceProviderGeneration
	}
	if len(p.traits) == 0 {
		return nil
	}
	for _, name := range p.traits {
		if err := ensureTrait(ctx, client, name); err != nil {
			return err
		}
	}
	return resourceproviders.UpdateTraits(ctx, client, p.uuid, resourceproviders.UpdateTraitsOpts{
		ResourceProviderGeneration: generation, Traits: p.traits,
	}).Err
}

// ensureTrait creates a custom trait; standard ones are there.
func ensureTrait(ctx context.Context, client *gophercloud.ServiceClient, name string) error {
	if len(name) < 7 || name[:7] != "CUSTOM_" {
		return nil
	}
	return traits.Create(ctx, client, name).Err
}
