"""A small script that is compiled once to load the compiler's modules before a user waits for them."""

SMALL_SCRIPT = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '1');
CREATE TABLE out WITH (connector = 'single_file', path = '/nowhere', format = 'json', type = 'sink');
INSERT INTO out SELECT counter % 8 AS k, tumble(INTERVAL '1 second') AS w, count(*) AS n FROM ticks GROUP BY k, w;
"""
