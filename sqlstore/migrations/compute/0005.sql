-- What hosts are to destroy of servers that are elsewhere by now, or deleted.
CREATE TABLE IF NOT EXISTS leftovers (
    id {id} NOT NULL,
    server {id} NOT NULL,
    host {name} NOT NULL,
    created_at {time},
    PRIMARY KEY (id)
){end};

CREATE INDEX leftovers_server_idx ON leftovers (server);
CREATE INDEX leftovers_host_idx ON leftovers (host);
