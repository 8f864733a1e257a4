// Package operators has the commands for any OpenStack cloud: audit, capacity, doctor, explain,
// heal, records and watch. A command reads the records of a cloud (cloud_source.go), has a package
// below ops answer its question, and prints the result. The rules are in those packages; services
// and databases of Berth's own are served and maintained by other commands. Two commands list what
// is under way in Berth's own services (underway.go).
//
// # A new command
//
//  1. A pure function of a cloud's records (cloud.Cloud) in a package below ops, tested on drawn
//     clouds against a simpler count or a real service.
//  2. Here a file of the command's name with its options, the function that returns its cobra
//     command, and run(ctx). cloudSource has the records, cli.AddOutput and a cli.Result print.
//     Exit codes are 0, 6, 1, 2 and 3 (decision 44). Lines of help have at most 80 columns, and its
//     examples run.
//  3. Cases in mistakes_test.go, completion_test.go and format_test.go of cmd/berth.
//  4. Rows in both tables of docs/operations/README.md and in operators-tools.md, and a page or a
//     section with what it really prints.
package operators
