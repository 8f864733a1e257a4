// The bodies and events of the console's API. Written by
// go test ./console -run TestTypes -update; do not edit.

/** console.Session */
export interface Session {
  readonly login: string;
  readonly begun: boolean;
  readonly user?: string;
  readonly project?: string;
  readonly source?: string;
}

/** console.Login */
export interface Login {
  readonly user: string;
  readonly password: string;
  readonly domain: string;
  readonly project: string;
  readonly application_credential_id: string;
  readonly application_credential_secret: string;
}

/** console.Problem */
export interface Problem {
  readonly errors: readonly ProblemDetail[];
}

/** console.Hosts */
export interface Hosts {
  readonly number: number;
  readonly time: string;
  readonly id: readonly string[];
  readonly name: readonly string[];
  readonly zone: readonly string[];
  readonly state: readonly string[];
  readonly providers: readonly number[];
  readonly aggregates: readonly (readonly number[])[];
  readonly aggregate_ids: readonly string[];
  readonly classes: readonly string[];
  readonly capacity: readonly (readonly number[])[];
  readonly used: readonly (readonly number[])[];
  readonly aggregate_names: Readonly<Record<string, string>>;
  readonly unread: readonly string[];
}

/** console.HostsChange */
export interface HostsChange {
  readonly number: number;
  readonly time: string;
  readonly changed: readonly OverviewRow[];
  readonly removed: readonly string[];
  readonly log: readonly Change[];
}

/** console.Outage */
export interface Outage {
  readonly detail: string;
}

/** console.Host */
export interface Host {
  readonly time: string;
  readonly row: OverviewRow;
  readonly providers: readonly RecordsProvider[];
  readonly consumers: Readonly<Record<string, Consumer>>;
  readonly aggregate_names: Readonly<Record<string, string>>;
}

