-- Berth's own tables.

-- What the tables below look like: one row.
CREATE TABLE IF NOT EXISTS berth_version (
    version INTEGER NOT NULL,
    PRIMARY KEY (version)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- The writers of the change log. What one wrote goes with it.
CREATE TABLE IF NOT EXISTS berth_writers (
    id BIGINT NOT NULL,
    created_at DATETIME NOT NULL,
    beat_at DATETIME NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- The change log: what each transaction touched.
CREATE TABLE IF NOT EXISTS berth_changes (
    writer BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    created_at DATETIME NOT NULL,
    body MEDIUMTEXT NOT NULL,
    PRIMARY KEY (writer, seq),
    CONSTRAINT berth_changes_writer_fk FOREIGN KEY (writer) REFERENCES berth_writers (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- One row for many providers: what makes transactions of two nodes of a cluster
-- collide that rely on the same provider and write different rows.
CREATE TABLE IF NOT EXISTS berth_holds (
    slot BIGINT NOT NULL,
    held BIGINT NOT NULL,
    PRIMARY KEY (slot)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
