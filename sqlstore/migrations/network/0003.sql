-- Which networks and policies are for all projects is looked for among many: who lists them reads those besides the own ones. Rows are
-- written with it.
ALTER TABLE networks ADD COLUMN open_to {word} NOT NULL DEFAULT '';
ALTER TABLE policies ADD COLUMN open_to {word} NOT NULL DEFAULT '';

CREATE INDEX networks_open_to_idx ON networks (open_to);
CREATE INDEX policies_open_to_idx ON policies (open_to);

UPDATE networks SET open_to = 'all' WHERE shared = 1 OR external = 1;

UPDATE policies SET open_to = 'all' WHERE shared = 1;
