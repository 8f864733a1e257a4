// Package servers has the compute service killed, and its neighbours fail, at each step of what
// is done with servers. Afterwards what servers hold has to be what their flavors and ports ask
// for, and none may be stuck. It also has the distribution's Placement and Neutron in the places
// of Berth's. Services are processes of their own; hosts are those of package fakehosts, and
// report over HTTP.
package servers
