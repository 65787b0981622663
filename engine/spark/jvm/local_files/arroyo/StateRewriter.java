package arroyo;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.ReadStateStore;
import org.apache.spark.sql.execution.streaming.state.StateSchemaCompatibilityChecker$;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreColFamilySchema;
import org.apache.spark.sql.execution.streaming.state.StateStoreConf;
import org.apache.spark.sql.execution.streaming.state.StateStoreId;
import org.apache.spark.sql.execution.streaming.state.StateStoreIterator;
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider$;
import org.apache.spark.sql.execution.streaming.state.StateStoreProviderId;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows of an operator's state put into the empty state of another one, with other columns in
 * their values.
 *
 * <p>The keys stay, and with them the partition that a row is in. Both are read and written through
 * Spark's own stores, so that the files are laid out as Spark lays them out.
 */
public final class StateRewriter {
  private static final String STORE = "default";

  private final SparkSession session;
  private final String from;
  private final int operator;
  private final StateStoreColFamilySchema before;
  private final String to;
  private final int newOperator;
  private final StateStoreColFamilySchema after;
  private final TreeSet<Long> windows = new TreeSet<>();

  /** Both checkpoints are named by the folder that has the operators by their numbers. */
  public StateRewriter(
      SparkSession session, String from, int operator, String to, int newOperator)
      throws IOException {
    this.session = session;
    this.from = from;
    this.operator = operator;
    this.before = schema(from, operator);
    this.to = to;
    this.newOperator = newOperator;
    this.after = schema(to, newOperator);
  }

  /** Whether both have the same keys, which begin with a window. */
  public boolean hasSameKeys() {
    StructField[] keys = before.keySchema().fields();
    return before.keySchema().equals(after.keySchema())
        && keys.length > 0
        && keys[0].dataType() instanceof StructType window
        && String.join(",", window.fieldNames()).equals("start,end");
  }

  /** What the old values are made of. */
  public String columnsBefore() {
    return names(before.valueSchema());
  }

  /** What the new values are made of. */
  public String columnsAfter() {
    return names(after.valueSchema());
  }

  /** When the windows begin that are in the rows so far: microseconds, in order. */
  public String windowStarts() {
    StringJoiner starts = new StringJoiner(",");
    windows.forEach(start -> starts.add(start.toString()));
    return starts.toString();
  }

  /**
   * Put the rows of a partition into the new state, and tell under which id it has its version 1.
   *
   * <p>The {@code origins} have for each column of the new values the place of the old one, or with
   * what a new one begins: {@code null}, {@code zero} or {@code true}.
   */
  public String rewrite(int partition, long version, String id, String origins)
      throws IOException {
    UnsafeProjection values = projection(origins.split(","));
    StateStoreProvider source = open(from, operator, partition, before);
    try {
      StateStoreProvider target = open(to, newOperator, partition, after);
      try {
        ReadStateStore rows = source.getReadStore(version, Option.apply(id));
        StateStore written = target.getStore(0, Option.empty(), false, false);
        try (StateStoreIterator<UnsafeRowPair> pairs = rows.iterator(STORE)) {
          while (pairs.hasNext()) {
            UnsafeRowPair pair = pairs.next();
            windows.add(pair.key().getStruct(0, 2).getLong(0));
            written.put(pair.key(), values.apply(pair.value()), STORE);
          }
        } finally {
          rows.release();
        }
        written.commit();
        return written.getStateStoreCheckpointInfo().stateStoreCkptId().get();
      } finally {
        target.close();
      }
    } finally {
      source.close();
    }
  }

  private UnsafeProjection projection(String[] origins) {
    StructField[] old = before.valueSchema().fields();
    StructField[] fresh = after.valueSchema().fields();
    if (origins.length != fresh.length) {
      throw new IllegalArgumentException("the new values have " + fresh.length + " columns");
    }
    List<Expression> columns = new ArrayList<>();
    for (int place = 0; place < fresh.length; place++) {
      columns.add(column(origins[place], old, fresh[place]));
    }
    return UnsafeProjection$.MODULE$.create(CollectionConverters.asScala(columns).toSeq());
  }

  private static Expression column(String origin, StructField[] old, StructField field) {
    switch (origin) {
      case "null":
        return Literal$.MODULE$.create(null, field.dataType());
      case "zero":
        return as(new Literal(0, DataTypes.IntegerType), field.dataType());
      case "true":
        return Literal.TrueLiteral();
      default:
        int place = Integer.parseInt(origin);
        if (!old[place].dataType().equals(field.dataType())) {
          throw new IllegalArgumentException(
              field.name() + " is " + field.dataType() + " and was " + old[place].dataType());
        }
        return new BoundReference(place, old[place].dataType(), old[place].nullable());
    }
  }

  private static Expression as(Expression value, DataType type) {
    return new Cast(value, type, Option.empty(), EvalMode.ANSI());
  }

  private StateStoreProvider open(
      String root, int number, int partition, StateStoreColFamilySchema schema) {
    UUID run = UUID.randomUUID();
    Configuration hadoop = session.sessionState().newHadoopConf();
    hadoop.set("sql.streaming.runId", run.toString());
    StateStoreId store = new StateStoreId(root, number, partition, STORE);
    return StateStoreProvider$.MODULE$.createAndInit(
        new StateStoreProviderId(store, run),
        schema.keySchema(),
        schema.valueSchema(),
        new NoPrefixKeyStateEncoderSpec(schema.keySchema()),
        false,
        new StateStoreConf(session.sessionState().conf(), scala.collection.immutable.Map$.MODULE$.empty()),
        hadoop,
        false,
        Option.empty());
  }

  private StateStoreColFamilySchema schema(String root, int number) throws IOException {
    Path file = new Path(root, number + "/0/_metadata/schema");
    Configuration hadoop = session.sessionState().newHadoopConf();
    try (FSDataInputStream content = file.getFileSystem(hadoop).open(file)) {
      return StateSchemaCompatibilityChecker$.MODULE$.readSchemaFile(content).head();
    }
  }

  private static String names(StructType columns) {
    return String.join(",", columns.fieldNames());
  }
}
