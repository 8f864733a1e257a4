-- The NUMA nodes of the host, an object, NULL when it does not report them.
ALTER TABLE nodes ADD COLUMN topology {text};
