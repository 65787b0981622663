package arroyo;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecutionContext;
import org.apache.spark.sql.execution.streaming.runtime.MinWatermark$;
import org.apache.spark.sql.execution.streaming.runtime.PropagateWatermarkSimulator;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecutionContext;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkTracker;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's watermark of an epoch: the least that the sources have planned for that very epoch.
 *
 * <p>Spark's own way is to look at the rows of an epoch, and to close windows by what it saw there
 * in the next one. What our sources show it was in their offsets before a row was read, so it is
 * taken from there, and windows close an epoch earlier. Spark asks when it has the offsets of all
 * sources and has not written them ahead yet; it writes the answer beside them.
 */
public final class PlannedWatermarks extends WatermarkTracker {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final MicroBatchExecution execution;
  private final long endOfTime;
  private final String ends;

  private PlannedWatermarks(MicroBatchExecution execution, long endOfTime, String ends) {
    super(MinWatermark$.MODULE$, execution.logicalPlan());
    this.execution = execution;
    this.endOfTime = endOfTime;
    this.ends = ends;
    setWatermark(execution.watermarkTracker().currentWatermark());
  }

  /**
   * Let the windows of a query close so, from its next epoch on. To be called while an epoch is
   * under way, which waits for it. A source that has ended has the watermark {@code endOfTime};
   * {@code ends} is when windows may end, or nothing where that is not known.
   */
  public static void install(StreamingQueryWrapper query, long endOfTime, String ends) {
    MicroBatchExecution execution = (MicroBatchExecution) query.streamingQuery();
    execution.watermarkTracker_$eq(new PlannedWatermarks(execution, endOfTime, ends));
  }

  @Override
  public synchronized long currentWatermark() {
    NothingCloses.tell(execution.sparkSession().sparkContext(), ends);
    long watermark = Math.max(super.currentWatermark(), least());
    MicroBatchExecutionContext epoch =
        (MicroBatchExecutionContext) execution.getLatestExecutionContext();
    if (!epoch.isCurrentBatchConstructed()) {
      forgetOther(epoch.batchId(), watermark);
    }
    return watermark;
  }

  /**
   * Remove another watermark of an epoch that is not planned yet. Spark remembers the first one it
   * is told, and ends the query if it is told another one later. Ours may move while there is
   * nothing to read, when a source ends or falls silent.
   */
  @SuppressWarnings("unchecked")
  private void forgetOther(long epoch, long watermark) {
    try {
      Method found = MicroBatchExecution.class.getDeclaredMethod("watermarkPropagator");
      found.setAccessible(true);
      Object propagator = found.invoke(execution);
      if (!(propagator instanceof PropagateWatermarkSimulator)) {
        return;
      }
      Map<?, ?> told = (Map<?, ?>) fieldOf(propagator, "batchIdToWatermark");
      Object before = told.get(epoch);
      if (before != null && (Long) before != watermark) {
        told.remove(epoch);
        ((scala.collection.mutable.Map<Object, ?>) fieldOf(propagator, "inputWatermarks"))
            .remove(epoch);
      }
    } catch (ReflectiveOperationException anotherSpark) {
      throw new IllegalStateException(anotherSpark);
    }
  }

  private static Object fieldOf(Object owner, String name) throws ReflectiveOperationException {
    Field field = owner.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field.get(owner);
  }

  /** Milliseconds; 0 as long as a source knows none. */
  private long least() {
    StreamExecutionContext epoch = execution.getLatestExecutionContext();
    long least = endOfTime;
    for (SparkDataStream source : CollectionConverters.asJava(execution.sources())) {
      Option<Offset> end = epoch.endOffsets().get(source);
      least = Math.min(least, end.isEmpty() ? 0 : planned(end.get().json()));
    }
    return least;
  }

  private long planned(String offset) {
    try {
      JsonNode content = JSON.readTree(offset);
      while (content.isTextual()) {
        content = JSON.readTree(content.textValue());
      }
      if (content.path("end").asBoolean()) {
        return endOfTime;
      }
      return Math.floorDiv(content.path("wm").asLong(), 1000L);
    } catch (JsonProcessingException notOurs) {
      return 0;
    }
  }
}
