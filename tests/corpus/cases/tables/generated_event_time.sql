-- A generated column can be the event time.
--: plan yes
CREATE TABLE t (
  seen TEXT,
  at TIMESTAMP NOT NULL GENERATED ALWAYS AS (CAST(seen AS TIMESTAMP)) STORED,
  WATERMARK FOR at AS at - INTERVAL '5 seconds'
) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM t GROUP BY w;
