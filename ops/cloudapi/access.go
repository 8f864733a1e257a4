package cloudapi

import (
	"context"
	"net/http"
	"sync/atomic"
)

// A ServiceAccess has the address of a service of a cloud, and the token for it. It may be used
// concurrently.
type ServiceAccess struct {
	client  *Client
	service string
	refused atomic.Pointer[string] // the last token that the service has refused
}

// ServiceAccess returns the address of a service and the token for it, "placement" for example. No
// request is sent.
func (c *Client) ServiceAccess(service string) *ServiceAccess {
	return &ServiceAccess{client: c, service: service}
}

// Access returns the address, without a slash at its end, and a token that the service has not
// refused.
func (a *ServiceAccess) Access(ctx context.Context) (endpoint, token string, err error) {
	if endpoint, err = a.client.Endpoint(a.service); err != nil {
		return "", "", err
	}
	token = a.client.provider.Token()
	if refused := a.refused.Load(); refused != nil && *refused == token {
		if err := a.client.provider.Reauthenticate(ctx, token); err != nil {
			return "", "", wrapError("the identity service", err)
		}
		token = a.client.provider.Token()
	}
	return endpoint, token, nil
}

// Discard says that the service has refused a token.
func (a *ServiceAccess) Discard(token string) { a.refused.Store(&token) }

// HTTP returns a client that sends requests as the others of the cloud are sent: with its
// authorities, its bound on requests per second, and counted.
func (c *Client) HTTP() *http.Client {
	client := c.provider.HTTPClient
	return &client
}
