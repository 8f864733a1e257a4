// Package load is an HTTP/1.1 client with a low overhead, for measuring servers on the same
// machine: keep-alive connections, requests in a loop for a bounded time, and their durations. It
// is not a general client: it uses one address, supports bodies with a length and in chunks, and no
// redirects, compression, proxies or TLS.
package load
