-- Names are never code, and never paths.
--: error sql.unknown_column 13:8 there is no column "key`), reflect('a', 'b'" here
--: error sql.unusable_name 14:8 '${env:HOME}' is not a valid column name
--: error sql.unknown_column 15:8 there is no column '${spark.app.id}' here
--: error sql.unknown_table 16:15 there is no table '/etc/passwd'
--: error sql.unknown_table 17:15 there is no table 'file:///etc/passwd'
--: error sql.unsupported 18:15 cannot read from text."/etc/passwd"
--: error sql.unsupported 19:15 cannot read from spark_catalog."default".events
--: error sql.unknown_table 20:13 there is no table '/tmp/x'
--: error sql.unsupported_statement 21:1 INSERT must be INTO a declared table
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT "key`), reflect('a', 'b'" FROM events;
SELECT key AS "${env:HOME}" FROM events;
SELECT "${spark.app.id}" FROM events;
SELECT * FROM "/etc/passwd";
SELECT * FROM "file:///etc/passwd";
SELECT * FROM text."/etc/passwd";
SELECT * FROM spark_catalog."default".events;
INSERT INTO '/tmp/x' SELECT key FROM events;
INSERT INTO parquet."/tmp/x" SELECT key FROM events;
