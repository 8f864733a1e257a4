package rowtable

import (
	"time"

	"github.com/berthcloud/berth/network"
)

func policyTable() *table[network.PolicyRow] {
	type T = network.PolicyRow
	return newTable("policies", byID, common(func(r *T) *network.Common { return &r.Common }),
		flag("shared", func(r *T) *bool { return &r.Shared }),
		flag("is_default", func(r *T) *bool { return &r.Default }),
		textOf("open_to", (*T).OpenTo, network.ByOpenTo),
	)
}

func ruleTable() *table[network.RuleRow] {
	type T = network.RuleRow
	return newTable("rules", byID, nil,
		text("id", func(r *T) *network.ID { return &r.ID }, network.ByID),
		text("policy", func(r *T) *network.ID { return &r.Policy }, network.ByPolicy),
		text("type", func(r *T) *network.RuleType { return &r.Type }),
		text("direction", func(r *T) *string { return &r.Direction }),
		number("rate", func(r *T) *int64 { return &r.Rate }),
		number("burst", func(r *T) *int64 { return &r.Burst }),
	)
}

func agentTable() *table[network.AgentRow] {
	type T = network.AgentRow
	return newTable("agents", byID, nil,
		text("id", func(r *T) *network.ID { return &r.ID }, network.ByID),
		text("type", func(r *T) *string { return &r.Type }, network.ByAgentType),
		text("program", func(r *T) *string { return &r.Binary }),
		text("host", func(r *T) *string { return &r.Host }, network.ByHost),
		text("topic", func(r *T) *string { return &r.Topic }),
		text("zone", func(r *T) *string { return &r.Zone }),
		text("description", func(r *T) *string { return &r.Description }),
		flag("admin_state_up", func(r *T) *bool { return &r.AdminStateUp }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
		moment("started_at", func(r *T) *time.Time { return &r.StartedAt }),
		moment("heartbeat_at", func(r *T) *time.Time { return &r.HeartbeatAt }),
		document("configurations", func(r *T) *[]byte { return &r.Configurations }),
		document("versions", func(r *T) *[]byte { return &r.Versions }),
		number("synced", func(r *T) *network.SyncState { return &r.Synced }),
		text("sync_error", func(r *T) *string { return &r.SyncError }),
		moment("synced_at", func(r *T) *time.Time { return &r.SyncedAt }),
		texts("hypervisors", func(r *T) *[]string { return &r.Hypervisors }),
		texts("kept", func(r *T) *[]string { return &r.Kept }),
	)
}

func trunkTable() *table[network.TrunkRow] {
	type T = network.TrunkRow
	return newTable("trunks", byID, common(func(r *T) *network.Common { return &r.Common }),
		text("port", func(r *T) *network.ID { return &r.Port }, network.ByPort),
		flag("admin_state_up", func(r *T) *bool { return &r.AdminStateUp }),
		text("status", func(r *T) *string { return &r.Status }),
	)
}

func subportTable() *table[network.SubportRow] {
	type T = network.SubportRow
	return newTable("subports", []string{"port"}, nil,
		text("trunk", func(r *T) *network.ID { return &r.Trunk }, network.ByTrunk),
		text("port", func(r *T) *network.ID { return &r.Port }, network.ByPort),
		text("segmentation_type", func(r *T) *string { return &r.SegmentationType }),
		number("segmentation_id", func(r *T) *int { return &r.SegmentationID }),
	)
}

func securityGroupTable() *table[network.SecurityGroupRow] {
	type T = network.SecurityGroupRow
	return newTable("security_groups", byID, common(func(r *T) *network.Common { return &r.Common }),
		flag("stateful", func(r *T) *bool { return &r.Stateful }),
	)
}

func portGroupTable() *table[network.PortGroupRow] {
	type T = network.PortGroupRow
	return newTable("port_groups", []string{"port", "security_group"}, nil,
		text("port", func(r *T) *network.ID { return &r.Port }, network.ByPort),
		text("security_group", func(r *T) *network.ID { return &r.Group }, network.ByGroup),
	)
}

func securityRuleTable() *table[network.SecurityRuleRow] {
	type T = network.SecurityRuleRow
	return newTable("security_rules", byID, common(func(r *T) *network.Common { return &r.Common }),
		text("security_group", func(r *T) *network.ID { return &r.Group }, network.ByGroup),
		text("direction", func(r *T) *string { return &r.Direction }),
		text("ether_type", func(r *T) *string { return &r.EtherType }),
		text("protocol", func(r *T) *string { return &r.Protocol }),
		number("port_min", func(r *T) *int { return &r.PortMin }),
		number("port_max", func(r *T) *int { return &r.PortMax }),
		text("remote_ip", func(r *T) *string { return &r.RemoteIP }),
		optional("remote_group", func(r *T) *network.ID { return &r.RemoteGroup }, network.ByRemoteGroup),
	)
}

func quotaTable() *table[network.QuotaRow] {
	type T = network.QuotaRow
	return newTable("quotas", []string{"project", "resource"}, nil,
		text("project", func(r *T) *string { return &r.Project }, network.ByProject),
		text("resource", func(r *T) *string { return &r.Resource }, network.ByResource),
		number("amount", func(r *T) *int64 { return &r.Limit }),
	)
}

func intentTable() *table[network.IntentRow] {
	type T = network.IntentRow
	return newTable("intents", byID, nil,
		text("id", func(r *T) *string { return &r.ID }, network.ByID),
		text("kind", func(r *T) *string { return &r.Kind }),
		text("about", func(r *T) *string { return &r.About }, network.ByIntentsAbout),
		document("body", func(r *T) *[]byte { return &r.Body }),
		moment("created_at", func(r *T) *time.Time { return &r.CreatedAt }),
	)
}

func segmentSyncTable() *table[network.SegmentSyncRow] {
	type T = network.SegmentSyncRow
	return newTable("segment_syncs", []string{"segment"}, nil,
		text("segment", func(r *T) *network.ID { return &r.Segment }, network.BySegment),
		number("changes", func(r *T) *int64 { return &r.Changes }),
		number("synced", func(r *T) *int64 { return &r.Synced }),
		moment("retry_at", func(r *T) *time.Time { return &r.RetryAt }),
		text("error", func(r *T) *string { return &r.Error }),
		text("instance", func(r *T) *string { return &r.Instance }),
		text("process", func(r *T) *string { return &r.Process }),
		moment("leased_until", func(r *T) *time.Time { return &r.LeasedUntil }),
	)
}
