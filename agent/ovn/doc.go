// Package ovn watches the chassis of OVN: what the southbound database says of the
// hosts that run ovn-controller. It does not understand their options (package
// settings does), and is not for changing anything in OVN.
package ovn
