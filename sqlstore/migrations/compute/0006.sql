-- Operations are lists of steps that are done and undone, and a row for each server and host says what
-- the host is to make of the server.
CREATE TABLE IF NOT EXISTS hosted (
    server {id} NOT NULL,
    host {name} NOT NULL,
    wish {word} NOT NULL,
    event {id} NOT NULL,
    refused {id} NOT NULL,
    boot {id} NOT NULL,
    slots {text} NOT NULL,
    created_at {time},
    PRIMARY KEY (server, host)
){end};

CREATE INDEX hosted_host_idx ON hosted (host);

ALTER TABLE server_ports ADD COLUMN unplugged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE operations ADD COLUMN back INTEGER NOT NULL DEFAULT 0;
ALTER TABLE operations ADD COLUMN back_to {word} NOT NULL DEFAULT '';
ALTER TABLE operations ADD COLUMN awaits {id} NOT NULL DEFAULT '';
ALTER TABLE operations ADD COLUMN reservation {word} NOT NULL DEFAULT '';

-- Hosts have the servers that are on them, but for those that they were not asked to build, or have destroyed.
INSERT INTO hosted (server, host, wish, event, refused, boot, slots, created_at)
SELECT id, host, CASE WHEN power = 4 OR state = 'stopped' THEN 'stopped' ELSE 'running' END, '', '', '', '[]', created_at
FROM servers WHERE host <> '' AND NOT EXISTS (
    SELECT 1 FROM operations WHERE operations.server = servers.id AND operations.back = 0
    AND (operations.kind = 'boot' AND operations.step <> 'host' OR operations.kind = 'delete' AND operations.step <> 'host')
) AND NOT EXISTS (SELECT 1 FROM leftovers WHERE leftovers.server = servers.id AND leftovers.host = servers.host);

INSERT INTO hosted (server, host, wish, event, refused, boot, slots, created_at)
SELECT server, host, 'gone', id, '', '', '[]', created_at FROM leftovers;

DELETE FROM leftovers;

UPDATE operations SET back = 1, step = 'host' WHERE kind = 'delete';
UPDATE operations SET back = 1, back_to = 'claim', step = 'host' WHERE kind = 'boot' AND step IN ('next', 'again');
UPDATE operations SET back = 1, step = 'host' WHERE kind IN ('boot', 'attach') AND step = 'undo';
UPDATE operations SET back = 1, step = 'claim' WHERE kind IN ('attach', 'detach') AND step = 'release';
UPDATE operations SET back = 1, step = 'bind' WHERE kind = 'detach' AND step = 'unbind';
UPDATE operations SET back = 1 WHERE kind = 'detach' AND step = 'host';
