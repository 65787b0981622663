-- A generated column is computed from the columns of the record, STORED or not, in the order of the text.
--: plan yes
CREATE TABLE t (
  twice BIGINT GENERATED ALWAYS AS (a * 2) STORED,
  a BIGINT,
  name TEXT GENERATED ALWAYS AS (upper(b)),
  b TEXT,
  small INT GENERATED ALWAYS AS (a)
) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT * FROM t;
