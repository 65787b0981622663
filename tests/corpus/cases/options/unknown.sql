-- Options that nobody asked for are named together; every other complaint comes with them.
--: error option.missing 6:14 option 'path' is required
--: error option.unknown 7:29 there are no options 'pth', 'foo.bar', 'json.x'
--: error option.bad_value 7:102 option 'bad_data' must be 'fail', 'drop' or 'dead_letter'
--: error option.wrong_type 8:3 option 'idle_micros' must be a whole number, not 'abc'
CREATE TABLE a (n INT) WITH (
  connector = 'filesystem', pth = '/t', type = 'sink', format = 'json', foo.bar = 1, 'json.x' = 'y', bad_data = 'x',
  'idle_micros' = 'abc'
);
SELECT 1 FROM a;
