-- Where hostnames must be unique, a new one is looked for among those of all servers, whatever their case.
ALTER TABLE servers ADD COLUMN lower_hostname {name} NOT NULL DEFAULT '';

CREATE INDEX servers_lower_hostname_idx ON servers (lower_hostname);

UPDATE servers SET lower_hostname = LOWER(hostname);
