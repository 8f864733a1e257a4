-- Segments of routed networks that placement and compute have, or should have.
CREATE TABLE IF NOT EXISTS segment_syncs (
    segment {id} NOT NULL,
    changes BIGINT NOT NULL,
    synced BIGINT NOT NULL,
    retry_at {time},
    error {text} NOT NULL,
    instance {name} NOT NULL,
    process {id} NOT NULL,
    leased_until {time},
    PRIMARY KEY (segment)
){end};
