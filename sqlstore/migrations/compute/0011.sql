-- Resizes that are to be confirmed, and moves of a host that are under way, are looked for among all that ever were.
CREATE INDEX migrations_status_idx ON migrations (status);
