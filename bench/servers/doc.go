// Package servers starts what the benchmark measures and compares: Berth's
// program, the server of package canned, Debian's Placement under uwsgi, and a
// private MariaDB for both. It is not for production: everything listens on
// 127.0.0.1, asks for no password worth the name, keeps its files in a directory
// that the caller removes, and ends with the program that started it.
package servers
