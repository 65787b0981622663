-- A Redis table needs one place, and its key is its primary key.
--: error option.bad_value 11:24 exactly one of 'address' and 'cluster.addresses' must be set
--: error option.bad_value 12:24 exactly one of 'address' and 'cluster.addresses' must be set
--: error option.bad_value 14:24 table c: the PRIMARY KEY of a Redis table must be its key: write `k TEXT METADATA FROM 'key' PRIMARY KEY`
--: error sql.table_column 15:27 incorrect data type for metadata field 'key'; expected TEXT, but found BIGINT
--: error option.bad_value 16:24 table e: the PRIMARY KEY of a Redis table must be its key: write `k TEXT METADATA FROM 'key' PRIMARY KEY`
--: error option.bad_value 17:121 connector 'redis' cannot carry the format 'parquet'
--: error option.wrong_type 19:60 expected with option 'lookup.cache.ttl' to be an interval, but it was 'soon'
--: error option.wrong_type 19:89 expected with option 'lookup.cache.max_bytes' to be a number of bytes like '128mb', but it was 'much'
--: error option.unknown 19:124 unknown options provided in WITH clause: 'target.prefix'
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
