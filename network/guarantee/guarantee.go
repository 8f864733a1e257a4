// Package guarantee is the arithmetic of guaranteed rates: how providers are named,
// what an agent's report makes of them, what a port asks of placement, and how an
// allocation follows a change of policy. It is pure: no clock, no store, no
// network, nothing of the rest of Berth. Whoever talks to placement, to agents or
// to users is not here; agents, the network service, compute and the operator's
// tools share this package so that they agree.
//
// All rates are in kilobits or kilopackets per second. Directions are the server's:
// egress is its upload.
//
// From a guarantee to the wire:
//
//	agent's file ─► Report ─► Driver.State ─► providers in placement
//	rules, segments ─► Port.Request ─► candidates ─► ProfileAllocation
//	ProfileAllocation, States ─► Responsible ─► the driver that binds
//	old and new rules ─► PolicyChange.Plan ─► Amounts.Add
package guarantee
