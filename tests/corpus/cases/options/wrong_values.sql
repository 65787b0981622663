-- Values of another kind than the option, and values that it cannot have.
--: error option.wrong_type 15:45 option 'event_rate' must be a number, not 'fast'
--: error option.wrong_type 15:66 option 'message_count' must be a whole number of at least zero, not '-1'
--: error option.bad_value 17:30 there is no connector 'filesystm'
--: error option.bad_value 18:86 connector 'filesystem' does not support the format 'jsn'
--: error option.wrong_type 19:30 connector is not an option
--: error option.wrong_type 19:41 path is not an option
--: error option.bad_value 20:55 connector 'blackhole' has no format
--: error option.bad_value 21:104 there is no connection 'p'
--: error option.bad_value 22:104 option 'late_rows' must have at least 1 character
--: error option.missing 23:14 option 'path' is required
--: error option.wrong_type 23:57 the value of option 'path' is not valid: 1 + 1
--: error option.wrong_type 24:104 option 'idle_time' must be a length of time like '5 seconds', not '99999999999999 days'
--: error sql.bad_duration 25:104 '1 month' has no fixed length
CREATE TABLE a WITH (connector = 'impulse', event_rate = 'fast', message_count = -1);
CREATE TABLE b WITH (connector = 'impulse', event_rate = 10, 'event_rate' = 10);
CREATE TABLE c (n INT) WITH (connector = 'filesystm');
CREATE TABLE d (n INT) WITH (connector = 'filesystem', path = '/t', type = 'lookup', format = 'jsn');
CREATE TABLE e (n INT) WITH (connector, path);
CREATE TABLE f (n INT) WITH (connector = 'blackhole', format = 'json');
CREATE TABLE g (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', connection_profile = 'p');
CREATE TABLE h (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', late_rows = '');
CREATE TABLE i (n INT) WITH (connector = 'single_file', path = 1 + 1, type = 'source', format = 'json');
CREATE TABLE j (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', idle_time = '99999999999999 days');
CREATE TABLE k (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', idle_time = INTERVAL '1 month');
SELECT 1 FROM a;
