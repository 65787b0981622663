-- Nor in what tables compute, or in what options say.
--: error sql.unknown_function 14:53 there is no function 'reflect'
--: error sql.unknown_function 15:60 there is no function 'reflect'
--: error sql.unsupported 16:60 (SELECT max(at) FROM c) is not supported here
--: error sql.unsupported 17:58 (SELECT 1) is not supported here
--: error option.bad_value 18:31 there is no connector 'jdbc'
--: error option.bad_value 19:31 there is no connector 'org.apache.spark.sql.jdbc'
--: error option.missing 20:14 option 'path' is required
--: error option.wrong_type 20:58 the value of option 'path' is not valid: REFLECT('a')
--: error option.missing 21:14 option 'path' is required
--: error option.wrong_type 21:58 the value of option 'path' is not valid: (SELECT 1)
--: error option.bad_value 22:71 connector 'single_file' does not support the format '../json'
--: error option.unknown 23:105 there is no option 'spark.jars'
CREATE TABLE a (n TEXT, x TEXT GENERATED ALWAYS AS (reflect('java.lang.System', 'exit')) STORED) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE b (at TIMESTAMP NOT NULL, WATERMARK FOR at AS reflect('java.lang.System', 'exit')) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE c (at TIMESTAMP NOT NULL, WATERMARK FOR at AS (SELECT max(at) FROM c)) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE d (n TEXT, x TEXT GENERATED ALWAYS AS (n || (SELECT 1)) STORED) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE e (n TEXT) WITH (connector = 'jdbc', url = 'jdbc:h2:mem:x');
CREATE TABLE f (n TEXT) WITH (connector = 'org.apache.spark.sql.jdbc');
CREATE TABLE g (n TEXT) WITH (connector = 'single_file', path = reflect('a'), format = 'json', type = 'source');
CREATE TABLE h (n TEXT) WITH (connector = 'single_file', path = (SELECT 1), format = 'json', type = 'source');
CREATE TABLE i (n TEXT) WITH (connector = 'single_file', path = '/t', format = '../json', type = 'source');
CREATE TABLE j (n TEXT) WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source', 'spark.jars' = '/x.jar');
