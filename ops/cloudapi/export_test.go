package cloudapi

import "context"

// ConnectAt is Connect with another directory than /etc/openstack.
func ConnectAt(ctx context.Context, o Options, site string) (*Client, error) {
	o.site = site
	return Connect(ctx, o)
}
