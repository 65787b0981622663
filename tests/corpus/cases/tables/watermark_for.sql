-- Without an expression the watermark is the event time itself.
--: plan yes
CREATE TABLE t (at TIMESTAMP, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT at FROM t;
