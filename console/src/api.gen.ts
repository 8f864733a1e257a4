// The bodies and events of the console's API. Written by
// go test ./console -run TestTypes -update; do not edit.

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

/** explain.Explanation */
export interface ExplainExplanation {
  readonly providers: number;
  readonly hosts: number;
  readonly fitting_hosts: number;
  readonly fit: readonly string[];
  readonly constraint?: string;
  readonly refused?: string;
  readonly dropped_by_root_required: number;
  readonly groups: readonly ExplainGroup[];
  readonly hosts_for_each_group: number;
  readonly hosts_for_all_groups: number;
  readonly changes: readonly ExplainChange[];
  readonly host?: string;
  readonly near: readonly ExplainHost[];
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

/** capacity.Count */
export interface CapacityCount {
  readonly least: number;
  readonly most: number;
  readonly hosts: readonly CapacityHost[];
  readonly runs_out: readonly CapacityExhausted[];
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
