-- In which order things were done to a server in the same second.
ALTER TABLE actions ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
