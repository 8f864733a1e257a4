-- What is looked for among many rows is in columns: how much a server has, which quotas add up, and which host an
-- operation has claimed, with the devices that it has chosen there. Rows are written with what their flavors and bodies say.
ALTER TABLE servers ADD COLUMN vcpus BIGINT NOT NULL DEFAULT 0;
ALTER TABLE servers ADD COLUMN memory_mb BIGINT NOT NULL DEFAULT 0;
ALTER TABLE operations ADD COLUMN claim_host {name} NOT NULL DEFAULT '';
ALTER TABLE operations ADD COLUMN devices {text};

CREATE INDEX servers_owner_idx ON servers (owner);
CREATE INDEX operations_claim_host_idx ON operations (claim_host);

UPDATE servers SET vcpus = COALESCE(CAST({json flavor vcpus} AS {integer}), 0), memory_mb = COALESCE(CAST({json flavor memory_mb} AS {integer}), 0)
WHERE flavor <> '';

UPDATE operations SET claim_host = COALESCE({json body claim.Host}, ''), devices = {json body devices} WHERE body <> '';
