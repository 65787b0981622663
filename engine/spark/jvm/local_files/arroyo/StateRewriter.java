package arroyo;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.StringJoiner;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.BiConsumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.MakeDecimal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.classic.Dataset;
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
 * The rows of an operator's state, or rows that are made of what it keeps, put into the empty state
 * of another one, with other columns in their values.
 *
 * <p>Where the keys stay, so does the partition that a row is in; where they are cast to wider
 * types, each row goes where Spark would send it. Both states are read and written through Spark's
 * own stores, so that the files are laid out as Spark lays them out.
 */
public final class StateRewriter {
  private static final String STORE = "default";
  private static final int LONG_DIGITS = 18;

  private final SparkSession session;
  private final String from;
  private final int operator;
  private final Dataset<Row> rows;
  private final StructType keysBefore;
  private final StructType valuesBefore;
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
    this.rows = null;
    StateStoreColFamilySchema before = schema(from, operator);
    this.keysBefore = before.keySchema();
    this.valuesBefore = before.valueSchema();
    this.to = to;
    this.newOperator = newOperator;
    this.after = schema(to, newOperator);
  }

  /** Of rows instead of a state: so many of their columns are the key. */
  public StateRewriter(
      SparkSession session, Dataset<Row> rows, int keys, String to, int newOperator)
      throws IOException {
    this.session = session;
    this.from = null;
    this.operator = -1;
    this.rows = rows;
    StructField[] columns = rows.schema().fields();
    this.keysBefore = new StructType(Arrays.copyOfRange(columns, 0, keys));
    this.valuesBefore = new StructType(Arrays.copyOfRange(columns, keys, columns.length));
    this.to = to;
    this.newOperator = newOperator;
    this.after = schema(to, newOperator);
  }

  /** Whether both have the same keys, which begin with a window. */
  public boolean hasSameKeys() {
    return keysBefore.equals(after.keySchema()) && hasWindow();
  }

  /**
   * Whether both have the same keys, which begin with a window, in types that are as wide or wider.
   * Rows may call them otherwise.
   */
  public boolean hasWiderKeys() {
    StructField[] old = keysBefore.fields();
    StructField[] fresh = after.keySchema().fields();
    boolean isSame = old.length == fresh.length && (rows != null || names(keysBefore).equals(names(after.keySchema())));
    boolean isWider = isSame && hasWindow();
    for (int place = 0; isWider && place < old.length; place++) {
      isWider = Cast.canUpCast(old[place].dataType(), fresh[place].dataType());
    }
    return isWider;
  }

  private boolean hasWindow() {
    StructField[] keys = keysBefore.fields();
    return keys.length > 0
        && keys[0].dataType() instanceof StructType window
        && String.join(",", window.fieldNames()).equals("start,end");
  }

  /** What the old values are made of. */
  public String columnsBefore() {
    return names(valuesBefore);
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
   * <p>The {@code origins} have for each column of the new values the place of the old one, which
   * may be cast to a wider type; or with what a new one begins: {@code null}, {@code zero} or {@code
   * true}. {@code decimal:3:2} is the whole number at place 3 with its last two digits behind the
   * point, zero where there is none, and {@code absent:3} whether there is none.
   */
  public String rewrite(int partition, long version, String id, String origins)
      throws IOException {
    UnsafeProjection values = projection(origins.split(","));
    StateStoreProvider source = open(from, operator, partition, keysBefore, valuesBefore);
    try {
      StateStoreProvider target = open(to, newOperator, partition, after.keySchema(), after.valueSchema());
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

  /**
   * Put the rows of all partitions into the new state, each where its wider key belongs, and tell
   * under which ids the partitions have their version 1.
   */
  public String rewriteAll(long version, String ids, String origins) throws IOException {
    String[] old = ids.split(",");
    return dealt(
        old.length,
        origins,
        put -> {
          for (int partition = 0; partition < old.length; partition++) {
            StateStoreProvider source = open(from, operator, partition, keysBefore, valuesBefore);
            try {
              ReadStateStore state = source.getReadStore(version, Option.apply(old[partition]));
              try (StateStoreIterator<UnsafeRowPair> pairs = state.iterator(STORE)) {
                while (pairs.hasNext()) {
                  UnsafeRowPair pair = pairs.next();
                  put.accept(pair.key(), pair.value());
                }
              } finally {
                state.release();
              }
            } finally {
              source.close();
            }
          }
        });
  }

  /**
   * Put all rows into so many partitions of the new state, each where its key belongs, and tell
   * under which ids the partitions have their version 1.
   */
  public String fill(int partitions, String origins) throws IOException {
    StructField[] columns = rows.schema().fields();
    UnsafeProjection keys = part(columns, 0, keysBefore.length());
    UnsafeProjection values = part(columns, keysBefore.length(), columns.length);
    return dealt(
        partitions,
        origins,
        put -> {
          scala.collection.Iterator<InternalRow> all =
              rows.queryExecution().executedPlan().executeToIterator();
          while (all.hasNext()) {
            InternalRow row = all.next();
            put.accept(keys.apply(row), values.apply(row));
          }
        });
  }

  /** Something that hands out keys with their values, each pair good until the next. */
  private interface Pairs {
    void giveTo(BiConsumer<UnsafeRow, UnsafeRow> put) throws IOException;
  }

  private String dealt(int width, String origins, Pairs pairs) throws IOException {
    UnsafeProjection values = projection(origins.split(","));
    UnsafeProjection keys = widened(keysBefore, after.keySchema());
    UnsafeProjection partitions = partitionOf(after.keySchema(), width);
    StateStoreProvider[] targets = new StateStoreProvider[width];
    StateStore[] written = new StateStore[width];
    try {
      for (int partition = 0; partition < width; partition++) {
        targets[partition] =
            open(to, newOperator, partition, after.keySchema(), after.valueSchema());
        written[partition] = targets[partition].getStore(0, Option.empty(), false, false);
      }
      pairs.giveTo(
          (oldKey, value) -> {
            windows.add(oldKey.getStruct(0, 2).getLong(0));
            UnsafeRow key = keys.apply(oldKey);
            written[partitions.apply(key).getInt(0)].put(key, values.apply(value), STORE);
          });
      StringJoiner fresh = new StringJoiner(",");
      for (StateStore store : written) {
        store.commit();
        fresh.add(store.getStateStoreCheckpointInfo().stateStoreCkptId().get());
      }
      return fresh.toString();
    } finally {
      for (StateStoreProvider target : targets) {
        if (target != null) {
          target.close();
        }
      }
    }
  }

  private static UnsafeProjection part(StructField[] columns, int first, int end) {
    List<Expression> parts = new ArrayList<>();
    for (int place = first; place < end; place++) {
      parts.add(new BoundReference(place, columns[place].dataType(), columns[place].nullable()));
    }
    return projected(parts);
  }

  private static UnsafeProjection widened(StructType old, StructType fresh) {
    List<Expression> columns = new ArrayList<>();
    for (int place = 0; place < fresh.length(); place++) {
      columns.add(kept(place, old.fields()[place], fresh.fields()[place]));
    }
    return projected(columns);
  }

  /** In which partition Spark has a row with this key. */
  private static UnsafeProjection partitionOf(StructType keys, int partitions) {
    List<Expression> columns = new ArrayList<>();
    for (int place = 0; place < keys.length(); place++) {
      StructField field = keys.fields()[place];
      columns.add(new BoundReference(place, field.dataType(), field.nullable()));
    }
    Expression partition =
        new HashPartitioning(CollectionConverters.asScala(columns).toSeq(), partitions)
            .partitionIdExpression();
    return projected(List.of(partition));
  }

  private UnsafeProjection projection(String[] origins) {
    StructField[] old = valuesBefore.fields();
    StructField[] fresh = after.valueSchema().fields();
    if (origins.length != fresh.length) {
      throw new IllegalArgumentException("the new values have " + fresh.length + " columns");
    }
    List<Expression> columns = new ArrayList<>();
    for (int place = 0; place < fresh.length; place++) {
      columns.add(column(origins[place], old, fresh[place]));
    }
    return projected(columns);
  }

  private static UnsafeProjection projected(List<Expression> columns) {
    return UnsafeProjection$.MODULE$.create(CollectionConverters.asScala(columns).toSeq());
  }

  private static Expression column(String origin, StructField[] old, StructField field) {
    String[] made = origin.split(":");
    switch (made[0]) {
      case "null":
        return Literal$.MODULE$.create(null, field.dataType());
      case "zero":
        return as(new Literal(0, DataTypes.IntegerType), field.dataType());
      case "true":
        return Literal.TrueLiteral();
      case "decimal":
        int scale = Integer.parseInt(made[2]);
        Expression whole = number(Integer.parseInt(made[1]), old);
        Expression decimal =
            as(new MakeDecimal(whole, LONG_DIGITS, scale, true), field.dataType());
        Expression zero = as(new Literal(0, DataTypes.IntegerType), field.dataType());
        return new Coalesce(CollectionConverters.asScala(List.of(decimal, zero)).toSeq());
      case "absent":
        return new IsNull(number(Integer.parseInt(made[1]), old));
      default:
        int place = Integer.parseInt(origin);
        return kept(place, old[place], field);
    }
  }

  private static Expression number(int place, StructField[] old) {
    if (!old[place].dataType().equals(DataTypes.LongType)) {
      throw new IllegalArgumentException(old[place].name() + " was " + old[place].dataType());
    }
    return new BoundReference(place, DataTypes.LongType, true);
  }

  private static Expression kept(int place, StructField old, StructField field) {
    Expression value = new BoundReference(place, old.dataType(), old.nullable());
    if (old.dataType().equals(field.dataType())) {
      return value;
    }
    if (!Cast.canUpCast(old.dataType(), field.dataType())) {
      throw new IllegalArgumentException(
          field.name() + " is " + field.dataType() + " and was " + old.dataType());
    }
    return as(value, field.dataType());
  }

  private static Expression as(Expression value, DataType type) {
    return new Cast(value, type, Option.empty(), EvalMode.ANSI());
  }

  private StateStoreProvider open(
      String root, int number, int partition, StructType keys, StructType values) {
    UUID run = UUID.randomUUID();
    Configuration hadoop = session.sessionState().newHadoopConf();
    hadoop.set("sql.streaming.runId", run.toString());
    StateStoreId store = new StateStoreId(root, number, partition, STORE);
    return StateStoreProvider$.MODULE$.createAndInit(
        new StateStoreProviderId(store, run),
        keys,
        values,
        new NoPrefixKeyStateEncoderSpec(keys),
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
