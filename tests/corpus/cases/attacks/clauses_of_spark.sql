-- Nor do clauses that start programs or read files.
--: error sql.syntax 18:23 unexpected 'USING'
--: error sql.syntax 19:16 unexpected 'USING'
--: error sql.syntax 20:19 unexpected 'USING'
--: error sql.unsupported_statement 21:1 a statement cannot begin with FROM
--: error sql.syntax 22:19 '`' is not allowed here
--: error sql.syntax 23:15 '`' is not allowed here
--: error sql.unsupported 24:15 cannot read from text('/etc/passwd')
--: error sql.unsupported 25:15 cannot read from IDENTIFIER('events')
--: error sql.unsupported 26:36 FOR SYSTEM_TIME AS OF is not supported
--: error sql.unsupported 27:38 FOR SYSTEM_TIME AS OF is not supported
--: error sql.unsupported 28:15 cannot read from STREAM(events)
--: error sql.unsupported 29:15 cannot read from TABLE(events)
--: error sql.unsupported 30:23 cannot read from VALUES (1)
--: error sql.syntax 31:24 '|>' is not allowed here
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT TRANSFORM(key) USING 'cat /etc/passwd' AS x FROM events;
SELECT MAP key USING 'cat' FROM events;
SELECT REDUCE key USING 'cat' FROM events;
FROM events SELECT TRANSFORM(key) USING 'cat';
SELECT * FROM csv.`/etc/passwd`;
SELECT * FROM `/etc/passwd`;
SELECT * FROM text('/etc/passwd');
SELECT * FROM IDENTIFIER('events');
SELECT * FROM events VERSION AS OF 1;
SELECT * FROM events TIMESTAMP AS OF '2024-01-01';
SELECT * FROM STREAM(events);
SELECT * FROM TABLE(events);
SELECT * FROM VALUES (1);
SELECT key FROM events |> WHERE key = 'a';
