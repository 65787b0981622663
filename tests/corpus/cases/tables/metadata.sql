-- METADATA FROM fills a column from around the record; the older spelling does the same.
--: plan yes
CREATE TABLE t (a INT, f TEXT METADATA FROM 'filename', g TEXT GENERATED ALWAYS AS (metadata('filename')) STORED)
WITH (connector = 'filesystem', path = '/t', format = 'json', type = 'source');
SELECT a, f, g FROM t;
