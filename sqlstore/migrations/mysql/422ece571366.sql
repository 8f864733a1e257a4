-- Consumer types. MySQL commits each statement by itself, so that the step can be
-- cut short after its last change and before the revision is noted; run again, it
-- finds its column. Of MySQL and MariaDB only the latter has ADD COLUMN IF NOT
-- EXISTS, hence the statement in a variable. One ALTER makes all its changes or none.

CREATE TABLE IF NOT EXISTS consumer_types (
    created_at DATETIME,
    updated_at DATETIME,
    id INTEGER NOT NULL AUTO_INCREMENT,
    name VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_consumer_types0name UNIQUE (name)
);

SET @berth_step = IF(EXISTS (
    SELECT 1
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'consumers' AND column_name = 'consumer_type_id'
), 'DO 0', '
    ALTER TABLE consumers
    ADD COLUMN consumer_type_id INTEGER,
    ADD CONSTRAINT consumers_consumer_type_id_fkey FOREIGN KEY (consumer_type_id) REFERENCES consumer_types (id),
    ADD INDEX consumers_consumer_type_id_idx (consumer_type_id)
');
PREPARE berth_step FROM @berth_step;
EXECUTE berth_step;
DEALLOCATE PREPARE berth_step;
