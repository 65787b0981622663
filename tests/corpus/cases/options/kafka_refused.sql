-- A table of Kafka names its topics in one way, and its client can be tuned but not opened up.
--: error option.bad_value 11:14 exactly one of 'topic' and 'source.topic_pattern' must be set
--: error option.bad_value 12:115 option 'topic' names 'a b', which is not a valid topic; for a regular expression use source.topic_pattern
--: error option.bad_value 13:115 option 'source.topic_pattern' is not a valid regular expression: missing ), unterminated subpattern at position 0
--: error option.bad_value 14:128 option 'source.offset' 'middle' is no start position: it is earliest, latest, group, timestamp:2026-01-31T00:00:00Z, offsets:{"0": 12} or savepoint
--: error option.bad_value 15:128 option 'client_configs' names 'plugin.library.paths', which cannot be set in a script
--: error option.bad_value 16:14 auth.type = 'sasl' needs 'auth.username' and 'auth.password'
--: error option.bad_value 17:98 connector 'kafka' does not support the format 'parquet'
--: error sql.table_column 18:27 metadata field 'key' is of type BYTEA, not TEXT
--: error option.missing 19:14 option 'bootstrap_servers' is required
CREATE TABLE a (n BIGINT) WITH (connector = 'kafka', type = 'source', bootstrap_servers = 'b:1', format = 'json');
CREATE TABLE b (n BIGINT) WITH (connector = 'kafka', type = 'source', bootstrap_servers = 'b:1', format = 'json', topic = 'a b');
CREATE TABLE c (n BIGINT) WITH (connector = 'kafka', type = 'source', bootstrap_servers = 'b:1', format = 'json', source.topic_pattern = '(');
CREATE TABLE d (n BIGINT) WITH (connector = 'kafka', type = 'source', bootstrap_servers = 'b:1', format = 'json', topic = 't', source.offset = 'middle');
CREATE TABLE e (n BIGINT) WITH (connector = 'kafka', type = 'source', bootstrap_servers = 'b:1', format = 'json', topic = 't', client_configs = 'plugin.library.paths=/tmp/x.so');
CREATE TABLE f (n BIGINT) WITH (connector = 'kafka', type = 'source', bootstrap_servers = 'b:1', format = 'json', topic = 't', auth.type = 'sasl');
CREATE TABLE g (n BIGINT) WITH (connector = 'kafka', type = 'source', bootstrap_servers = 'b:1', format = 'parquet', topic = 't');
CREATE TABLE h (n BIGINT, k TEXT METADATA FROM 'key') WITH (connector = 'kafka', type = 'source', bootstrap_servers = 'b:1', format = 'json', topic = 't');
CREATE TABLE i (n BIGINT) WITH (connector = 'kafka', type = 'source', format = 'json', topic = 't');
SELECT n FROM a;
