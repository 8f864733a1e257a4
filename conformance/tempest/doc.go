// Package tempest runs OpenStack's own tests of the compute API, of the distribution's package
// tempest, with "berth up": those of moves and of what is done to servers. It is not for
// production.
package tempest
