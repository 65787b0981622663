-- Text that looks like variables, quotes or code comes out as it went in, and is harmless.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT '${env:HOME}' AS a, '${spark.app.id}' AS b, '${system:user.home}' AS c, '\'' || reflect(''a'') || ''' AS d, '`x`' AS e,
  'a\u0041\n' AS f, key || '${x}' AS g
FROM events WHERE key <> '${env:HOME}' AND value < 3;
