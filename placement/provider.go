package placement

import "time"

// A ProviderInfo is the part of a provider that GET /resource_providers/{uuid} shows.
type ProviderInfo struct {
	UUID       UUID
	Name       string
	Generation Generation
	Parent     UUID // empty for a root
	Root       UUID
	Modified   time.Time
}

// A NewProvider is a provider to be created. Parent is empty for a root.
type NewProvider struct {
	UUID   UUID
	Name   string
	Parent UUID
}

// A ProviderChange is what to change of a provider.
type ProviderChange struct {
	Name string
	// SetParent says that Parent counts; an empty Parent then makes the
	// provider a root.
	SetParent bool
	Parent    UUID
	// Reparent allows a provider that has a parent to get another one or
	// none (microversion 1.37).
	Reparent bool
}
