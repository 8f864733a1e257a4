-- The tables of the network service, in one text for all databases. The words in
-- braces are in rows.go.
--
-- A reference holds what must not dangle: no row goes while another one refers
-- to it, and none goes with another one by itself. A reference that may be to
-- nothing is NULL then. What a list in a column names is not held.

-- The version of these tables: one row. The table comes first, so that a database
-- that has it is known to be Berth's, however far its making got.
CREATE TABLE IF NOT EXISTS berth_network (
    version INTEGER NOT NULL,
    PRIMARY KEY (version)
){end};

-- The row that every transaction that writes changes first.
CREATE TABLE IF NOT EXISTS berth_turn (
    id INTEGER NOT NULL,
    turn BIGINT NOT NULL,
    PRIMARY KEY (id)
){end};

INSERT INTO berth_turn (id, turn)
VALUES (1, 0);

-- QoS policies, and their rules.
CREATE TABLE IF NOT EXISTS policies (
    id {id} NOT NULL,
    project {name} NOT NULL,
    name {name} NOT NULL,
    description {text} NOT NULL,
    tags {text} NOT NULL,
    revision BIGINT NOT NULL,
    created_at {time},
    updated_at {time},
    shared INTEGER NOT NULL,
    is_default INTEGER NOT NULL,
    PRIMARY KEY (id)
){end};

CREATE INDEX policies_project_idx ON policies (project);
CREATE INDEX policies_name_idx ON policies (name);

CREATE TABLE IF NOT EXISTS rules (
    id {id} NOT NULL,
    policy {id} NOT NULL,
    type {word} NOT NULL,
    direction {word} NOT NULL,
    rate BIGINT NOT NULL,
    burst BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT rules_policy_fk FOREIGN KEY (policy) REFERENCES policies (id)
){end};

CREATE INDEX rules_policy_idx ON rules (policy);

CREATE TABLE IF NOT EXISTS networks (
    id {id} NOT NULL,
    project {name} NOT NULL,
    name {name} NOT NULL,
    description {text} NOT NULL,
    tags {text} NOT NULL,
    revision BIGINT NOT NULL,
    created_at {time},
    updated_at {time},
    admin_state_up INTEGER NOT NULL,
    shared INTEGER NOT NULL,
    external INTEGER NOT NULL,
    port_security INTEGER NOT NULL,
    mtu INTEGER NOT NULL,
    policy {id},
    dns_domain {name} NOT NULL,
    zone_hints {text} NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT networks_policy_fk FOREIGN KEY (policy) REFERENCES policies (id)
){end};

CREATE INDEX networks_project_idx ON networks (project);
CREATE INDEX networks_name_idx ON networks (name);
CREATE INDEX networks_policy_idx ON networks (policy);

-- The number is NULL where there is none, so that it is unique where there is one:
-- VLANs in their physical network, tunnels (whose physical network is '') in their
-- type.
CREATE TABLE IF NOT EXISTS segments (
    id {id} NOT NULL,
    project {name} NOT NULL,
    name {name} NOT NULL,
    description {text} NOT NULL,
    tags {text} NOT NULL,
    revision BIGINT NOT NULL,
    created_at {time},
    updated_at {time},
    network {id} NOT NULL,
    type {word} NOT NULL,
    physical_network {name} NOT NULL,
    segmentation_id INTEGER,
    place INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT segments_number_uq UNIQUE (physical_network, type, segmentation_id),
    CONSTRAINT segments_network_fk FOREIGN KEY (network) REFERENCES networks (id)
){end};

CREATE INDEX segments_project_idx ON segments (project);
CREATE INDEX segments_name_idx ON segments (name);
CREATE INDEX segments_network_idx ON segments (network);

CREATE TABLE IF NOT EXISTS subnets (
    id {id} NOT NULL,
    project {name} NOT NULL,
    name {name} NOT NULL,
    description {text} NOT NULL,
    tags {text} NOT NULL,
    revision BIGINT NOT NULL,
    created_at {time},
    updated_at {time},
    network {id} NOT NULL,
    segment {id},
    ip_version INTEGER NOT NULL,
    cidr {word} NOT NULL,
    gateway {word} NOT NULL,
    enable_dhcp INTEGER NOT NULL,
    pools {text} NOT NULL,
    dns_nameservers {text} NOT NULL,
    host_routes {text} NOT NULL,
    ipv6_address {word} NOT NULL,
    ipv6_ra {word} NOT NULL,
    service_types {text} NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT subnets_network_fk FOREIGN KEY (network) REFERENCES networks (id),
    CONSTRAINT subnets_segment_fk FOREIGN KEY (segment) REFERENCES segments (id)
){end};

