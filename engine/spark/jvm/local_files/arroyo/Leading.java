package arroyo;

import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/**
 * Whether a row of a window may still be among the first ones, by what it is ordered by first.
 *
 * <p>A row goes when so many rows of its window as places are asked for have passed in this task
 * with a value that is strictly better. Those that stay are few, and are sorted by all of the
 * order. A row without a value stays.
 */
public final class Leading implements UDF3<Long, Long, Long, Boolean> {
  private static final long serialVersionUID = 1L;

  private final int places;
  private final boolean descending;

  /** Each task has a copy of its own, which begins with nothing. */
  private transient Map<Window, PriorityQueue<Long>> best;

  private record Window(long start, long end) {}

  private Leading(int places, boolean descending) {
    this.places = places;
    this.descending = descending;
  }

  /** The test of rows whose window begins and ends then, in microseconds. */
  public static Column of(
      Column start, Column end, Column value, int places, boolean descending) {
    return functions
        .udf(new Leading(places, descending), DataTypes.BooleanType)
        .asNondeterministic()
        .apply(start, end, value);
  }

  @Override
  public Boolean call(Long start, Long end, Long value) {
    if (start == null || end == null || value == null) {
      return true;
    }
    if (best == null) {
      best = new HashMap<>();
    }
    long merit = descending ? value : ~value;
    PriorityQueue<Long> leaders =
        best.computeIfAbsent(new Window(start, end), window -> new PriorityQueue<>());
    if (leaders.size() < places) {
      leaders.add(merit);
      return true;
    }
    long least = leaders.peek();
    if (merit > least) {
      leaders.poll();
      leaders.add(merit);
    }
    return merit >= least;
  }
}
