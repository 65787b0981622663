-- Other settings, and times that are none.
--: error sql.unknown_setting 17:5 there is no setting 'spark.sql.variable.substitute'; a script can set 'updating_ttl', 'sink_prefix' and 'sinks'
--: error sql.bad_duration 18:20 '1 month' has no fixed length
--: error sql.bad_duration 19:20 updating_ttl is a length of time, not 5
--: error sql.bad_duration 20:20 updating_ttl must be greater than zero
--: error sql.unsupported_statement 21:1 SET takes one name and one value
--: error sql.unsupported_statement 22:1 SET takes one name and one value
--: error sql.unsupported_statement 23:20 SET takes one name and one value
--: error sql.bad_duration 24:20 updating_ttl is a length of time, not '1 day' + '1 day'
--: error sql.bad_duration 25:1 updating_ttl is a length of time, not day
--: error sql.bad_duration 26:20 updating_ttl is 36500 days at most
--: error sql.bad_duration 27:20 updating_ttl must be greater than zero
--: error sql.bad_duration 28:20 updating_ttl must be greater than zero
--: error sql.unsupported 29:13 SET SESSION is not supported
--: error sql.unsupported 30:11 SET LOCAL is not supported
--: error sql.unsupported 31:12 SET GLOBAL is not supported
SET spark.sql.variable.substitute = true;
SET updating_ttl = '1 month';
SET updating_ttl = 5;
SET updating_ttl = '-5 seconds';
SET updating_ttl;
SET updating_ttl = '1 day', '2 days';
SET updating_ttl = ('1 day', '2 days');
SET updating_ttl = '1 day' + '1 day';
SET updating_ttl = day;
SET updating_ttl = INTERVAL '40000' DAY;
SET updating_ttl = '0 seconds';
SET updating_ttl = INTERVAL '0' DAY;
SET SESSION updating_ttl = '1 day';
SET LOCAL updating_ttl TO '1 day';
SET GLOBAL updating_ttl = '1 day';
