// Package servers starts the servers that the benchmark measures and compares: Berth's program, the
// server of package canned, Debian's Placement under uwsgi, and a private MariaDB for both. It is
// not for production: everything listens on 127.0.0.1, has no effective passwords, stores its files
// in a directory that the caller removes, and ends with the program that started it.
package servers
