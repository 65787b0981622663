-- Members that there are not.
--: error sql.unknown_column 7:8 no member 'b' in STRUCT<a INT>
--: error sql.unknown_column 7:13 'a' is asked of a value of type INT, which has no members
--: error sql.unknown_column 7:18 no column 'x' here
--: error sql.unknown_column 7:23 'b' is asked of a value of type INT, which has no members
CREATE TABLE t (s STRUCT<a INT>, n INT) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT s.b, n.a, t.x, s.a.b FROM t;
