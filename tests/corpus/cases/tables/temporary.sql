-- A lookup table has one primary key, and columns that are read; it cannot be anything else.
--: error option.bad_value 15:24 connector 'single_file' has no type 'lookup'
--: error option.bad_value 16:110 a temporary table cannot have type 'sink'
--: error sql.table_column 17:24 lookup table c has 0 PRIMARY KEY columns, and needs one
--: error sql.table_column 18:24 lookup table d has 2 PRIMARY KEY columns, and needs one
--: error option.missing 19:24 option 'connector' is required
--: error sql.table_column 20:24 lookup table f can only have plain and metadata columns
--: error sql.table_column 22:37 there is no metadata field 'nothing'
--: error sql.table_column 24:14 lookup table h can only have plain and metadata columns
--: error option.bad_value 26:14 table i: CSV cannot hold column 'parts' of type INT[]
--: error option.bad_value 27:14 table j: CSV files have no lines, so there is no metadata 'line'
--: error option.bad_value 29:103 option 'csv.delimiter' must be a single ASCII character other than a quote or a line break
--: error option.bad_value 30:14 table l: 'csv' is only supported for lookup tables
--: error sql.table_column 31:24 lookup table m cannot be looked up by 'id', which is of type INT[]
CREATE TEMPORARY TABLE a (id INT PRIMARY KEY) WITH (connector = 'single_file', path = '/t', format = 'json');
CREATE TEMPORARY TABLE b (id INT PRIMARY KEY) WITH (connector = 'single_file', path = '/t', format = 'json', type = 'sink');
CREATE TEMPORARY TABLE c (id INT) WITH (connector = 'filesystem', path = '/t', format = 'json');
CREATE TEMPORARY TABLE d (id INT PRIMARY KEY, other INT PRIMARY KEY) WITH (connector = 'filesystem', path = '/t', format = 'json');
CREATE TEMPORARY TABLE e (id INT PRIMARY KEY);
CREATE TEMPORARY TABLE f (id INT PRIMARY KEY, twice INT GENERATED ALWAYS AS (id * 2) STORED)
WITH (connector = 'filesystem', path = '/t', format = 'json');
CREATE TABLE g (id INT PRIMARY KEY, name TEXT METADATA FROM 'nothing')
WITH (connector = 'filesystem', path = '/t', format = 'json', type = 'lookup');
CREATE TABLE h (id INT PRIMARY KEY, at TIMESTAMP NOT NULL, WATERMARK FOR at)
WITH (connector = 'filesystem', path = '/t', format = 'parquet', type = 'lookup');
CREATE TABLE i (id INT PRIMARY KEY, parts INT[]) WITH (connector = 'filesystem', path = '/t', format = 'csv', type = 'lookup');
CREATE TABLE j (id INT PRIMARY KEY, l BIGINT METADATA FROM 'line')
WITH (connector = 'filesystem', path = '/t', format = 'csv', type = 'lookup');
CREATE TABLE k (id INT) WITH (connector = 'filesystem', path = '/t', format = 'csv', type = 'source', 'csv.delimiter' = ';;');
CREATE TABLE l (id INT) WITH (connector = 'filesystem', path = '/t', format = 'csv', type = 'source');
CREATE TEMPORARY TABLE m (id INT[] PRIMARY KEY, n INT) WITH (connector = 'filesystem', path = '/t', format = 'json');
SELECT id FROM a;
