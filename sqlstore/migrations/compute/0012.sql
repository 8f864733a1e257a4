-- What requests write into an operation that a worker carries out: the operations that begin when it ends, and that it is to be
-- undone. It was part of the body, which the worker rewrites.
ALTER TABLE operations ADD COLUMN queue {text};
ALTER TABLE operations ADD COLUMN aborted INTEGER NOT NULL DEFAULT 0;

UPDATE operations SET queue = {json body next} WHERE body <> '';
UPDATE operations SET aborted = 1 WHERE body <> '' AND ({json body abort} LIKE '1' OR {json body abort} LIKE 'true');