CREATE INDEX subnets_project_idx ON subnets (project);
CREATE INDEX subnets_name_idx ON subnets (name);
CREATE INDEX subnets_network_idx ON subnets (network);
CREATE INDEX subnets_segment_idx ON subnets (segment);

-- Ports, with their addresses and bindings.
CREATE TABLE IF NOT EXISTS ports (
    id {id} NOT NULL,
    project {name} NOT NULL,
    name {name} NOT NULL,
    description {text} NOT NULL,
    tags {text} NOT NULL,
    revision BIGINT NOT NULL,
    created_at {time},
    updated_at {time},
    network {id} NOT NULL,
    mac {word} NOT NULL,
    admin_state_up INTEGER NOT NULL,
    status {word} NOT NULL,
    device_id {name} NOT NULL,
    device_owner {name} NOT NULL,
    policy {id},
    port_security INTEGER NOT NULL,
    address_pairs {text} NOT NULL,
    dhcp_options {text} NOT NULL,
    dns_name {name} NOT NULL,
    ip_allocation {word} NOT NULL,
    numa_policy {word} NOT NULL,
    device_profile {name} NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT ports_mac_uq UNIQUE (network, mac),
    CONSTRAINT ports_network_fk FOREIGN KEY (network) REFERENCES networks (id),
    CONSTRAINT ports_policy_fk FOREIGN KEY (policy) REFERENCES policies (id)
){end};

CREATE INDEX ports_project_idx ON ports (project);
CREATE INDEX ports_name_idx ON ports (name);
CREATE INDEX ports_mac_idx ON ports (mac);
CREATE INDEX ports_device_id_idx ON ports (device_id);
CREATE INDEX ports_policy_idx ON ports (policy);

CREATE TABLE IF NOT EXISTS addresses (
    port {id} NOT NULL,
    subnet {id} NOT NULL,
    ip {word} NOT NULL,
    PRIMARY KEY (subnet, ip),
    CONSTRAINT addresses_port_fk FOREIGN KEY (port) REFERENCES ports (id),
    CONSTRAINT addresses_subnet_fk FOREIGN KEY (subnet) REFERENCES subnets (id)
){end};

CREATE INDEX addresses_port_idx ON addresses (port);
CREATE INDEX addresses_ip_idx ON addresses (ip);

CREATE TABLE IF NOT EXISTS bindings (
    port {id} NOT NULL,
    host {name} NOT NULL,
    active INTEGER NOT NULL,
    vnic {word} NOT NULL,
    vif {word} NOT NULL,
    details {text} NOT NULL,
    profile {text} NOT NULL,
    driver {word} NOT NULL,
    segment {id},
    PRIMARY KEY (port, host),
    CONSTRAINT bindings_port_fk FOREIGN KEY (port) REFERENCES ports (id),
    CONSTRAINT bindings_segment_fk FOREIGN KEY (segment) REFERENCES segments (id)
){end};

CREATE INDEX bindings_host_idx ON bindings (host);
CREATE INDEX bindings_segment_idx ON bindings (segment);

CREATE TABLE IF NOT EXISTS trunks (
    id {id} NOT NULL,
    project {name} NOT NULL,
    name {name} NOT NULL,
    description {text} NOT NULL,
    tags {text} NOT NULL,
    revision BIGINT NOT NULL,
    created_at {time},
    updated_at {time},
    port {id} NOT NULL,
    admin_state_up INTEGER NOT NULL,
    status {word} NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT trunks_port_uq UNIQUE (port),
    CONSTRAINT trunks_port_fk FOREIGN KEY (port) REFERENCES ports (id)
){end};

CREATE INDEX trunks_project_idx ON trunks (project);
CREATE INDEX trunks_name_idx ON trunks (name);

