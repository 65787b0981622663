-- A row for each element.
--: notimpl unnest is for the issue of array functions
CREATE TABLE t (a TEXT[]) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT unnest(a) FROM t;
