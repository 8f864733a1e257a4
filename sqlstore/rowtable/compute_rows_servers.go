package rowtable

import (
	"time"

	"github.com/berthcloud/berth/compute"
)

func serverTable() *table[compute.ServerRow] {
	type T = compute.ServerRow
	return newTable("servers", byID, nil,
		text("id", func(r *T) *compute.ID { return &r.ID }, compute.ByID),
		number("number", func(r *T) *int64 { return &r.Number }),
		text("project", func(r *T) *string { return &r.Project }, compute.ByProject),
		text("owner", func(r *T) *string { return &r.User }, compute.ByUser),
		text("name", func(r *T) *string { return &r.Name }),
		text("description", func(r *T) *string { return &r.Description }),
		text("hostname", func(r *T) *string { return &r.Hostname }),
		text("reservation", func(r *T) *string { return &r.Reservation }),
		number("place", func(r *T) *int { return &r.Index }),
		text("state", func(r *T) *string { return &r.State }),
		text("task", func(r *T) *string { return &r.Task }),
		number("power", func(r *T) *compute.Power { return &r.Power }),
		text("host", func(r *T) *string { return &r.Host }, compute.ByHost),
		text("node", func(r *T) *string { return &r.Node }),
		text("zone", func(r *T) *string { return &r.Zone }),
		text("forced", func(r *T) *string { return &r.Forced }),
		text("image", func(r *T) *compute.ID { return &r.Image }),
		document("flavor", func(r *T) *[]byte { return &r.Flavor }),
		text("flavor_id", func(r *T) *compute.ID { return &r.FlavorID }, compute.ByFlavor),
		text("key_name", func(r *T) *string { return &r.KeyName }),
		text("key_data", func(r *T) *string { return &r.KeyData }),
		pairs("metadata", func(r *T) *map[string]string { return &r.Metadata }),
		texts("tags", func(r *T) *[]string { return &r.Tags }),
		texts("security_groups", func(r *T) *[]string { return &r.SecurityGroups }),
		text("user_data", func(r *T) *string { return &r.UserData }),
		flag("config_drive", func(r *T) *bool { return &r.ConfigDrive }),
		text("disk_config", func(r *T) *string { return &r.DiskConfig }),
		text("access_ipv4", func(r *T) *string { return &r.AccessIPv4 }),
		text("access_ipv6", func(r *T) *string { return &r.AccessIPv6 }),
		optional("server_group", func(r *T) *compute.ID { return &r.Group }, compute.ByGroup),
		document("hints", func(r *T) *[]byte { return &r.Hints }),
		text("locked_by", func(r *T) *string { return &r.Locked }),
		text("locked_reason", func(r *T) *string { return &r.LockedReason }),
		number("progress", func(r *T) *int { return &r.Progress }),
		document("fault", func(r *T) *[]byte { return &r.Fault }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
		moment("updated_at", func(r *T) *time.Time { return &r.UpdatedAt }),
		moment("launched_at", func(r *T) *time.Time { return &r.LaunchedAt }),
		moment("terminated_at", func(r *T) *time.Time { return &r.TerminatedAt }),
		document("image_meta", func(r *T) *[]byte { return &r.ImageMeta }),
		amountOf("vcpus", (*T).VCPUs, compute.VCPUs),
		amountOf("memory_mb", (*T).MemoryMB, compute.MemoryMB),
		textOf("busy_host", (*T).BusyHost, compute.ByBusyHost),
		textOf("lower_hostname", (*T).LowerHostname, compute.ByHostname),
	)
}

// serverEntries have what lists of servers are filtered and sorted by.
func serverEntries() projection[compute.ServerEntry] {
	row := func(r *compute.ServerEntry) *compute.ServerRow { return &r.ServerRow }
	return project(serverTable(), row, []string{
		"id", "number", "project", "owner", "name", "description", "hostname", "reservation", "place",
		"state", "task", "power", "host", "node", "zone", "image", "flavor_id", "key_name", "metadata",
		"tags", "config_drive", "access_ipv4", "access_ipv6", "locked_by", "progress", "created_at",
		"updated_at", "launched_at", "terminated_at",
	})
}

func serverSummaries() projection[compute.ServerSummary] {
	row := func(r *compute.ServerSummary) *compute.ServerRow { return &r.ServerRow }
	return project(serverTable(), row, []string{
		"id", "project", "hostname", "lower_hostname", "state", "task", "host", "node", "server_group", "created_at",
	})
}

// serverUses have what the names of servers are made of, and what is added up of them.
func serverUses() projection[compute.ServerUse] {
	row := func(r *compute.ServerUse) *compute.ServerRow { return &r.ServerRow }
	return project(serverTable(), row, []string{
		"id", "number", "project", "owner", "name", "hostname", "state", "task", "host", "node",
		"flavor", "launched_at", "terminated_at",
	})
}

func serverPortTable() *table[compute.PortRow] {
	type T = compute.PortRow
	return newTable("server_ports", []string{"port"}, nil,
		text("port", func(r *T) *compute.ID { return &r.Port }, compute.ByPort),
		text("server", func(r *T) *compute.ID { return &r.Server }, compute.ByServer),
		text("network", func(r *T) *compute.ID { return &r.Network }),
		number("place", func(r *T) *int { return &r.Index }),
		text("tag", func(r *T) *string { return &r.Tag }),
		flag("own", func(r *T) *bool { return &r.Own }),
		document("seen", func(r *T) *[]byte { return &r.Seen }),
		flag("unplugged", func(r *T) *bool { return &r.Unplugged }),
	)
}

func actionTable() *table[compute.ActionRow] {
	type T = compute.ActionRow
	return newTable("actions", byID, nil,
		text("id", func(r *T) *compute.ID { return &r.ID }, compute.ByID),
		text("server", func(r *T) *compute.ID { return &r.Server }, compute.ByServer),
		text("action", func(r *T) *string { return &r.Action }),
		text("request", func(r *T) *string { return &r.Request }, compute.ByRequest),
		text("project", func(r *T) *string { return &r.Project }),
		text("owner", func(r *T) *string { return &r.User }),
		moment("started_at", func(r *T) *time.Time { return &r.StartedAt }),
		moment("updated_at", func(r *T) *time.Time { return &r.UpdatedAt }, compute.UpdatedAt),
		text("message", func(r *T) *string { return &r.Message }),
		number("place", func(r *T) *int { return &r.Sequence }),
	)
}

func eventTable() *table[compute.EventRow] {
	type T = compute.EventRow
	return newTable("events", byID, nil,
		text("id", func(r *T) *compute.ID { return &r.ID }, compute.ByID),
		text("action", func(r *T) *compute.ID { return &r.Action }, compute.ByAction),
		number("place", func(r *T) *int { return &r.Sequence }),
		text("event", func(r *T) *string { return &r.Event }),
		text("host", func(r *T) *string { return &r.Host }),
		moment("started_at", func(r *T) *time.Time { return &r.StartedAt }),
		moment("finished_at", func(r *T) *time.Time { return &r.FinishedAt }),
		text("result", func(r *T) *string { return &r.Result }),
		text("traceback", func(r *T) *string { return &r.Traceback }),
		text("details", func(r *T) *string { return &r.Details }),
	)
}

func migrationTable() *table[compute.MigrationRow] {
	type T = compute.MigrationRow
	return newTable("migrations", byID, nil,
		text("id", func(r *T) *compute.ID { return &r.ID }, compute.ByID),
		number("number", func(r *T) *int64 { return &r.Number }),
		text("server", func(r *T) *compute.ID { return &r.Server }, compute.ByServer),
		text("project", func(r *T) *string { return &r.Project }),
		text("owner", func(r *T) *string { return &r.User }),
		text("type", func(r *T) *string { return &r.Type }),
		text("status", func(r *T) *string { return &r.Status }, compute.ByStatus),
		text("source", func(r *T) *string { return &r.Source }),
		text("source_node", func(r *T) *string { return &r.SourceNode }),
		text("dest", func(r *T) *string { return &r.Dest }),
		text("dest_node", func(r *T) *string { return &r.DestNode }),
		text("old_flavor", func(r *T) *compute.ID { return &r.OldFlavor }),
		text("new_flavor", func(r *T) *compute.ID { return &r.NewFlavor }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
		moment("updated_at", func(r *T) *time.Time { return &r.UpdatedAt }, compute.UpdatedAt),
		document("former", func(r *T) *[]byte { return &r.Former }),
	)
}

func migrationEntries() projection[compute.MigrationEntry] {
	row := func(r *compute.MigrationEntry) *compute.MigrationRow { return &r.MigrationRow }
	return project(migrationTable(), row, []string{
		"id", "number", "server", "project", "owner", "type", "status", "source", "source_node", "dest",
		"dest_node", "old_flavor", "new_flavor", "created_at", "updated_at",
	})
}

func operationTable() *table[compute.OperationRow] {
	type T = compute.OperationRow
	return newTable("operations", byID, nil,
		text("id", func(r *T) *compute.ID { return &r.ID }, compute.ByID),
		text("server", func(r *T) *compute.ID { return &r.Server }, compute.ByServer),
		text("kind", func(r *T) *string { return &r.Kind }),
		text("step", func(r *T) *string { return &r.Step }),
		document("body", func(r *T) *[]byte { return &r.Body }),
		text("worker", func(r *T) *string { return &r.Worker }),
		moment("lease", func(r *T) *time.Time { return &r.Lease }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
		flag("back", func(r *T) *bool { return &r.Back }),
		text("back_to", func(r *T) *string { return &r.UndoTo }),
		text("awaits", func(r *T) *compute.ID { return &r.Awaits }),
		text("reservation", func(r *T) *string { return &r.Reservation }, compute.ByReservation),
		textOf("claim_host", (*T).ClaimHost, compute.ByHost),
		textOf("devices", (*T).ChosenDevices),
		textOf("ready", (*T).Ready, compute.ByReady),
		document("queue", func(r *T) *[]byte { return &r.Queue }),
		flag("aborted", func(r *T) *bool { return &r.Aborted }),
		textOf("assignment", (*T).ChosenAssignment),
	)
}

func operationSummaries() projection[compute.OperationSummary] {
	type T = compute.OperationSummary
	row := func(r *T) *compute.OperationRow { return &r.OperationRow }
	return project(operationTable(), row, []string{
		"id", "server", "kind", "step", "back", "back_to", "awaits", "reservation", "worker", "lease",
		"created_at",
	},
		text("claim_host", func(r *T) *string { return &r.ClaimHost }, compute.ByHost),
		document("devices", func(r *T) *[]byte { return &r.Devices }),
		document("assignment", func(r *T) *[]byte { return &r.Assignment }),
		text("ready", func(r *T) *string { return &r.Ready }, compute.ByReady),
	)
}

func deletedTable() *table[compute.DeletedRow] {
	type T = compute.DeletedRow
	return newTable("gone_servers", byID, nil,
		text("id", func(r *T) *compute.ID { return &r.ID }, compute.ByID),
		text("project", func(r *T) *string { return &r.Project }, compute.ByProject),
		text("name", func(r *T) *string { return &r.Name }),
		document("flavor", func(r *T) *[]byte { return &r.Flavor }),
		moment("launched_at", func(r *T) *time.Time { return &r.LaunchedAt }),
		moment("terminated_at", func(r *T) *time.Time { return &r.TerminatedAt }, compute.TerminatedAt),
	)
}

func hostedTable() *table[compute.HostedRow] {
	type T = compute.HostedRow
	return newTable("hosted", []string{"server", "host"}, nil,
		text("server", func(r *T) *compute.ID { return &r.Server }, compute.ByServer),
		text("host", func(r *T) *string { return &r.Host }, compute.ByHost),
		text("wish", func(r *T) *string { return &r.DesiredState }),
		text("event", func(r *T) *compute.ID { return &r.Event }),
		text("refused", func(r *T) *compute.ID { return &r.Refused }),
		text("boot", func(r *T) *compute.ID { return &r.Boot }),
		texts("slots", func(r *T) *[]string { return &r.Slots }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
		number("generation", func(r *T) *int64 { return &r.Generation }),
		document("bound", func(r *T) *[]byte { return &r.Bound }),
		document("assignment", func(r *T) *[]byte { return &r.Assignment }),
	)
}
