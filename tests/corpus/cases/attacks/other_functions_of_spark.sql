-- Functions of Spark that nobody declared are not there, harmless or not.
--: error sql.unknown_function 25:8 there is no function 'input_file_name'
--: error sql.unknown_function 25:27 there is no function 'current_user'
--: error sql.unknown_function 25:43 there is no function 'version'
--: error sql.unknown_function 25:54 there is no function 'assert_true'
--: error sql.unknown_function 25:74 there is no function 'raise_error'
--: error sql.unknown_function 25:92 there is no function 'spark_partition_id'
--: error sql.unknown_function 26:8 there is no function 'from_json'
--: error sql.unknown_function 26:33 there is no function 'from_xml'
--: error sql.unknown_function 26:53 there is no function 'from_avro'
--: error sql.unknown_function 26:69 there is no function 'schema_of_json'
--: error sql.unknown_function 26:90 there is no function 'aes_decrypt'
--: error sql.unknown_function 27:8 there is no function 'pg_read_file'
--: error sql.unknown_function 27:37 there is no function 'lo_import'
--: error sql.unknown_function 27:63 there is no function 'dblink'
--: error sql.unknown_function 27:76 there is no function 'read_files'
--: error sql.unknown_function 27:94 there is no function 'udf'
--: error sql.unknown_column 28:8 there is no column 'current_user' here
--: error sql.unknown_column 28:22 there is no column 'session_user' here
--: error sql.unknown_column 28:36 there is no column 'user' here
--: error sql.unknown_column 29:8 there is no column 'x' here
--: error sql.unknown_function 29:20 there is no function 'transform'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT input_file_name(), current_user(), version(), assert_true(false), raise_error('x'), spark_partition_id() FROM events;
SELECT from_json(key, 'a INT'), from_xml(key, 'a'), from_avro(key), schema_of_json(key), aes_decrypt(key, key) FROM events;
SELECT pg_read_file('/etc/passwd'), lo_import('/etc/passwd'), dblink('x'), read_files('/x'), udf(key) FROM events;
SELECT current_user, session_user, user FROM events;
SELECT x -> x + 1, transform(key, x -> x) FROM events;
