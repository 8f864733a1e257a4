-- Why a host that has started cannot serve, NULL when it serves.
ALTER TABLE services ADD COLUMN start_error {text};
