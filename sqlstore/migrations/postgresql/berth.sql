-- Berth's own tables.

-- What the tables below look like: one row.
CREATE TABLE IF NOT EXISTS berth_version (
    version INTEGER NOT NULL,
    PRIMARY KEY (version)
);

-- The writers of the change log. What one wrote goes with it.
CREATE TABLE IF NOT EXISTS berth_writers (
    id BIGINT NOT NULL,
    created_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    beat_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

-- The change log: what each transaction touched.
CREATE TABLE IF NOT EXISTS berth_changes (
    writer BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    created_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (writer, seq),
    CONSTRAINT berth_changes_writer_fk FOREIGN KEY (writer) REFERENCES berth_writers (id) ON DELETE CASCADE
);

-- One row for many providers; see MySQL's.
CREATE TABLE IF NOT EXISTS berth_holds (
    slot BIGINT NOT NULL,
    held BIGINT NOT NULL,
    PRIMARY KEY (slot)
);
