package placementapi

// NoText is a memo that has to be made again.
var NoText = &treeText{}
