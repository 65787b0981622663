package arroyo;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import scala.jdk.javaapi.CollectionConverters;

/** How many tasks each lodger has under way, and what those have used that have ended. */
final class LodgersTasks extends SparkListener {
  /** The property of a job that says whose it is. */
  static final String NAME = "arroyo.lodger";

  private static final int REMEMBERED = 2_000;

  private final Map<Integer, Stage> stages =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, Stage> eldest) {
          return size() > REMEMBERED && eldest.getValue().running == 0;
        }
      };
  private final Map<String, Integer> running = new HashMap<>();
  private final Map<String, Long> cpuNanos = new HashMap<>();
  private final Map<String, Long> millis = new HashMap<>();

  synchronized boolean areThereOf(String lodger) {
    return running.getOrDefault(lodger, 0) > 0;
  }

  synchronized long cpuNanos(String lodger) {
    return cpuNanos.getOrDefault(lodger, 0L);
  }

  synchronized long millis(String lodger) {
    return millis.getOrDefault(lodger, 0L);
  }

  synchronized void forget(String lodger) {
    running.remove(lodger);
    cpuNanos.remove(lodger);
    millis.remove(lodger);
  }

  @Override
  public synchronized void onJobStart(SparkListenerJobStart job) {
    String lodger = job.properties() == null ? null : job.properties().getProperty(NAME);
    if (lodger != null) {
      for (Object id : CollectionConverters.asJava(job.stageIds())) {
        stages.putIfAbsent((Integer) id, new Stage(lodger));
      }
    }
  }

  @Override
  public synchronized void onTaskStart(SparkListenerTaskStart task) {
    Stage stage = stages.get(task.stageId());
    if (stage != null) {
      stage.running++;
      running.merge(stage.lodger, 1, Integer::sum);
    }
  }

  @Override
  public synchronized void onTaskEnd(SparkListenerTaskEnd task) {
    Stage stage = stages.get(task.stageId());
    if (stage != null && stage.running > 0) {
      stage.running--;
      running.merge(stage.lodger, -1, Integer::sum);
      if (task.taskMetrics() != null) {
        cpuNanos.merge(stage.lodger, task.taskMetrics().executorCpuTime(), Long::sum);
        millis.merge(stage.lodger, task.taskMetrics().executorRunTime(), Long::sum);
      }
    }
  }

  private static final class Stage {
    private final String lodger;
    private int running;

    private Stage(String lodger) {
      this.lodger = lodger;
    }
  }
}
