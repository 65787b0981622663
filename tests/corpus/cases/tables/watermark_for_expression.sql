-- The expression may use other columns, which are decoded then.
--: plan yes
CREATE TABLE t (at TIMESTAMP, slack BIGINT, WATERMARK FOR At AS coalesce(at, to_timestamp_seconds(0)) - INTERVAL '1 hour') WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT 1 AS one FROM t;
