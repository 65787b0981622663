-- A Redis table needs one place, and its key is its primary key.
--: error option.bad_value 17:24 exactly one of 'address' and 'cluster.addresses' must be set
--: error option.bad_value 18:24 exactly one of 'address' and 'cluster.addresses' must be set
--: error option.bad_value 20:24 table c: the PRIMARY KEY of a Redis table must be its key: write `k TEXT METADATA FROM 'key' PRIMARY KEY`
--: error sql.table_column 21:27 metadata field 'key' is of type TEXT, not BIGINT
--: error option.bad_value 22:24 table e: the PRIMARY KEY of a Redis table must be its key: write `k TEXT METADATA FROM 'key' PRIMARY KEY`
--: error option.bad_value 23:121 connector 'redis' does not support the format 'parquet'
--: error option.wrong_type 25:60 option 'lookup.cache.ttl' must be a length of time like '5 seconds', not 'soon'
--: error option.wrong_type 25:89 option 'lookup.cache.max_bytes' must be a number of bytes like '128mb', not 'much'
--: error option.unknown 25:124 there is no option 'target.prefix'
--: error option.missing 27:14 option 'target' is required
--: error option.bad_value 28:14 'target.field_column' is needed for target = 'hash', and only there
--: error option.bad_value 29:14 'target.ttl_secs' is only for target = 'string'
--: error option.bad_value 30:14 'target.max_length' is only for target = 'list'
--: error option.bad_value 34:13 table l: column 'k' is part of a key, so it must be a TEXT NOT NULL column of the table
--: error option.bad_value 35:13 table m: column 'nothing' is part of a key, so it must be a TEXT NOT NULL column of the table
CREATE TEMPORARY TABLE a (id TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT) WITH (connector = 'redis', format = 'json');
CREATE TEMPORARY TABLE b (id TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT)
WITH (connector = 'redis', address = 'a', 'cluster.addresses' = 'b', format = 'json');
CREATE TEMPORARY TABLE c (id TEXT PRIMARY KEY, name TEXT) WITH (connector = 'redis', address = 'a', format = 'json');
CREATE TEMPORARY TABLE d (id BIGINT METADATA FROM 'key' PRIMARY KEY, name TEXT) WITH (connector = 'redis', address = 'a', format = 'json');
CREATE TEMPORARY TABLE e (id TEXT METADATA FROM 'key', name TEXT PRIMARY KEY) WITH (connector = 'redis', address = 'a', format = 'json');
CREATE TEMPORARY TABLE f (id TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT) WITH (connector = 'redis', address = 'a', format = 'parquet');
CREATE TEMPORARY TABLE g (id TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT)
WITH (connector = 'redis', address = 'a', format = 'json', 'lookup.cache.ttl' = 'soon', 'lookup.cache.max_bytes' = 'much', 'target.prefix' = 'x');
SELECT 1 FROM a;
CREATE TABLE h (k TEXT NOT NULL) WITH (connector = 'redis', type = 'sink', address = 'a', format = 'json', 'target.key_prefix' = 'p');
CREATE TABLE i (k TEXT NOT NULL) WITH (connector = 'redis', type = 'sink', address = 'a', format = 'json', 'target.key_prefix' = 'p', target = 'hash');
CREATE TABLE j (k TEXT NOT NULL) WITH (connector = 'redis', type = 'sink', address = 'a', format = 'json', 'target.key_prefix' = 'p', target = 'list', 'target.ttl_secs' = 5);
CREATE TABLE k (k TEXT NOT NULL) WITH (connector = 'redis', type = 'sink', address = 'a', format = 'json', 'target.key_prefix' = 'p', target = 'string', 'target.max_length' = 5);
CREATE TABLE l (k TEXT) WITH (connector = 'redis', type = 'sink', address = 'a', format = 'json', 'target.key_prefix' = 'p', target = 'string', 'target.key_column' = 'k');
CREATE TABLE m (k TEXT NOT NULL) WITH (connector = 'redis', type = 'sink', address = 'a', format = 'json', 'target.key_prefix' = 'p', target = 'string', 'target.key_column' = 'nothing');
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 1);
INSERT INTO l SELECT 'x' FROM numbers;
INSERT INTO m SELECT 'x' FROM numbers;
