-- More of what is looked for among many rows: the hosts of servers that something is done to, and the operations that a worker
-- can take. Rows are written with it. The amounts of a project are added up from an index, without its rows.
ALTER TABLE servers ADD COLUMN busy_host {name} NOT NULL DEFAULT '';
ALTER TABLE operations ADD COLUMN ready {word} NOT NULL DEFAULT '';

CREATE INDEX servers_amounts_idx ON servers (project, owner, vcpus, memory_mb);
CREATE INDEX servers_busy_host_idx ON servers (busy_host);
CREATE INDEX operations_ready_idx ON operations (ready);
CREATE INDEX operations_reservation_idx ON operations (reservation);

UPDATE servers SET busy_host = host WHERE task <> '';

UPDATE operations SET ready = 'ready' WHERE worker = '' AND awaits = '';