/** console.Holding */
export interface Holding {
  readonly time: string;
  readonly consumer: Consumer;
  readonly trees: readonly (readonly RecordsProvider[])[];
  readonly absent: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** console.Found */
export interface Found {
  readonly hits: readonly Hit[];
  readonly more: boolean;
}

/** console.Explained */
export interface Explained {
  readonly owners: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
  readonly providers: number;
  readonly hosts: number;
  readonly fitting_hosts: number;
  readonly fit: readonly string[];
  readonly constraint?: string;
  readonly refused?: string;
  readonly dropped_by_root_required: number;
  readonly groups: readonly ExplainGroup[];
  readonly hosts_for_each_group: number;
  readonly hosts_lacking_traits?: number;
  readonly hosts_for_all_groups: number;
  readonly changes: readonly ExplainChange[];
  readonly host?: string;
  readonly near: readonly ExplainHost[];
  readonly summary: string;
  readonly change_texts: readonly string[];
  readonly miss_texts: readonly (readonly string[])[];
  readonly not_taken: readonly RefusedHost[];
}

/** console.Headroom */
export interface Headroom {
  readonly owners: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
  readonly least: number;
  readonly most: number;
  readonly hosts: readonly CapacityHost[];
  readonly runs_out: readonly CapacityExhausted[];
  readonly exact: boolean;
  readonly not_taken: readonly RefusedHost[];
}

/** capacity.Plan */
export interface CapacityPlan {
  readonly host: string;
  readonly uuid: string;
  readonly moves: readonly CapacityMove[];
  readonly stuck: readonly CapacityUnplaceable[];
  readonly waiting: readonly CapacityWaiting[];
  readonly confirm_each_move: boolean;
  readonly proven: boolean;
}

/** console.Findings */
export interface Findings {
  readonly time: string;
  readonly late: readonly Late[];
  readonly findings: readonly AuditFinding[];
  readonly unchecked: readonly AuditUnchecked[];
}

/** console.Traffic */
export interface Traffic {
  readonly measured: boolean;
  readonly since: string;
  readonly window: number;
  readonly requests: readonly RequestTraffic[];
  readonly outcomes: readonly Outcome[];
}

/** console.FlavorSlots */
export interface FlavorSlots {
  readonly flavors: readonly MetricsSlots[];
}

/** console.Choices */
export interface Choices {
  readonly flavors: readonly string[];
  readonly images: readonly string[];
  readonly networks: readonly string[];
  readonly ports: readonly string[];
  readonly zones: readonly string[];
}

/** console.Servers */
export interface Servers {
  readonly time: string;
  readonly servers: readonly Server[];
  readonly total: number;
  readonly networks: readonly Network[];
  readonly policies: readonly Policy[];
}

/** console.ProblemDetail */
export interface ProblemDetail {
  readonly status: number;
  readonly detail: string;
}

/** overview.Row */
export interface OverviewRow {
  readonly id: string;
  readonly name: string;
  readonly zone?: string;
  readonly state?: string;
  readonly providers: number;
  readonly aggregates?: readonly string[];
  readonly capacity: Readonly<Record<string, number>>;
  readonly used: Readonly<Record<string, number>>;
}

/** console.Change */
export interface Change {
  readonly time: string;
  readonly change: string;
  readonly what: string;
  readonly provider?: string;
  readonly provider_uuid?: string;
  readonly consumer_uuid?: string;
  readonly subject?: string;
  readonly before?: string;
  readonly after?: string;
  readonly consumer_name?: string;
  readonly consumer_type?: string;
  readonly project_id?: string;
}

/** records.Provider */
export interface RecordsProvider {
  readonly name: string;
  readonly uuid: string;
  readonly parent_provider_uuid?: string;
  readonly generation: number;
  readonly depth: number;
  readonly inventories: readonly RecordsInventory[];
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
  readonly allocations: readonly RecordsAllocation[];
}

/** console.Consumer */
export interface Consumer {
  readonly id: string;
  readonly kind: string;
  readonly consumer_type?: string;
  readonly project_id: string;
  readonly user_id: string;
  readonly name?: string;
  readonly status?: string;
  readonly host?: string;
  readonly flavor?: string;
  readonly server?: string;
  readonly move?: string;
  readonly ports: readonly Port[];
}

/** console.Hit */
export interface Hit {
  readonly kind: string;
  readonly id: string;
  readonly name?: string;
  readonly host?: string;
  readonly consumer?: string;
  readonly hosts?: readonly string[];
}

/** explain.Group */
export interface ExplainGroup {
  readonly group: string;
  readonly resource_class?: string;
  readonly dropped: readonly ExplainDrop[];
  readonly providers: number;
  readonly hosts: number;
}

/** explain.Change */
export interface ExplainChange {
  readonly kind: string;
  readonly group: string;
  readonly name: string;
  readonly from?: number;
  readonly to?: number;
  readonly hosts: number;
  readonly names: readonly string[];
}

/** explain.Host */
export interface ExplainHost {
  readonly name: string;
  readonly uuid: string;
  readonly misses: readonly ExplainMiss[];
}

/** console.RefusedHost */
export interface RefusedHost {
  readonly name: string;
  readonly reason: string;
}

/** capacity.Host */
export interface CapacityHost {
  readonly name: string;
  readonly uuid: string;
  readonly least: number;
  readonly most: number;
  readonly misses: readonly ExplainMiss[];
}

/** capacity.Exhausted */
export interface CapacityExhausted {
  readonly kind: string;
  readonly group: string;
  readonly resource_class?: string;
  readonly traits?: readonly string[];
  readonly hosts: number;
}

/** capacity.Move */
export interface CapacityMove {
  readonly consumer_uuid: string;
  readonly name?: string;
  readonly to: string;
  readonly to_uuid: string;
  readonly allocations: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly mappings: Readonly<Record<string, readonly string[]>>;
  readonly assumed?: string;
}

/** capacity.Unplaceable */
export interface CapacityUnplaceable {
  readonly consumer_uuid: string;
  readonly name?: string;
  readonly reason: string;
  readonly fits_alone: boolean;
  readonly assumed?: string;
}

/** capacity.Waiting */
export interface CapacityWaiting {
  readonly consumer_uuid: string;
  readonly server_uuid?: string;
  readonly reason: string;
}

/** console.Late */
export interface Late {
  readonly kind: string;
  readonly host: string;
  readonly detail: string;
}

/** audit.Finding */
export interface AuditFinding {
  readonly code: string;
  readonly severity: string;
  readonly about: readonly AuditSubject[];
  readonly found: string;
  readonly expected: string;
  readonly means: string;
  readonly command: string;
}

/** audit.Unchecked */
export interface AuditUnchecked {
  readonly codes: readonly string[];
  readonly reason: string;
}

/** console.RequestTraffic */
export interface RequestTraffic {
  readonly service: string;
  readonly request: string;
  readonly rate: number;
  readonly median: number;
  readonly p99: number;
  readonly total: number;
  readonly conflicts: number;
  readonly refused: number;
  readonly failed: number;
}

/** console.Outcome */
export interface Outcome {
  readonly what: string;
  readonly count: number;
}

/** metrics.Slots */
export interface MetricsSlots {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  readonly unfragmented: number;
  readonly runs_out: readonly CapacityExhausted[];
  readonly refused?: string;
}

/** console.Server */
export interface Server {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly task?: string;
  readonly fault?: string;
  readonly host?: string;
  readonly flavor: string;
  readonly project_id: string;
  readonly allocated: boolean;
  readonly ports: readonly Port[];
}

/** console.Network */
export interface Network {
  readonly id: string;
  readonly name: string;
  readonly type?: string;
  readonly physical?: string;
  readonly policy?: string;
}

/** console.Policy */
export interface Policy {
  readonly id: string;
  readonly name: string;
  readonly rules: readonly CloudQoSRule[];
}

/** records.Inventory */
export interface RecordsInventory {
  readonly resource_class: string;
  readonly total: number;
  readonly reserved: number;
  readonly allocation_ratio: number;
  readonly capacity: number;
  readonly used: number;
  readonly free: number;
}

/** records.Allocation */
export interface RecordsAllocation {
  readonly consumer_uuid: string;
  readonly consumer_type?: string;
  readonly project_id: string;
  readonly resources: Readonly<Record<string, number>>;
}

/** console.Port */
export interface Port {
  readonly id: string;
  readonly name?: string;
  readonly network: string;
  readonly policy?: string;
  readonly status: string;
  readonly vnic_type: string;
  readonly groups: readonly PortGroup[];
}

/** explain.Drop */
export interface ExplainDrop {
  readonly kind: string;
  readonly constraint: string;
  readonly providers: number;
  readonly hosts: number;
}

/** explain.Miss */
export interface ExplainMiss {
  readonly kind: string;
  readonly group: string;
  readonly resource_class?: string;
  readonly provider?: string;
  readonly asked?: number;
  readonly available: number;
  readonly total?: number;
  readonly reserved?: number;
  readonly used?: number;
  readonly min_unit?: number;
  readonly max_unit?: number;
  readonly step_size?: number;
  readonly traits?: readonly string[];
}

/** audit.Subject */
export interface AuditSubject {
  readonly kind: string;
  readonly id: string;
  readonly name?: string;
}

/** cloud.QoSRule */
export interface CloudQoSRule {
  readonly id: string;
  readonly type: string;
  readonly direction?: string;
  readonly min_kbps?: number;
  readonly min_kpps?: number;
}

/** console.PortGroup */
export interface PortGroup {
  readonly id: string;
  readonly resources: Readonly<Record<string, number>>;
  readonly required: readonly string[];
  readonly provider?: string;
}
