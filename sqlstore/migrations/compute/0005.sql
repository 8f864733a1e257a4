-- The tables of the compute service, in one text for all databases. The words in
-- braces are in rows.go.
--
-- A reference holds what must not dangle: no row goes while another one refers
-- to it, and none goes with another one by itself. A reference that may be to
-- nothing is NULL then. What is kept of servers that are gone refers to none.

-- The version of these tables: one row. The table comes first, so that a database
-- that has it is known to be Berth's, however far its making got.
CREATE TABLE IF NOT EXISTS berth_compute (
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

CREATE TABLE IF NOT EXISTS flavors (
    id {name} NOT NULL,
    name {name} NOT NULL,
    vcpus BIGINT NOT NULL,
    memory_mb BIGINT NOT NULL,
    root_gb BIGINT NOT NULL,
    ephemeral_gb BIGINT NOT NULL,
    swap_mb BIGINT NOT NULL,
    rxtx {real} NOT NULL,
    public INTEGER NOT NULL,
    disabled INTEGER NOT NULL,
    description {text} NOT NULL,
    specs {text} NOT NULL,
    created_at {time},
    updated_at {time},
    PRIMARY KEY (id),
    CONSTRAINT flavors_name_uq UNIQUE (name)
){end};

CREATE TABLE IF NOT EXISTS flavor_access (
    flavor {name} NOT NULL,
    project {name} NOT NULL,
    PRIMARY KEY (flavor, project),
    CONSTRAINT flavor_access_flavor_fk FOREIGN KEY (flavor) REFERENCES flavors (id)
){end};

CREATE INDEX flavor_access_project_idx ON flavor_access (project);

CREATE TABLE IF NOT EXISTS keypairs (
    owner {name} NOT NULL,
    name {name} NOT NULL,
    number BIGINT NOT NULL,
    type {word} NOT NULL,
    fingerprint {name} NOT NULL,
    public_key {text} NOT NULL,
    created_at {time},
    PRIMARY KEY (owner, name)
){end};

CREATE INDEX keypairs_name_idx ON keypairs (name);

CREATE TABLE IF NOT EXISTS server_groups (
    id {id} NOT NULL,
    project {name} NOT NULL,
    owner {name} NOT NULL,
    name {name} NOT NULL,
    policy {word} NOT NULL,
    max_per_host INTEGER NOT NULL,
    created_at {time},
    PRIMARY KEY (id)
){end};

CREATE INDEX server_groups_project_idx ON server_groups (project);

-- Host aggregates, their hosts, and what placement does not know of those yet.
CREATE TABLE IF NOT EXISTS aggregates (
    id {id} NOT NULL,
    number BIGINT NOT NULL,
    name {name} NOT NULL,
    metadata {text} NOT NULL,
    created_at {time},
    updated_at {time},
    PRIMARY KEY (id),
    CONSTRAINT aggregates_name_uq UNIQUE (name)
){end};

CREATE TABLE IF NOT EXISTS members (
    aggregate {id} NOT NULL,
    host {name} NOT NULL,
    PRIMARY KEY (aggregate, host),
    CONSTRAINT members_aggregate_fk FOREIGN KEY (aggregate) REFERENCES aggregates (id)
){end};

CREATE INDEX members_host_idx ON members (host);

CREATE TABLE IF NOT EXISTS mirrors (
    aggregate {id} NOT NULL,
    host {name} NOT NULL,
    is_member INTEGER NOT NULL,
    change_id {id} NOT NULL,
    created_at {time},
    PRIMARY KEY (aggregate, host)
){end};

CREATE INDEX mirrors_host_idx ON mirrors (host);

CREATE TABLE IF NOT EXISTS services (
    id {id} NOT NULL,
    number BIGINT NOT NULL,
    program {word} NOT NULL,
    host {name} NOT NULL,
    topic {word} NOT NULL,
    disabled INTEGER NOT NULL,
    reason {name} NOT NULL,
    forced_down INTEGER NOT NULL,
    version INTEGER NOT NULL,
    reported_at {time},
    created_at {time},
    updated_at {time},
    PRIMARY KEY (id),
    CONSTRAINT services_host_uq UNIQUE (host, program)
){end};

CREATE TABLE IF NOT EXISTS nodes (
    id {id} NOT NULL,
    number BIGINT NOT NULL,
    host {name} NOT NULL,
    name {name} NOT NULL,
    type {word} NOT NULL,
    version INTEGER NOT NULL,
    address {word} NOT NULL,
    vcpus BIGINT NOT NULL,
    memory_mb BIGINT NOT NULL,
    disk_gb BIGINT NOT NULL,
    cpu {text} NOT NULL,
    failed INTEGER NOT NULL,
    created_at {time},
    updated_at {time},
    devices {text},
    PRIMARY KEY (id),
    CONSTRAINT nodes_name_uq UNIQUE (name)
){end};

CREATE INDEX nodes_host_idx ON nodes (host);

CREATE TABLE IF NOT EXISTS quotas (
    project {name} NOT NULL,
    owner {name} NOT NULL,
    resource {word} NOT NULL,
    amount BIGINT NOT NULL,
    PRIMARY KEY (project, owner, resource)
){end};

CREATE INDEX quotas_owner_idx ON quotas (owner);
CREATE INDEX quotas_resource_idx ON quotas (resource);

CREATE TABLE IF NOT EXISTS counters (
    name {word} NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (name)
){end};

CREATE TABLE IF NOT EXISTS servers (
    id {id} NOT NULL,
    number BIGINT NOT NULL,
    project {name} NOT NULL,
    owner {name} NOT NULL,
    name {name} NOT NULL,
    description {text} NOT NULL,
    hostname {name} NOT NULL,
    reservation {word} NOT NULL,
    place INTEGER NOT NULL,
    state {word} NOT NULL,
    task {word} NOT NULL,
    power INTEGER NOT NULL,
    host {name} NOT NULL,
    node {name} NOT NULL,
    zone {name} NOT NULL,
    forced {name} NOT NULL,
    image {id} NOT NULL,
    flavor {text} NOT NULL,
    flavor_id {name} NOT NULL,
    key_name {name} NOT NULL,
    key_data {text} NOT NULL,
    metadata {text} NOT NULL,
    tags {text} NOT NULL,
    security_groups {text} NOT NULL,
    user_data {text} NOT NULL,
    config_drive INTEGER NOT NULL,
    disk_config {word} NOT NULL,
    access_ipv4 {word} NOT NULL,
    access_ipv6 {word} NOT NULL,
    server_group {id},
    hints {text} NOT NULL,
    locked_by {word} NOT NULL,
    locked_reason {name} NOT NULL,
    progress INTEGER NOT NULL,
    fault {text} NOT NULL,
    created_at {time},
    updated_at {time},
    launched_at {time},
    terminated_at {time},
    PRIMARY KEY (id),
    CONSTRAINT servers_group_fk FOREIGN KEY (server_group) REFERENCES server_groups (id)
){end};

CREATE INDEX servers_project_idx ON servers (project);
CREATE INDEX servers_host_idx ON servers (host);
CREATE INDEX servers_flavor_idx ON servers (flavor_id);
CREATE INDEX servers_group_idx ON servers (server_group);

CREATE TABLE IF NOT EXISTS server_ports (
    port {id} NOT NULL,
    server {id} NOT NULL,
    network {id} NOT NULL,
    place INTEGER NOT NULL,
    tag {word} NOT NULL,
    own INTEGER NOT NULL,
    seen {text} NOT NULL,
    PRIMARY KEY (port),
    CONSTRAINT server_ports_server_fk FOREIGN KEY (server) REFERENCES servers (id)
){end};

CREATE INDEX server_ports_server_idx ON server_ports (server);

-- What was done to servers, and the steps of it.
CREATE TABLE IF NOT EXISTS actions (
    id {id} NOT NULL,
    server {id} NOT NULL,
    action {word} NOT NULL,
    request {word} NOT NULL,
    project {name} NOT NULL,
    owner {name} NOT NULL,
    started_at {time},
    updated_at {time},
    message {name} NOT NULL,
    place INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (id)
){end};

CREATE INDEX actions_server_idx ON actions (server);
CREATE INDEX actions_request_idx ON actions (request);

CREATE TABLE IF NOT EXISTS events (
    id {id} NOT NULL,
    action {id} NOT NULL,
    place INTEGER NOT NULL,
    event {name} NOT NULL,
    host {name} NOT NULL,
    started_at {time},
    finished_at {time},
    result {word} NOT NULL,
    traceback {text} NOT NULL,
    details {text} NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT events_action_fk FOREIGN KEY (action) REFERENCES actions (id)
){end};

CREATE INDEX events_action_idx ON events (action);

CREATE TABLE IF NOT EXISTS migrations (
    id {id} NOT NULL,
    number BIGINT NOT NULL,
    server {id} NOT NULL,
    project {name} NOT NULL,
    owner {name} NOT NULL,
    type {word} NOT NULL,
    status {word} NOT NULL,
    source {name} NOT NULL,
    source_node {name} NOT NULL,
    dest {name} NOT NULL,
    dest_node {name} NOT NULL,
    old_flavor {name} NOT NULL,
    new_flavor {name} NOT NULL,
    created_at {time},
    updated_at {time},
    PRIMARY KEY (id)
){end};

CREATE INDEX migrations_server_idx ON migrations (server);

-- What is under way with servers: one operation of each at most.
CREATE TABLE IF NOT EXISTS operations (
    id {id} NOT NULL,
    server {id} NOT NULL,
    kind {word} NOT NULL,
    step {word} NOT NULL,
    body {text} NOT NULL,
    worker {name} NOT NULL,
    lease {time},
    created_at {time},
    PRIMARY KEY (id),
    CONSTRAINT operations_server_uq UNIQUE (server),
    CONSTRAINT operations_server_fk FOREIGN KEY (server) REFERENCES servers (id)
){end};

-- Servers that are deleted, for what their projects used.
CREATE TABLE IF NOT EXISTS gone_servers (
    id {id} NOT NULL,
    project {name} NOT NULL,
    name {name} NOT NULL,
    flavor {text},
    launched_at {time},
    terminated_at {time},
    PRIMARY KEY (id)
){end};

CREATE INDEX gone_servers_project_idx ON gone_servers (project);

-- Servers that hosts are to destroy: they are on another host by now, or deleted.
CREATE TABLE IF NOT EXISTS leftovers (
    id {id} NOT NULL,
    server {id} NOT NULL,
    host {name} NOT NULL,
    created_at {time},
    PRIMARY KEY (id)
){end};

CREATE INDEX leftovers_server_idx ON leftovers (server);
CREATE INDEX leftovers_host_idx ON leftovers (host);
