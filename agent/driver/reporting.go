package driver

import "context"

// A Telling is a Driver that reports the ports that it has plugged in: for drivers whose ports no
// network agent can see. A failed report fails the operation.
type Telling struct {
	Driver
	// Tell reports that ports are plugged in. It is called concurrently.
	Tell func(ctx context.Context, ports []string) error
}

// Build implements Driver.
func (t *Telling) Build(ctx context.Context, s Server) error {
	if err := t.Driver.Build(ctx, s); err != nil || len(s.Ports) == 0 {
		return err
	}
	ids := make([]string, len(s.Ports))
	for i, p := range s.Ports {
		ids[i] = p.ID
	}
	return t.Tell(ctx, ids)
}

// Plug implements Driver.
func (t *Telling) Plug(ctx context.Context, id string, p Port) error {
	if err := t.Driver.Plug(ctx, id, p); err != nil {
		return err
	}
	return t.Tell(ctx, []string{p.ID})
}
