package tc

import "github.com/vishvananda/netlink"

// Flower, U32 and DecodeFilter open the netlink form of filters to tests: no
// kernel has to have both classifiers.
func Flower(f Filter, a netlink.FilterAttrs) netlink.Filter { return f.flower(a) }
func U32(f Filter, a netlink.FilterAttrs) netlink.Filter    { return f.u32(a) }
func DecodeFilter(f netlink.Filter) Filter                  { return decodeFilter(f) }
