-- Members of structs, at any depth, of a table or a column.
--: plan yes
CREATE TABLE t (s STRUCT<a INT, b STRUCT<c TEXT>>, t STRUCT<s INT>) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT s.a, s.b.c AS x, t.s.a AS y, (s).b.c AS z, t.t.s FROM t;
