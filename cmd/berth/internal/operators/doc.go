// Package operators has the commands for any OpenStack cloud: audit, capacity, doctor, explain,
// heal, records and watch. A command reads the records of a cloud (cloud_source.go), has a package
// below ops answer its question, and prints the result. The rules are in those packages; services
// and databases of Berth's own are served and maintained by other commands. Two commands list what
// is under way in Berth's own services (underway.go).
package operators
