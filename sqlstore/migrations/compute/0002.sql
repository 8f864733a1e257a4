ALTER TABLE nodes ADD COLUMN devices {text};
