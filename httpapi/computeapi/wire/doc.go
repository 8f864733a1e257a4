// Package wire is what the parts of the Compute API share: requests with their version, caller and
// policy; schemas of bodies and query strings, and Nova's formats of values; pages and links;
// Nova's errors. The nouns are in the packages next to it, which do not import each other.
//
// It is not for rules: those are in package compute.
package wire
