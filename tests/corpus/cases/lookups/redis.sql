-- A Redis table is looked up by its key; the password stays a secret.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE users (id TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT, tier INT)
WITH (connector = 'redis', address = 'redis://localhost:6379', username = 'me', password = '{{ secret:REDIS_PASSWORD }}',
      'target.key_prefix' = 'user:', format = 'json', 'lookup.cache.max_bytes' = '64mb', 'lookup.cache.ttl' = INTERVAL '5 minutes');
SELECT value, name FROM events JOIN users ON users.id = key WHERE tier > 1;
