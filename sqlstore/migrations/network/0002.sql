ALTER TABLE agents ADD COLUMN hypervisors {text};

ALTER TABLE agents ADD COLUMN kept {text};
