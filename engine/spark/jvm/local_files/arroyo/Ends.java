package arroyo;

import java.util.ArrayList;
import java.util.List;

/**
 * When windows may end: every so many microseconds, counted from a moment after 1970.
 *
 * <p>Spelled {@code 10000000+0,60000000+5000000}: every ten seconds, and five seconds after each
 * full minute.
 */
record Ends(List<Grid> grids) {
  record Grid(long every, long from) {}

  static Ends read(String text) {
    List<Grid> grids = new ArrayList<>();
    for (String grid : text.split(",")) {
      String[] parts = grid.split("\\+");
      grids.add(new Grid(Long.parseLong(parts[0]), Long.parseLong(parts[1])));
    }
    return new Ends(grids);
  }

  /** Whether one lies after the first moment and not after the last; both in milliseconds. */
  boolean liesOneIn(long after, long upTo) {
    for (Grid grid : grids) {
      if (passed(grid, after) != passed(grid, upTo)) {
        return true;
      }
    }
    return false;
  }

  private static long passed(Grid grid, long millis) {
    return Math.floorDiv(Math.multiplyExact(millis, 1000L) - grid.from, grid.every);
  }
}
