-- Flavors have numbers, in the order in which they were created, which moves of servers are shown with.
ALTER TABLE flavors ADD COLUMN number BIGINT NOT NULL DEFAULT 0;

UPDATE flavors SET number = (
    SELECT place FROM (
        SELECT one.id AS id, COUNT(*) AS place FROM flavors one JOIN flavors other
        ON other.created_at < one.created_at OR other.created_at = one.created_at AND other.id <= one.id GROUP BY one.id
    ) placed WHERE placed.id = flavors.id
);

INSERT INTO counters (name, last) SELECT 'flavors', COUNT(*) FROM flavors HAVING COUNT(*) > 0;
