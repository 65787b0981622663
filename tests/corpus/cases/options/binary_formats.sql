-- What Avro, Protobuf and raw bytes need is said when it is missing.
--: error option.bad_value 9:14 table a: 'avro.confluent_schema_registry' needs a schema registry: set 'schema_registry.endpoint'
--: error option.bad_value 10:14 'avro.raw_datums' and 'avro.confluent_schema_registry' exclude each other
--: error option.bad_value 11:125 option 'avro.schema' must be the schema of a record
--: error option.bad_value 12:14 table d: 'avro.into_unstructured_json' requires a schema with a single field called `value` of type JSON
--: error option.missing 13:14 option 'protobuf.descriptor' is required
--: error option.bad_value 14:14 table f: raw_bytes format requires a schema with a single field called `value` of type BYTEA
--: error option.bad_value 15:86 connector 'filesystem' does not support the format 'avro'
CREATE TABLE a (n INT) WITH (connector = 'kafka', bootstrap_servers = 'b:1', topic = 't', type = 'source', format = 'avro', 'avro.confluent_schema_registry' = true);
CREATE TABLE b (n INT) WITH (connector = 'kafka', bootstrap_servers = 'b:1', topic = 't', type = 'source', format = 'avro', 'avro.confluent_schema_registry' = true, 'avro.raw_datums' = true);
CREATE TABLE c (n INT) WITH (connector = 'kafka', bootstrap_servers = 'b:1', topic = 't', type = 'source', format = 'avro', 'avro.schema' = '{"type": "string"}');
CREATE TABLE d (n INT) WITH (connector = 'kafka', bootstrap_servers = 'b:1', topic = 't', type = 'source', format = 'avro', 'avro.into_unstructured_json' = true);
CREATE TABLE e (n INT) WITH (connector = 'kafka', bootstrap_servers = 'b:1', topic = 't', type = 'source', format = 'protobuf', 'protobuf.message' = 'm');
CREATE TABLE f (value TEXT) WITH (connector = 'kafka', bootstrap_servers = 'b:1', topic = 't', type = 'source', format = 'raw_bytes');
CREATE TABLE g (n INT) WITH (connector = 'filesystem', path = '/t', type = 'source', format = 'avro');
SELECT n FROM a;
