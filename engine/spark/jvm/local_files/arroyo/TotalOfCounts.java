package arroyo;

import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The total of counts, kept as Spark keeps a count: a BIGINT that is never NULL.
 *
 * <p>Spark's own sum is NULL before its first value, so that a state of counts could not go on with
 * it.
 */
public final class TotalOfCounts extends DeclarativeAggregate {
  private final Expression counts;
  private final AttributeReference total =
      new AttributeReference(
          "count", DataTypes.LongType, false, Metadata.empty(), NamedExpression.newExprId(), seq());

  public TotalOfCounts(Expression counts) {
    this.counts = counts;
  }

  /** The total of a column of counts. */
  public static Column of(Column counts) {
    TotalOfCounts total = new TotalOfCounts(ExpressionUtils.expression(counts));
    return ExpressionUtils.column(total.toAggregateExpression());
  }

  @Override
  public Seq<AttributeReference> aggBufferAttributes() {
    return seq(total);
  }

  @Override
  public Seq<Expression> initialValues() {
    return seq(zero());
  }

  @Override
  public Seq<Expression> updateExpressions() {
    return seq(new Add(total, new Coalesce(seq(counts, zero()))));
  }

  @Override
  public Seq<Expression> mergeExpressions() {
    return seq(new Add(total, inputAggBufferAttributes().head()));
  }

  @Override
  public Expression evaluateExpression() {
    return total;
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public DataType dataType() {
    return DataTypes.LongType;
  }

  @Override
  public Seq<Expression> children() {
    return seq(counts);
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new TotalOfCounts(children.head());
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int index) {
    return counts;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof TotalOfCounts;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TotalOfCounts && counts.equals(((TotalOfCounts) other).counts);
  }

  private static Expression zero() {
    return new Literal(0L, DataTypes.LongType);
  }

  @SafeVarargs
  private static <T> Seq<T> seq(T... elements) {
    return CollectionConverters.asScala(List.of(elements)).toSeq();
  }
}
