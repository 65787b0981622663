-- Rows that can be taken back are known by columns of the engine's; rows that are only added may have such columns.
--: error sql.table_column 11:13 column name '_id' is reserved for the engine where rows can be taken back
--: error sql.table_column 12:8 column name '_id' is reserved for the engine where rows can be taken back
--: error sql.table_column 14:23 column name '_ID' is reserved for the engine where rows can be taken back
--: error sql.table_column 15:1 column name '_id' is reserved for the engine where rows can be taken back
--: error sql.table_column 16:8 column name '_id' is reserved for the engine where rows can be taken back
CREATE TABLE t (n BIGINT, k TEXT) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE c (_id BIGINT PRIMARY KEY) WITH (connector = 'single_file', path = '/c.json', format = 'debezium_json', type = 'source');
CREATE TABLE s (_id BIGINT) WITH (connector = 'single_file', path = '/s.json', format = 'debezium_json', type = 'sink');
CREATE VIEW v AS SELECT n AS _id, k AS _retract FROM t;
INSERT INTO s SELECT count(*) FROM t GROUP BY k;
SELECT _id, count(*) AS n FROM v GROUP BY _id;
SELECT count(*) AS n FROM v GROUP BY _retract;
SELECT k, count(*) AS "_ID" FROM t GROUP BY k;
SELECT * FROM c;
SELECT _id AS x FROM c;
SELECT _id, _retract FROM v;
