package arroyo;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec;
import org.apache.spark.sql.streaming.OutputMode;
import scala.Function1;
import scala.Option;
import scala.Some;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Leaves the state alone in epochs in which no window can end.
 *
 * <p>Spark goes through all rows of a state in every epoch to find the windows that have ended.
 * Windows end at known moments: where none lies between the watermark of the epoch before and that
 * of this one, none is there to be found. The rows of such an epoch are put into the state, and
 * nothing is looked for.
 */
public final class NothingCloses extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  /** The local property of Spark's thread with the moments at which windows may end. */
  private static final String ENDS = "arroyo.window.ends";

  /** Say when windows of the query may end whose thread this is; see {@code Ends}. */
  static void tell(SparkContext spark, String ends) {
    spark.setLocalProperty(ENDS, ends);
  }

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    Function1<SparkSession, ColumnarRule> made = session -> new Columnar(session.sparkContext());
    extensions.injectColumnar(made);
    return BoxedUnit.UNIT;
  }

  /** The only rules that Spark lets others add behind those that give operators their state. */
  private static final class Columnar extends ColumnarRule {
    private final SparkContext spark;

    Columnar(SparkContext spark) {
      this.spark = spark;
    }

    @Override
    public Rule<SparkPlan> preColumnarTransitions() {
      String ends = spark.getLocalProperty(ENDS);
      return new OnlyPut(ends == null || ends.isEmpty() ? null : Ends.read(ends));
    }
  }

  private static final class OnlyPut extends Rule<SparkPlan> {
    private final Ends ends;

    OnlyPut(Ends ends) {
      this.ends = ends;
    }

    @Override
    public SparkPlan apply(SparkPlan plan) {
      return ends == null ? plan : plan.transformUp(new Replacement(ends));
    }
  }

  private static final class Replacement extends AbstractPartialFunction<SparkPlan, SparkPlan> {
    private final Ends ends;

    Replacement(Ends ends) {
      this.ends = ends;
    }

    @Override
    public boolean isDefinedAt(SparkPlan node) {
      return node instanceof StateStoreSaveExec save
          && save.outputMode().contains(OutputMode.Append())
          && save.eventTimeWatermarkForLateEvents().isDefined()
          && save.eventTimeWatermarkForEviction().isDefined()
          && !ends.liesOneIn(
              (Long) save.eventTimeWatermarkForLateEvents().get(),
              (Long) save.eventTimeWatermarkForEviction().get());
    }

    /**
     * In update mode Spark puts rows and gives them on, and removes what has ended by a watermark,
     * of which there is none here. A watermark that moves comes with offsets that do, so no epoch
     * is missed that Spark would begin for the sake of it alone.
     */
    @Override
    public SparkPlan apply(SparkPlan node) {
      StateStoreSaveExec save = (StateStoreSaveExec) node;
      SparkPlan puts =
          save.copy(
              save.keyExpressions(),
              save.stateInfo(),
              new Some<>(OutputMode.Update()),
              save.eventTimeWatermarkForLateEvents(),
              Option.empty(),
              save.stateFormatVersion(),
              save.child());
      return new FilterExec(Literal.FalseLiteral(), puts);
    }
  }
}
