-- Whether the virtual function of a port is trusted: 'true', 'false', or '' where nobody said.
ALTER TABLE ports ADD COLUMN trusted {word} NOT NULL DEFAULT '';
