-- What of a host a server has of its own, as JSON: in its row on the host, and in its operation until the host is to build it.
-- A compute node has what servers can be given of it. NULL for nothing.
ALTER TABLE hosted ADD COLUMN assignment {text};
ALTER TABLE operations ADD COLUMN assignment {text};
ALTER TABLE nodes ADD COLUMN assignable {text};
