-- NOT NULL and PRIMARY KEY stand behind a column.
--: plan yes
CREATE TABLE t (id BIGINT PRIMARY KEY, name TEXT NOT NULL, note TEXT NULL) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT id, name, note, id + 1 AS next FROM t;
