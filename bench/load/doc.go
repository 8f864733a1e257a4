// Package load is an HTTP/1.1 client that costs little, for measuring servers on
// the machine that it runs on itself: keep-alive connections, requests in a loop
// for a bounded time, and what they took. It is not a general client: it speaks
// to one address, knows bodies with a length and in chunks, and nothing of
// redirects, compression, proxies or TLS.
package load
