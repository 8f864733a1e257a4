package network

import "context"

// Wired notes that an agent has plugged ports in on its host, or unplugged them.
// Ports that are not bound to the host are passed over. Compute is told of those
// whose status changes.
func (s *Service) Wired(ctx context.Context, host string, ids []ID, up bool) error {
	var changed []Port
	err := s.update(ctx, func(c *change) error {
		changed = nil
		all, err := ports(c, Where(ByID, ids...))
		if err != nil {
			return err
		}
		for _, p := range all {
			if p.Binding.Host != host || (p.Status == PortActive) == up {
				continue
			}
			p.Status = PortDown
			if up {
				p.Status = PortActive
			}
			c.touch(&p.Common)
			if err := c.Replace(&p.PortRow); err != nil {
				return err
			}
			changed = append(changed, p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	name := "network-vif-unplugged"
	if up {
		name = "network-vif-plugged"
	}
	for _, p := range changed {
		s.events.port(name, p)
	}
	return nil
}
