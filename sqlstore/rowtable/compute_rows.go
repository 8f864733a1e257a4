package rowtable

import (
	"time"

	"github.com/berthcloud/berth/compute"
)

// computeTables are the tables of the compute service, each behind those that its
// references are to. Columns have the names that migrations/compute gives them.
var computeTables = []rowTable{
	flavorTable(), flavorAccessTable(), keypairTable(), serverGroupTable(),
	aggregateTable(), memberTable(), mirrorTable(), serviceTable(), nodeTable(), computeQuotaTable(), counterTable(),
	serverTable(), serverPortTable(), actionTable(), eventTable(), migrationTable(), operationTable(), deletedTable(),
	hostedTable(),
	serverSummaries(), serverEntries(), serverUses(), migrationEntries(), operationSummaries(),
}

func flavorTable() *table[compute.FlavorRow] {
	type T = compute.FlavorRow
	return newTable("flavors", byID, nil,
		text("id", func(r *T) *compute.ID { return &r.ID }, compute.ByID),
		text("name", func(r *T) *string { return &r.Name }, compute.ByName),
		number("vcpus", func(r *T) *int64 { return &r.VCPUs }),
		number("memory_mb", func(r *T) *int64 { return &r.MemoryMB }),
		number("root_gb", func(r *T) *int64 { return &r.RootGB }),
		number("ephemeral_gb", func(r *T) *int64 { return &r.EphemeralGB }),
		number("swap_mb", func(r *T) *int64 { return &r.SwapMB }),
		real("rxtx", func(r *T) *float64 { return &r.RxTx }),
		flag("public", func(r *T) *bool { return &r.Public }),
		flag("disabled", func(r *T) *bool { return &r.Disabled }),
		text("description", func(r *T) *string { return &r.Description }),
		pairs("specs", func(r *T) *map[string]string { return &r.Specs }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
		moment("updated_at", func(r *T) *time.Time { return &r.UpdatedAt }),
		number("number", func(r *T) *int64 { return &r.Number }),
	)
}

func flavorAccessTable() *table[compute.FlavorAccessRow] {
	type T = compute.FlavorAccessRow
	return newTable("flavor_access", []string{"flavor", "project"}, nil,
		text("flavor", func(r *T) *compute.ID { return &r.Flavor }, compute.ByFlavor),
		text("project", func(r *T) *string { return &r.Project }, compute.ByProject),
	)
}

func keypairTable() *table[compute.KeypairRow] {
	type T = compute.KeypairRow
	return newTable("keypairs", []string{"owner", "name"}, nil,
		text("owner", func(r *T) *string { return &r.User }, compute.ByUser),
		text("name", func(r *T) *string { return &r.Name }, compute.ByName),
		number("number", func(r *T) *int64 { return &r.Number }),
		text("type", func(r *T) *string { return &r.Type }),
		text("fingerprint", func(r *T) *string { return &r.Fingerprint }),
		text("public_key", func(r *T) *string { return &r.PublicKey }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
	)
}

func serverGroupTable() *table[compute.GroupRow] {
	type T = compute.GroupRow
	return newTable("server_groups", byID, nil,
		text("id", func(r *T) *compute.ID { return &r.ID }, compute.ByID),
		text("project", func(r *T) *string { return &r.Project }, compute.ByProject),
		text("owner", func(r *T) *string { return &r.User }),
		text("name", func(r *T) *string { return &r.Name }),
		text("policy", func(r *T) *string { return &r.Policy }),
		number("max_per_host", func(r *T) *int { return &r.MaxPerHost }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
	)
}

func aggregateTable() *table[compute.AggregateRow] {
	type T = compute.AggregateRow
	return newTable("aggregates", byID, nil,
		text("id", func(r *T) *compute.ID { return &r.ID }, compute.ByID),
		number("number", func(r *T) *int64 { return &r.Number }),
		text("name", func(r *T) *string { return &r.Name }, compute.ByName),
		pairs("metadata", func(r *T) *map[string]string { return &r.Metadata }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
		moment("updated_at", func(r *T) *time.Time { return &r.UpdatedAt }),
	)
}

func memberTable() *table[compute.MemberRow] {
	type T = compute.MemberRow
	return newTable("members", []string{"aggregate", "host"}, nil,
		text("aggregate", func(r *T) *compute.ID { return &r.Aggregate }, compute.ByAggregate),
		text("host", func(r *T) *string { return &r.Host }, compute.ByHost),
	)
}

func mirrorTable() *table[compute.MirrorRow] {
	type T = compute.MirrorRow
	return newTable("mirrors", []string{"aggregate", "host"}, nil,
		text("aggregate", func(r *T) *compute.ID { return &r.Aggregate }, compute.ByAggregate),
		text("host", func(r *T) *string { return &r.Host }, compute.ByHost),
		flag("is_member", func(r *T) *bool { return &r.Member }),
		text("change_id", func(r *T) *compute.ID { return &r.Change }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
	)
}

func serviceTable() *table[compute.ServiceRow] {
	type T = compute.ServiceRow
	return newTable("services", byID, nil,
		text("id", func(r *T) *compute.ID { return &r.ID }, compute.ByID),
		number("number", func(r *T) *int64 { return &r.Number }),
		text("program", func(r *T) *string { return &r.Binary }),
		text("host", func(r *T) *string { return &r.Host }, compute.ByHost),
		text("topic", func(r *T) *string { return &r.Topic }),
		flag("disabled", func(r *T) *bool { return &r.Disabled }),
		text("reason", func(r *T) *string { return &r.Reason }),
		flag("forced_down", func(r *T) *bool { return &r.ForcedDown }),
		number("version", func(r *T) *int { return &r.Version }),
		moment("reported_at", func(r *T) *time.Time { return &r.ReportedAt }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
		moment("updated_at", func(r *T) *time.Time { return &r.UpdatedAt }),
		optional("start_error", func(r *T) *string { return &r.StartError }),
	)
}

func nodeTable() *table[compute.NodeRow] {
	type T = compute.NodeRow
	return newTable("nodes", byID, nil,
		text("id", func(r *T) *compute.ID { return &r.ID }, compute.ByID),
		number("number", func(r *T) *int64 { return &r.Number }),
		text("host", func(r *T) *string { return &r.Host }, compute.ByHost),
		text("name", func(r *T) *string { return &r.Name }, compute.ByName),
		text("type", func(r *T) *string { return &r.Type }),
		number("version", func(r *T) *int { return &r.Version }),
		text("address", func(r *T) *string { return &r.Address }),
		number("vcpus", func(r *T) *int64 { return &r.VCPUs }),
		number("memory_mb", func(r *T) *int64 { return &r.MemoryMB }),
		number("disk_gb", func(r *T) *int64 { return &r.DiskGB }),
		document("cpu", func(r *T) *[]byte { return (*[]byte)(&r.CPU) }),
		number("failed", func(r *T) *int { return &r.Failed }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
		moment("updated_at", func(r *T) *time.Time { return &r.UpdatedAt }),
		document("devices", func(r *T) *[]byte { return (*[]byte)(&r.Devices) }),
		document("additions", func(r *T) *[]byte { return (*[]byte)(&r.Additions) }),
		document("assignable", func(r *T) *[]byte { return (*[]byte)(&r.Assignable) }),
		document("topology", func(r *T) *[]byte { return (*[]byte)(&r.Topology) }),
	)
}

func computeQuotaTable() *table[compute.QuotaRow] {
	type T = compute.QuotaRow
	return newTable("quotas", []string{"project", "owner", "resource"}, nil,
		text("project", func(r *T) *string { return &r.Project }, compute.ByProject),
		text("owner", func(r *T) *string { return &r.User }, compute.ByUser),
		text("resource", func(r *T) *string { return &r.Resource }, compute.ByResource),
		number("amount", func(r *T) *int64 { return &r.Limit }),
	)
}

func counterTable() *table[compute.CounterRow] {
	type T = compute.CounterRow
	return newTable("counters", []string{"name"}, nil,
		text("name", func(r *T) *string { return &r.Name }, compute.ByName),
		number("last", func(r *T) *int64 { return &r.Last }),
	)
}
