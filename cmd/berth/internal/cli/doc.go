// Package cli is what the commands of berth have in common, and knows none of them. It has access
// to the process ([Env]), exit codes, flags and help texts, results in the formats of the openstack
// command ([Result], [Output]), progress, confirmation, and shell completion.
//
// A command is a type with its flags and what it needs, such as auditOptions, a function that
// returns its cobra command with the flags, such as NewAudit, and a method run(ctx) that does the
// work and is tested without cobra. An error that run returns has an exit code ([Fail]).
package cli
