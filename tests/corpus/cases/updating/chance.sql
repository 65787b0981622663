-- What gives another value each time may go into an aggregate; what nobody asks for is not kept.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '/changes.json', format = 'debezium_json', type = 'sink');
CREATE VIEW sums AS SELECT key, max(random()) AS luck, sum(value) AS total, max(row_time()) AS seen FROM events GROUP BY key;
INSERT INTO changes SELECT luck, seen FROM sums WHERE key <> 'x';
