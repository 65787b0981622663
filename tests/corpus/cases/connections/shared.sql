-- Tables share the options of a connection, and the password stays a secret.
--: plan yes
CREATE CONNECTION cache WITH (
  connector = 'redis', address = 'redis://{{ ARROYO_VAR_REDIS_HOST }}:6379', password = '{{ secret:REDIS }}'
);
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT NOT NULL, value BIGINT)
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE users (id TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT)
WITH (connection_profile = 'cache', 'target.key_prefix' = 'user:', format = 'json');
CREATE TABLE latest (key TEXT NOT NULL, name TEXT)
WITH (connector = 'redis', connection_profile = 'Cache', type = 'sink', target = 'string', 'target.key_prefix' = 'last:',
      'target.key_column' = 'key', format = 'json');
INSERT INTO latest SELECT key, name FROM events JOIN users ON users.id = key;
