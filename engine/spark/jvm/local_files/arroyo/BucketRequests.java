package arroyo;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Counts the requests to the buckets of states, by kind. On a cluster each executor tells the driver
 * after a task what it has sent since the last one.
 *
 * <p>The changelogs are those of epochs. All else is sent at a start, or by maintenance.
 */
public final class BucketRequests implements SparkPlugin {
  private static final String CHANGELOG = "changelog";
  private static final String PUT = "put";

  /** The counters of S3A that make a kind. */
  private static final Map<String, List<String>> KINDS =
      Map.of(
          PUT, List.of("object_put_request", "object_multipart_initiated"),
          "get", List.of("action_http_get_request"),
          "head", List.of("action_http_head_request"),
          "list", List.of("object_list_request", "object_continue_list_request"),
          "delete", List.of("object_delete_request", "object_bulk_delete_request"));

  private static final LongAdder CHANGELOGS = new LongAdder();
  private static final Map<String, Long> FROM_EXECUTORS = new ConcurrentHashMap<>();

  /** A changelog was written with one request. */
  static void countChangelog() {
    CHANGELOGS.increment();
  }

  /** All requests that this JVM knows of, as JSON. */
  public static String counts() {
    Map<String, Long> counts = new TreeMap<>(FROM_EXECUTORS);
    sent().forEach((kind, count) -> counts.merge(kind, count, Long::sum));
    StringBuilder text = new StringBuilder("{");
    counts.forEach(
        (kind, count) ->
            text.append(text.length() > 1 ? "," : "").append('"').append(kind).append("\":").append(count));
    return text.append('}').toString();
  }

  private static Map<String, Long> sent() {
    Map<String, Long> ofS3a = StateInBucket.requests();
    Map<String, Long> sent = new HashMap<>();
    KINDS.forEach(
        (kind, names) ->
            sent.put(kind, names.stream().mapToLong(name -> ofS3a.getOrDefault(name, 0L)).sum()));
    long changelogs = CHANGELOGS.sum();
    sent.put(CHANGELOG, changelogs);
    sent.merge(PUT, -changelogs, Long::sum);
    return sent;
  }

  @Override
  public DriverPlugin driverPlugin() {
    return new DriverPlugin() {
      @Override
      public Object receive(Object message) {
        ((Map<?, ?>) message)
            .forEach((kind, count) -> FROM_EXECUTORS.merge((String) kind, (Long) count, Long::sum));
        return null;
      }
    };
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new Teller();
  }

  private static final class Teller implements ExecutorPlugin {
    private final Map<String, Long> told = new HashMap<>();
    private PluginContext driver;

    @Override
    public void init(PluginContext context, Map<String, String> settings) {
      driver = context;
    }

    @Override
    public synchronized void onTaskSucceeded() {
      HashMap<String, Long> further = new HashMap<>();
      sent()
          .forEach(
              (kind, count) -> {
                long more = count - told.getOrDefault(kind, 0L);
                if (more != 0) {
                  further.put(kind, more);
                }
              });
      if (further.isEmpty()) {
        return;
      }
      try {
        driver.send(further);
        further.forEach((kind, more) -> told.merge(kind, more, Long::sum));
      } catch (java.io.IOException isAway) {
        // the next task tells it
      }
    }
  }
}
