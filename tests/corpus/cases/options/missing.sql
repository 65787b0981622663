-- Options without which a table cannot work.
--: error option.missing 6:14 option 'type' is required
--: error option.missing 7:14 option 'format' is required
--: error option.missing 8:14 option 'path' is required
--: error option.missing 9:14 option 'event_rate' is required
CREATE TABLE a (n INT) WITH (connector = 'filesystem', path = '/t', format = 'json');
CREATE TABLE b (n INT) WITH (connector = 'filesystem', path = '/t', type = 'sink');
CREATE TABLE c (n INT) WITH (connector = 'filesystem', type = 'sink', format = 'json');
CREATE TABLE d WITH (connector = impulse);
SELECT 1 FROM a;
