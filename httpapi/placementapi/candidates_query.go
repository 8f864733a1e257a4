package placementapi

import (
	"regexp"
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/placement"
)

// The keys of groups: suffixes are numbers from 1.25, words from 1.33.
var (
	numberedKey = regexp.MustCompile(`^(resources|required|member_of|in_tree)(` + groupSuffix + `)?$`)
	namedKey    = regexp.MustCompile(`^(resources|required|member_of|in_tree)(` + freeGroupSuffix + `)?$`)
)

// cutGroupKey splits the key of a group into its name and suffix, false for other keys.
func cutGroupKey(key string, minor int) (name, suffix string, ok bool) {
	syntax := numberedKey
	if minor >= 33 {
		syntax = namedKey
	}
	m := syntax.FindStringSubmatch(key)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// CandidatesQuery decodes the query string of a request for candidates at microversion 1.minor. All
// its errors are of kind Invalid.
//
// 1.16 has limit, 1.17 required traits, 1.21 member_of, 1.22 forbidden traits, 1.24 repeated
// member_of, 1.25 groups with suffixes and group_policy, 1.29 nested trees (before it trees are
// flat), 1.31 in_tree, 1.32 forbidden aggregates, 1.33 suffixes that are words, 1.35 root_required,
// 1.36 same_subtree and groups without resources, 1.39 any-traits and repeated required.
func CandidatesQuery(raw string, minor int) (placement.Query, error) {
	var pq placement.Query
	q, err := validQuery(raw, minor, candidatesListSchemas.at(minor))
	if err != nil {
		return pq, err
	}
	if err := q.requestWide(&pq); err != nil {
		return pq, err
	}
	if pq.Groups, err = q.groups(); err != nil {
		return pq, err
	}
	check := checkOrphans
	if q.minor >= 36 {
		check = checkSubtrees
	}
	if err := check(pq); err != nil {
		return pq, err
	}
	if q.minor >= 22 {
		if err := checkConflicts(pq.Groups); err != nil {
			return pq, err
		}
	}
	return pq, q.checkGroupPolicy(pq.Groups)
}

// requestWide decodes the parameters of the whole request. Of a repeated limit or group_policy the
// first counts, as in upstream.
func (q query) requestWide(pq *placement.Query) error {
	pq.Flat = q.minor < 29
	if limit, ok := q.first("limit"); ok {
		n, _, ok := pyjson.ParseInt(limit)
		if !ok || n < 1 {
			return badQuery("'%s' does not match '^[1-9][0-9]*$'", limit)
		}
		pq.Limit = int(min(n, placement.MaxInt))
	}
	policy, _ := q.first("group_policy")
	pq.Isolate = policy == "isolate"
	if err := q.rootRequired(pq); err != nil {
		return err
	}
	for _, v := range q.all("same_subtree") {
		set, err := parseSubtree(v)
		if err != nil {
			return err
		}
		pq.SameSubtrees = append(pq.SameSubtrees, set)
	}
	return nil
}

// rootRequired decodes the traits that the root of a candidate's tree must and must not have. There
// are no any-traits.
func (q query) rootRequired(pq *placement.Query) error {
	values := q.all("root_required")
	if len(values) == 0 {
		return nil
	}
	if len(values) > 1 {
		return fault.New(fault.Invalid, placement.CodeQueryDuplicateKey,
			"Query parameter 'root_required' may be specified only once.")
	}
	required, forbidden, err := parseTraits(values[0], min(q.minor, 38))
	if err != nil {
		return err
	}
	var conflicts []string
	forbids := setOf(forbidden)
	for _, name := range required {
		pq.RootRequired = append(pq.RootRequired, name[0])
		if forbids[name[0]] {
			conflicts = append(conflicts, name[0])
			delete(forbids, name[0]) // it is named once
		}
	}
	pq.RootForbidden = forbidden
	if len(conflicts) > 0 {
		return fault.New(fault.Invalid, placement.CodeQueryBadValue,
			"Conflicting required and forbidden traits found in root_required: %s", strings.Join(conflicts, ", "))
	}
	return nil
}

// parseSubtree decodes the suffixes of one same_subtree parameter.
func parseSubtree(text string) ([]string, error) {
	var set []string
	seen := make(map[string]bool)
	for suffix := range strings.SplitSeq(text, ",") {
		suffix = trimPython(suffix)
		if suffix == "" {
			return nil, fault.New(fault.Invalid, placement.CodeQueryBadValue,
				"Empty string (unsuffixed group) can not be specified in `same_subtree` ")
		}
		if !seen[suffix] {
			set, seen[suffix] = append(set, suffix), true
		}
	}
	return set, nil
}

// groups decodes the request groups, in the order in which their suffixes first appear.
func (q query) groups() ([]placement.RequestGroup, error) {
	var groups []placement.RequestGroup
	places := make(map[string]int) // of the groups by suffix
	read := make(map[string]bool)  // parameters of which all values are read
	for _, p := range q.params {
		name, suffix, ok := cutGroupKey(p.key, q.minor)
		if !ok || read[p.key] {
			continue
		}
		read[p.key] = name == "required" || name == "member_of"
		i, found := places[suffix]
		if !found {
			i = len(groups)
			places[suffix] = i
			groups = append(groups, placement.RequestGroup{Suffix: suffix})
		}
		if err := q.fill(&groups[i], name, p.value); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// fill decodes one parameter into its group.
func (q query) fill(g *placement.RequestGroup, name, value string) (err error) {
	switch name {
	case "resources":
		g.Resources, err = parseResources(value)
	case "required":
		g.Required, g.Forbidden, err = q.traits(g.Suffix)
	case "member_of":
		g.MemberOf, g.NotMemberOf, err = q.memberOf(g.Suffix)
	case "in_tree":
		uuid := trimPython(value)
		if !isUUIDLike(uuid) {
			return badQuery("Expected 'in_tree' parameter to be a format of uuid. Got: %s", value)
		}
		g.InTree = placement.UUID(uuid)
	}
	return err
}

// checkOrphans refuses groups without resources, the rule before 1.36. Orphaned traits are reported
// before orphaned aggregates, and both before a group that has only in_tree (_check_for_orphans).
// The two spaces in the first text are upstream's.
func checkOrphans(pq placement.Query) error {
	var traits, aggregates []string
	bare := false
	for _, g := range pq.Groups {
		if len(g.Resources) > 0 {
			continue
		}
		bare = true
		if len(g.Required) > 0 {
			traits = append(traits, "required"+g.Suffix)
		}
		if len(g.MemberOf) > 0 || len(g.NotMemberOf) > 0 {
			aggregates = append(aggregates, "member_of"+g.Suffix)
		}
	}
	refuse := func(format string, args ...any) error { return fault.New(fault.Invalid, "", format, args...) }
	switch {
	case len(traits) > 0:
		return refuse(
			"All traits parameters must be associated with resources.  Found the following orphaned traits keys: %s",
			strings.Join(traits, ", "))
	case len(aggregates) > 0:
		return refuse(
			"All member_of parameters must be associated with resources. Found the following orphaned member_of keys: %s",
			strings.Join(aggregates, ", "))
	case bare:
		return refuse("All request groups must specify resources.")
	case len(pq.Groups) == 0:
		return refuse("At least one request group (`resources` or `resources{$S}`) is required.")
	}
	return nil
}

// checkSubtrees refuses groups without resources that are in no same_subtree, and suffixes there
// that no group has: the rule since 1.36.
func checkSubtrees(pq placement.Query) error {
	var suffixes, resourceless, misplaced, unreal []string
	subtrees := slices.Concat(pq.SameSubtrees...)
	inSubtree, known := setOf(subtrees), make(map[string]bool)
	for _, g := range pq.Groups {
		suffixes, known[g.Suffix] = append(suffixes, g.Suffix), true
		if len(g.Resources) > 0 {
			continue
		}
		resourceless = append(resourceless, g.Suffix)
		if !inSubtree[g.Suffix] {
			misplaced = append(misplaced, g.Suffix)
		}
	}
	for _, s := range subtrees {
		if !known[s] {
			unreal, known[s] = append(unreal, s), true // it is named once
		}
	}
	switch {
	case len(resourceless) == len(pq.Groups):
		return fault.New(fault.Invalid, placement.CodeQueryMissingValue,
			"There must be at least one resources or resources[$S] parameter.")
	case len(misplaced) > 0:
		return fault.New(fault.Invalid, placement.CodeQueryBadValue,
			"Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - %s.",
			listed(misplaced))
	case len(unreal) > 0:
		return fault.New(fault.Invalid, placement.CodeQueryBadValue,
			"Real suffixes should be specified in `same_subtree`: %s not found in %s.", listed(unreal), listed(suffixes))
	}
	return nil
}

// setOf returns a set that its caller may change.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// listed formats a list of strings as Python's repr does.
func listed(list []string) string {
	items := make([]pyjson.Value, len(list))
	for i, s := range list {
		items[i] = pyjson.NewString(s)
	}
	return pyjson.Repr(pyjson.NewArray(items...))
}

// checkConflicts refuses groups that forbid all traits of which they require one. The fault has no
// code, as upstream's does not (_check_forbidden).
func checkConflicts(groups []placement.RequestGroup) error {
	var conflicts []string
	for _, g := range groups {
		if len(g.Forbidden) == 0 {
			continue
		}
		forbids := setOf(g.Forbidden)
		for _, alternatives := range g.Required {
			allowed := func(name string) bool { return !forbids[name] }
			if !slices.ContainsFunc(alternatives, allowed) {
				names := slices.Sorted(slices.Values(alternatives))
				conflicts = append(conflicts, "required"+g.Suffix+": ("+strings.Join(names, ", ")+")")
			}
		}
	}
	if len(conflicts) == 0 {
		return nil
	}
	slices.Sort(conflicts)
	return fault.New(fault.Invalid, "", "Conflicting required and forbidden traits found in the following traits keys: %s",
		strings.Join(conflicts, ", "))
}

// checkGroupPolicy requires group_policy when there are several groups with suffixes. It does so at
// every version, as upstream does; before 1.25 there are no suffixes.
func (q query) checkGroupPolicy(groups []placement.RequestGroup) error {
	suffixed := 0
	for _, g := range groups {
		if g.Suffix != "" {
			suffixed++
		}
	}
	if policy, _ := q.first("group_policy"); suffixed > 1 && policy == "" {
		return fault.New(fault.Invalid, "",
			"The \"group_policy\" parameter is required when specifying more than one \"resources{N}\" parameter.")
	}
	return nil
}

// LoggedQuery returns the query string in what a log has of a request for candidates: its path or
// URL, maybe between the method and the version of HTTP. Anything else is taken for the query
// string itself.
func LoggedQuery(text string) string {
	if path, query, ok := strings.Cut(text, "?"); ok && (path == "" || strings.HasSuffix(path, "allocation_candidates")) {
		text, _, _ = strings.Cut(query, " ")
	}
	return text
}
