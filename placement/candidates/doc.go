// Package candidates finds the ways in which a request for resources can be
// satisfied: which provider could give what, for every group of the query at
// once. It is the solver and nothing else: it takes a snapshot and a query, has
// no clock, no log and no store, and the same snapshot and query give the same
// candidates in the same order. It does not reserve anything; a candidate is
// advice, and the claim checks again.
//
// # How to read it
//
// From the top down; no file calls up:
//
//	search.go       Search: the query is compiled, and the fault of an unknown name found
//	counts.go       Count: the same constraints, counted instead of searched
//	reasons.go      which trees have candidates, and why one has none
//	summary.go      which providers an answer describes besides its candidates
//	result.go       Result.All: the candidates, in order or as a sample
//	solver.go       the solver of one All; sample.go has the reservoir of a sample
//	walk.go         from tree to tree: the order of the trees, and their bounds
//	anchors.go      assignments that another tree has too
//	candidate.go    the Candidate of an assignment
//	assignment.go   depth-first search in one tree
//	matching.go     whether the rest of an assignment can be completed at all
//	constraints.go  capacity, isolation and required traits; subtree.go has same_subtree
//	options.go      the providers that can serve each request in one tree
//	compile.go      names to ids, groups to requests
//	trees.go        the trees that may have candidates, by the indexes of the snapshot
//	sharing.go      the sharing providers that could serve
//	fit.go          one provider and one request
//	query.go        the compiled query, which all of these read
//
// # Algorithm
//
// A query is cut into requests, each of which one provider must satisfy: a
// suffixed group is one request, the unsuffixed group is one request for each of its
// resource classes. A candidate belongs to an anchor, a tree: each request is
// satisfied by a provider of the anchor or by one that shares with it (a provider with
// MISC_SHARES_VIA_AGGREGATE that has an aggregate in common with one of the anchor's).
//
//  1. Names are resolved; when one is unknown, the groups are examined as
//     upstream does, to find which fault the caller must see, if any (compile.go,
//     search.go).
//  2. The trees are narrowed by intersecting the snapshot's bit sets of classes,
//     traits and aggregates, widened by the anchors of the sharing providers
//     that could serve (trees.go, sharing.go).
//  3. A scan goes through the trees that are left, 64 at a time, and drops those
//     in which no provider has the free capacity for what some request needs (trees.go).
//  4. In each tree the providers that fit each request are listed, and the requests with
//     the fewest choices are put first (options.go, fit.go).
//  5. A depth-first search gives one request after the other a provider
//     (assignment.go). It gives up a branch as soon as capacity, isolation, the
//     required traits or a subtree cannot be satisfied any more (constraints.go,
//     subtree.go). When it has met a number of dead ends in a row it also checks,
//     before each step, whether the remaining requests can be matched to providers at
//     all (matching.go).
//  6. What was found is cut to Max, freed of candidates that clients without
//     trees must not see, and limited (walk.go, solver.go). Upstream cuts and leaves out
//     in this order too, so that there can be fewer candidates than Max though there are more.
//
// For a sample ([placement]randomize_allocation_candidates) all candidates are generated, and a
// reservoir keeps as many as are wanted (sample.go). Where no tree can have two candidates, because
// for each request there is a class of which no tree has two providers, the trees are put in random
// order instead, and the search ends with the limit.
//
// # Cost
//
// With T trees in the snapshot, t of them left after step 2, P providers in those that have free
// capacity, G requests, A the number of choices and C the candidates that are taken: step 2 costs
// T/64 operations for each name in the query, step 3 about one for each of the t trees and class,
// step 4 G·P/64 and one for each of the P that has the classes and traits, step 5 about G for each
// candidate, plus at most a bounded number of dead ends between two candidates when what stands in
// the way is isolation or capacity of one class, each of them G·A. Where capacities of several
// classes are in the way it may take longer than anyone waits, and Result.Until ends it. Nothing
// from step 3 on is done before it is requested, so a limit bounds the work, but for a sample of
// trees that may have several candidates, which costs all of it; other samples cost step 3 for all
// trees.
//
// Memory is bounded by T/8 bytes, by the largest tree, by the limit or 4·T bytes when
// candidates are sampled, and by the number of trees when they are taken breadth
// first. A sample without a limit shuffles one bounded stretch of the candidates
// after the other.
package candidates
