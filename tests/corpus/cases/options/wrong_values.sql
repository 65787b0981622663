-- Values of another kind than the option, and values that it cannot have.
--: error option.wrong_type 16:45 expected with option 'event_rate' to be a double, but it was 'fast'
--: error option.wrong_type 16:66 expected with option 'message_count' to be an unsigned integer, but it was '-1'
--: error option.bad_value 17:62 option 'event_rate' is given twice
--: error option.bad_value 18:30 there is no connector 'filesystm'
--: error option.bad_value 19:86 connector 'filesystem' does not support the format 'jsn'
--: error option.wrong_type 20:30 invalid with option: connector; expected an `=` delimited key-value pair
--: error option.wrong_type 20:41 invalid with option: path; expected an `=` delimited key-value pair
--: error option.bad_value 21:55 connector 'blackhole' has no format
--: error option.bad_value 22:104 there is no connection 'p'
--: error option.bad_value 23:104 late_rows = 'drop' is the only value supported
--: error option.missing 24:14 required option 'path' not set
--: error option.wrong_type 24:57 the value of option 'path' is not valid: 1 + 1
--: error option.wrong_type 25:104 expected with option 'idle_time' to be an interval, but it was '99999999999999 days'
--: error sql.bad_duration 26:104 the length of '1 month' varies, since 'month' is not always equally long
CREATE TABLE a WITH (connector = 'impulse', event_rate = 'fast', message_count = -1);
CREATE TABLE b WITH (connector = 'impulse', event_rate = 10, 'event_rate' = 10);
CREATE TABLE c (n INT) WITH (connector = 'filesystm');
CREATE TABLE d (n INT) WITH (connector = 'filesystem', path = '/t', type = 'lookup', format = 'jsn');
CREATE TABLE e (n INT) WITH (connector, path);
CREATE TABLE f (n INT) WITH (connector = 'blackhole', format = 'json');
CREATE TABLE g (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', connection_profile = 'p');
CREATE TABLE h (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', late_rows = 'keep');
CREATE TABLE i (n INT) WITH (connector = 'single_file', path = 1 + 1, type = 'source', format = 'json');
CREATE TABLE j (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', idle_time = '99999999999999 days');
CREATE TABLE k (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', idle_time = INTERVAL '1 month');
SELECT 1 FROM a;
