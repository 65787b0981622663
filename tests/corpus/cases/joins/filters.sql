-- What is asked of one side alone is asked before the join, unless its rows may be missing or the test may fail.
--: plan yes
CREATE TABLE a (at TIMESTAMP NOT NULL, k TEXT, x BIGINT)
WITH (connector = 'single_file', path = '/a.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE b (at TIMESTAMP NOT NULL, k TEXT, y BIGINT)
WITH (connector = 'single_file', path = '/b.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT x, y FROM a JOIN b ON a.k = b.k AND x > 1 AND y > x WHERE y IS NOT NULL AND a.at > '2024-01-01' AND 10 / x > 1;
SELECT x, y FROM a LEFT JOIN b ON a.k = b.k AND x > 1 AND y > 2 WHERE x > 3 AND y > 4;
SELECT x, y FROM a FULL JOIN b ON a.k = b.k AND x > 1 WHERE x > 3 OR y > 4;
