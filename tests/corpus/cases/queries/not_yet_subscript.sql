-- Elements of arrays.
--: notimpl arrays are for the issue of array functions
CREATE TABLE t (a TEXT[]) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT a[1] FROM t;