CREATE TABLE IF NOT EXISTS subports (
    trunk {id} NOT NULL,
    port {id} NOT NULL,
    segmentation_type {word} NOT NULL,
    segmentation_id INTEGER NOT NULL,
    PRIMARY KEY (port),
    CONSTRAINT subports_number_uq UNIQUE (trunk, segmentation_type, segmentation_id),
    CONSTRAINT subports_trunk_fk FOREIGN KEY (trunk) REFERENCES trunks (id),
    CONSTRAINT subports_port_fk FOREIGN KEY (port) REFERENCES ports (id)
){end};

-- One group of the name "default" in a project, any number of others alike: the
-- last column is NULL for those.
CREATE TABLE IF NOT EXISTS security_groups (
    id {id} NOT NULL,
    project {name} NOT NULL,
    name {name} NOT NULL,
    description {text} NOT NULL,
    tags {text} NOT NULL,
    revision BIGINT NOT NULL,
    created_at {time},
    updated_at {time},
    stateful INTEGER NOT NULL,
    default_of {name} GENERATED ALWAYS AS (CASE WHEN name = 'default' THEN project END) STORED,
    PRIMARY KEY (id),
    CONSTRAINT security_groups_default_uq UNIQUE (default_of)
){end};

CREATE INDEX security_groups_project_idx ON security_groups (project);
CREATE INDEX security_groups_name_idx ON security_groups (name);

-- The groups that a port is in.
CREATE TABLE IF NOT EXISTS port_groups (
    port {id} NOT NULL,
    security_group {id} NOT NULL,
    PRIMARY KEY (port, security_group),
    CONSTRAINT port_groups_port_fk FOREIGN KEY (port) REFERENCES ports (id),
    CONSTRAINT port_groups_group_fk FOREIGN KEY (security_group) REFERENCES security_groups (id)
){end};

CREATE INDEX port_groups_group_idx ON port_groups (security_group);

CREATE TABLE IF NOT EXISTS security_rules (
    id {id} NOT NULL,
    project {name} NOT NULL,
    name {name} NOT NULL,
    description {text} NOT NULL,
    tags {text} NOT NULL,
    revision BIGINT NOT NULL,
    created_at {time},
    updated_at {time},
    security_group {id} NOT NULL,
    direction {word} NOT NULL,
    ether_type {word} NOT NULL,
    protocol {word} NOT NULL,
    port_min INTEGER NOT NULL,
    port_max INTEGER NOT NULL,
    remote_ip {word} NOT NULL,
    remote_group {id},
    PRIMARY KEY (id),
    CONSTRAINT security_rules_group_fk FOREIGN KEY (security_group) REFERENCES security_groups (id),
    CONSTRAINT security_rules_remote_fk FOREIGN KEY (remote_group) REFERENCES security_groups (id)
){end};

CREATE INDEX security_rules_project_idx ON security_rules (project);
CREATE INDEX security_rules_name_idx ON security_rules (name);
CREATE INDEX security_rules_group_idx ON security_rules (security_group);
CREATE INDEX security_rules_remote_idx ON security_rules (remote_group);

CREATE TABLE IF NOT EXISTS agents (
    id {id} NOT NULL,
    type {name} NOT NULL,
    program {name} NOT NULL,
    host {name} NOT NULL,
    topic {name} NOT NULL,
    zone {name} NOT NULL,
    description {text} NOT NULL,
    admin_state_up INTEGER NOT NULL,
    created_at {time},
    started_at {time},
    heartbeat_at {time},
    configurations {text} NOT NULL,
    versions {text} NOT NULL,
    synced INTEGER NOT NULL,
    sync_error {text} NOT NULL,
    synced_at {time},
    hypervisors {text},
    kept {text},
    PRIMARY KEY (id),
    CONSTRAINT agents_host_uq UNIQUE (type, host)
){end};

CREATE INDEX agents_host_idx ON agents (host);

CREATE TABLE IF NOT EXISTS quotas (
    project {name} NOT NULL,
    resource {name} NOT NULL,
    amount BIGINT NOT NULL,
    PRIMARY KEY (project, resource)
){end};

CREATE INDEX quotas_resource_idx ON quotas (resource);

CREATE TABLE IF NOT EXISTS intents (
    id {id} NOT NULL,
    kind {word} NOT NULL,
    about {name} NOT NULL,
    body {text} NOT NULL,
    created_at {time},
    PRIMARY KEY (id)
){end};

CREATE INDEX intents_about_idx ON intents (about);
