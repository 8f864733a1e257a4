-- Berth's own tables. They are on servers only.

-- What the tables below look like: one row.
CREATE TABLE IF NOT EXISTS berth_version (
    version INTEGER NOT NULL,
    PRIMARY KEY (version)
){end};

-- The writers of the change log. The entries of a writer are deleted with it.
CREATE TABLE IF NOT EXISTS berth_writers (
    id BIGINT NOT NULL,
    created_at {second} NOT NULL,
    beat_at {second} NOT NULL,
    PRIMARY KEY (id)
){end};

-- The change log: what each transaction touched.
CREATE TABLE IF NOT EXISTS berth_changes (
    writer BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    created_at {second} NOT NULL,
    body {body} NOT NULL,
    PRIMARY KEY (writer, seq),
    CONSTRAINT berth_changes_writer_fk FOREIGN KEY (writer) REFERENCES berth_writers (id) ON DELETE CASCADE
){end};

-- One row for many providers: what makes transactions of two nodes of a cluster
-- collide that rely on the same provider and write different rows.
CREATE TABLE IF NOT EXISTS berth_holds (
    slot BIGINT NOT NULL,
    held BIGINT NOT NULL,
    PRIMARY KEY (slot)
){end};
