-- What is kept of servers that are gone, for what their projects used.
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
