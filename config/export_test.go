package config

// NetworkForeign are the groups of Neutron's files that Berth does without.
var NetworkForeign = networkForeign
