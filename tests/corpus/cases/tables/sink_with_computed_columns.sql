-- A sink has plain columns.
--: error sql.table_column 4:14 sink s can only have plain columns
--: error sql.table_column 5:14 sink t can only have plain columns
CREATE TABLE s (a INT, b INT GENERATED ALWAYS AS (a) STORED) WITH (connector = 'blackhole');
CREATE TABLE t (a TIMESTAMP NOT NULL, WATERMARK FOR a) WITH (connector = 'blackhole');
SELECT 1 FROM s;
