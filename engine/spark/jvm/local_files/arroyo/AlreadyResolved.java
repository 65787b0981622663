package arroyo;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import scala.Function1;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Spares the plan of a stream that Spark resolves it anew in every epoch.
 *
 * <p>A stream's plan is resolved when the stream is defined. For an epoch Spark puts into the place
 * of each source what is to be read of it, with the same columns, and then sends the whole plan
 * through all rules of its analysis again, which find nothing to do. They leave alone what is
 * marked as analyzed, so it is marked before they begin.
 */
public final class AlreadyResolved extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    Function1<SparkSession, Rule<LogicalPlan>> made = session -> new Mark(session.sparkContext());
    extensions.injectHintResolutionRule(made);
    return BoxedUnit.UNIT;
  }

  private static final class Mark extends Rule<LogicalPlan> {
    private final SparkContext spark;

    Mark(SparkContext spark) {
      this.spark = spark;
    }

    /** Spark's thread has the property while it plans and runs an epoch. */
    @Override
    public LogicalPlan apply(LogicalPlan plan) {
      if (spark.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY()) != null && plan.resolved()) {
        plan.setAnalyzed();
      }
      return plan;
    }
  }
}
