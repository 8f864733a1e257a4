// Package guarantee is the arithmetic of guaranteed rates: names of providers, the providers of an
// agent's report, the resource request of a port, and the change of an allocation when a policy
// changes. It is pure: no clock, no store, no network. It does not
// speak to placement, to agents or to users; agents, the network service, compute and the
// operator's tools share this package so that they agree.
//
// All rates are in kilobits or kilopackets per second. Directions are the server's: egress is its
// upload.
//
// From a guarantee to the enforced rate:
//
//	agent's file ─► Report ─► Driver.State ─► providers in placement
//	rules, segments ─► Port.Request ─► candidates ─► ProfileAllocation
//	ProfileAllocation, States ─► Responsible ─► the driver that binds
//	old and new rules ─► PolicyChange.Plan ─► allocations.Amounts.Add
package guarantee
