-- Some names the engine needs for itself, and Spark would look some up.
--: error sql.table_column 11:17 column name '__window' is reserved for the engine
--: error sql.table_column 11:31 column name '_timestamp' is reserved for the engine
--: error sql.table_column 11:47 column name '_key0' is reserved for the engine
--: error sql.unusable_name 11:58 '${env:HOME}' is not a valid column name
--: error sql.unusable_name 11:77 '${x}' is not a valid column name
--: error sql.table_column 13:13 column name '__x' is reserved for the engine
--: error sql.table_column 14:8 column name '__y' is reserved for the engine
--: error sql.table_column 15:38 column name '__z' is reserved for the engine
--: error sql.duplicate_name 16:6 column 'N' is declared twice
CREATE TABLE a (__window INT, _timestamp INT, _key0 INT, "${env:HOME}" INT, b STRUCT<"${x}" INT>) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE b (n INT) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE VIEW c (__x) AS SELECT n FROM b;
SELECT n AS __y FROM b;
SELECT __z FROM (SELECT n FROM b) AS d(__z);
WITH e(n, N) AS (SELECT n, n FROM b) SELECT n FROM e;
