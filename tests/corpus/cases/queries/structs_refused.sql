-- Members that there are not.
--: error sql.unknown_column 7:8 STRUCT<a INT> has no member 'b'
--: error sql.unknown_column 7:13 a value of type INT has no members, and so no 'a'
--: error sql.unknown_column 7:18 there is no column 'x' here
--: error sql.unknown_column 7:23 a value of type INT has no members, and so no 'b'
CREATE TABLE t (s STRUCT<a INT>, n INT) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT s.b, n.a, t.x, s.a.b FROM t;
