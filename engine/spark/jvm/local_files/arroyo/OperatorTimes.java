package arroyo;

import java.util.Set;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanExecBase;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * What the nodes of a query's executed plan have counted, as one text: Python asks once an epoch.
 *
 * <p>A line is a node, below the one that it feeds: its depth, its name, and its counts.
 *
 * <pre>
 * 0 StateStoreSave numOutputRows=4 allUpdatesTimeMs=24 allRemovalsTimeMs=12 commitTimeMs=1
 * 1 Exchange
 * 2 WholeStageCodegen pipelineTime=127
 * 3 MicroBatchScan tasks=1 numOutputRows=21804
 * </pre>
 */
public final class OperatorTimes {
  private static final Set<String> COUNTS =
      Set.of(
          "numOutputRows",
          "pythonNumRowsReceived",
          "pipelineTime",
          "allUpdatesTimeMs",
          "allRemovalsTimeMs",
          "commitTimeMs");

  private OperatorTimes() {}

  /** The plan of an epoch whose tasks have ended; nothing if the newest plan is of another. */
  public static String of(StreamingQueryWrapper query, long epoch) {
    IncrementalExecution execution = ((StreamExecution) query.streamingQuery()).lastExecution();
    if (execution == null || execution.currentBatchId() != epoch) {
      return "";
    }
    StringBuilder text = new StringBuilder();
    add(execution.executedPlan(), 0, text);
    return text.toString();
  }

  private static void add(SparkPlan plan, int depth, StringBuilder text) {
    if (plan instanceof AdaptiveSparkPlanExec) {
      add(((AdaptiveSparkPlanExec) plan).executedPlan(), depth, text);
      return;
    }
    if (plan instanceof QueryStageExec) {
      add(((QueryStageExec) plan).plan(), depth, text);
      return;
    }
    String name = plan.nodeName();
    int end = name.indexOf(' ');
    text.append(depth).append(' ').append(end < 0 ? name : name.substring(0, end));
    if (plan instanceof DataSourceV2ScanExecBase) {
      int tasks = ((DataSourceV2ScanExecBase) plan).inputPartitions().size();
      text.append(" tasks=").append(tasks);
    }
    Iterator<Tuple2<String, SQLMetric>> counts = plan.metrics().iterator();
    while (counts.hasNext()) {
      Tuple2<String, SQLMetric> count = counts.next();
      if (COUNTS.contains(count._1())) {
        text.append(' ').append(count._1()).append('=').append(count._2().value());
      }
    }
    text.append('\n');
    Iterator<SparkPlan> children = plan.children().iterator();
    while (children.hasNext()) {
      add(children.next(), depth + 1, text);
    }
  }
}
