-- The operators of JSON.
--: notimpl JSON operators are for the issue of JSON functions
CREATE TABLE t (j JSON) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT j->'a'->>'b' FROM t;
