-- A rate that is beyond all numbers is refused, rather than taken for an infinite one.
--: error option.bad_value 4:50 option 'event_rate' must be a finite number
CREATE TABLE orders WITH (connector = 'impulse', event_rate = 1);
CREATE TABLE others WITH (connector = 'impulse', event_rate = 1e400);
SELECT * FROM others;
