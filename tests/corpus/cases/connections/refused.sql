-- What is wrong with a connection, or with a table that uses it, is said where it stands.
--: error option.missing 13:19 option 'connector' is required
--: error option.bad_value 14:33 there is no connector 'carrier_pigeon'
--: error option.unknown 15:76 'target' is not an option of all redis tables
--: error option.bad_value 16:52 option 'address' names the variable 'HOME', and only variables that begin with ARROYO_VAR_ can be read; for a secret write {{ secret:NAME }} and set ARROYO_SECRET_NAME where the job is started
--: error option.bad_value 16:84 option 'password' names 'A B', which is not a valid secret or variable; use letters, digits and underscores
--: error sql.duplicate_name 17:19 connection 'Cache' is declared twice
--: error option.bad_value 18:51 option 'address' must not contain a secret, since it is shown in plans and logs
--: error option.wrong_type 18:90 option 'password' must be a quoted text, not something else
--: error option.bad_value 19:74 there is no connection 'cash'
--: error option.bad_value 20:32 connection 'cache' is for connector 'redis', not 'stdout'
--: error option.bad_value 22:37 option 'address' is also set by connection 'cache'
CREATE CONNECTION nothing WITH (address = 'redis://a');
CREATE CONNECTION unheard WITH (connector = 'carrier_pigeon');
CREATE CONNECTION narrow WITH (connector = 'redis', address = 'redis://a', target = 'list');
CREATE CONNECTION cache WITH (connector = 'redis', address = 'redis://{{ HOME }}', password = '{{ secret:A B }}');
CREATE CONNECTION Cache WITH (connector = 'redis', address = 'redis://b');
CREATE CONNECTION told WITH (connector = 'redis', address = 'redis://{{ secret:HOST }}', password = 5);
CREATE TEMPORARY TABLE a (id TEXT METADATA FROM 'key' PRIMARY KEY) WITH (connection_profile = 'cash', format = 'json');
CREATE TABLE b (id TEXT) WITH (connector = 'stdout', connection_profile = 'cache');
CREATE TEMPORARY TABLE c (id TEXT METADATA FROM 'key' PRIMARY KEY)
WITH (connection_profile = 'cache', address = 'redis://c', format = 'json');
CREATE TEMPORARY TABLE d (id TEXT METADATA FROM 'key' PRIMARY KEY, v INT) WITH (connection_profile = 'cache', format = 'json');
CREATE TEMPORARY TABLE e (id TEXT METADATA FROM 'key' PRIMARY KEY, v INT) WITH (connection_profile = 'told', format = 'json');
