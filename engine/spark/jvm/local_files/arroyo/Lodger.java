package arroyo;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.ThreadContext;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.state.StateStore$;
import org.apache.spark.sql.execution.streaming.state.StateStoreProviderId;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import py4j.ClientServer;
import scala.Option;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One of several drivers that have the same JVM: a session and a door of its own.
 *
 * <p>What a lodger does here is known by its threads. They are all started, however remotely, by
 * the one that opens its door, and inherit from it: the session, the pool of its tasks, the tag of
 * its jobs, the file of its log, and the group that they are found in again. So nothing of it can be overlooked when it
 * has gone, whatever it was doing.
 */
public final class Lodger implements Runnable {
  private static final ThreadMXBean CLOCKS = ManagementFactory.getThreadMXBean();
  private static final String LOG = "mdc.arroyo.log";
  private static final long LOOK_AGAIN = 20;
  private static final int LOOKS = 2;
  private static volatile SparkSession root;
  private static LodgersTasks tasks;

  private final String name;
  private final String secret;
  private final String log;
  private final SparkSession session;
  private final SparkContext context;
  private final ThreadGroup threads;
  private final Set<UUID> runs = ConcurrentHashMap.newKeySet();
  private final Map<Long, Long> cpuOfThreads = new ConcurrentHashMap<>();
  private volatile ClientServer door;
  private volatile RuntimeException failure;

  private Lodger(SparkSession host, String name, String secret, String log) {
    this.name = name;
    this.secret = secret;
    this.log = log;
    session = host.newSession();
    context = host.sparkContext();
    threads = new ThreadGroup("lodger " + name);
  }

  /**
   * Take in a driver, which comes through a door of its own that asks for the secret. What Spark
   * says of its work goes to the file {@code log}.
   */
  public static Lodger open(SparkSession host, String name, String secret, String log)
      throws InterruptedException {
    listenToTasks(host);
    Lodger lodger = new Lodger(host, name, secret, log);
    Thread opener = new Thread(lodger.threads, lodger, "lodger " + name);
    opener.start();
    opener.join();
    if (lodger.failure != null) {
      throw lodger.failure;
    }
    return lodger;
  }

  private static synchronized void listenToTasks(SparkSession host) {
    if (root != host) {
      root = host;
      tasks = new LodgersTasks();
      host.sparkContext().addSparkListener(tasks);
    }
  }

  /** Let the host's own session be what is found where there is no other. */
  public static void keepDefault() {
    SparkSession.setDefaultSession(root);
  }

  /** Open the door, in the thread that all others of this lodger come from. */
  @Override
  public void run() {
    try {
      context.setLocalProperty("spark.scheduler.pool", name);
      context.setLocalProperty(LodgersTasks.NAME, name);
      context.setLocalProperty(LOG, log);
      context.addJobTag(name);
      ThreadContext.put(LOG, log);
      SparkSession.setActiveSession(session);
      session.streams().addListener(new Runs());
      door =
          new ClientServer.ClientServerBuilder()
              .javaPort(0)
              .javaAddress(InetAddress.getLoopbackAddress())
              .authToken(secret)
              .build();
    } catch (RuntimeException thrown) {
      failure = thrown;
    }
  }

  /** Where the door is. */
  public int port() {
    return door.getJavaServer().getListeningPort();
  }

  /** The CPU time that its threads and tasks have used here. */
  public synchronized long cpuNanos() {
    for (Thread thread : living()) {
      long nanos = CLOCKS.getThreadCpuTime(thread.getId());
      cpuOfThreads.merge(thread.getId(), nanos, Math::max);
    }
    return tasks.cpuNanos(name)
        + cpuOfThreads.values().stream().mapToLong(Long::longValue).sum();
  }

  /** How long its tasks ran that have ended. */
  public long taskMillis() {
    return tasks.millis(name);
  }

  /**
   * Close the door, and end all that the lodger has under way. When this is true, none of its
   * queries and tasks is there any more, and nobody holds its state; when it is false, not all of
   * that could be had in time.
   */
  public boolean close(long millis) throws InterruptedException, ReflectiveOperationException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    door.shutdown();
    for (int quiet = 0; quiet < LOOKS; ) {
      for (StreamingQuery query : session.streams().active()) {
        stop(query, end);
      }
      context.cancelJobsWithTag(name);
      boolean isAtWork = session.streams().active().length > 0 || isServed() || tasks.areThereOf(name);
      quiet = isAtWork ? 0 : quiet + 1;
      if (System.nanoTime() > end) {
        return false;
      }
      Thread.sleep(LOOK_AGAIN);
    }
    boolean isUnloaded = unload(end);
    tasks.forget(name);
    return isUnloaded;
  }

  /** A query whose thread does not end is left to the time that is over. */
  private static void stop(StreamingQuery query, long end) throws InterruptedException {
    Thread stopper =
        new Thread(
            () -> {
              try {
                query.stop();
              } catch (Exception isSeenByItsThread) {
                // it is looked at again
              }
            });
    stopper.setDaemon(true);
    stopper.start();
    stopper.join(millisUntil(end));
  }

  /** Whether a command of the lodger's Python is still being obeyed, or Python is being called. */
  private boolean isServed() {
    for (Thread thread : living()) {
      for (StackTraceElement frame : thread.getStackTrace()) {
        if (frame.getClassName().startsWith("py4j.")) {
          return true;
        }
      }
    }
    return false;
  }

  private List<Thread> living() {
    Thread[] found = new Thread[2 * threads.activeCount() + 16];
    return List.of(Arrays.copyOf(found, threads.enumerate(found)));
  }

  /** Have Spark close the state of all its queries, and touch none of its files any more. */
  private boolean unload(long end) throws InterruptedException, ReflectiveOperationException {
    StateStore$ stores = StateStore$.MODULE$;
    while (true) {
      for (StateStoreProviderId id : loaded(stores)) {
        if (!beginMaintenance(stores, id, end)) {
          return false;
        }
        try {
          stores.removeFromLoadedProvidersAndClose(id, Option.empty());
        } finally {
          endMaintenance(stores, id);
        }
      }
      if (loaded(stores).isEmpty() && !isMaintained(stores)) {
        return true;
      }
      if (System.nanoTime() > end) {
        return false;
      }
      Thread.sleep(LOOK_AGAIN);
    }
  }

  private List<StateStoreProviderId> loaded(StateStore$ stores) throws ReflectiveOperationException {
    scala.collection.mutable.HashMap<StateStoreProviderId, ?> loaded = read(stores, "loadedProviders");
    List<StateStoreProviderId> ids = new ArrayList<>();
    synchronized (loaded) {
      for (StateStoreProviderId id : CollectionConverters.asJava(loaded.keySet())) {
        if (runs.contains(id.queryRunId())) {
          ids.add(id);
        }
      }
    }
    return ids;
  }

  /** Whether one that Spark has let go of itself is still being closed, or waits for that. */
  private boolean isMaintained(StateStore$ stores) throws ReflectiveOperationException {
    Queue<Tuple2<StateStoreProviderId, ?>> waiting = read(stores, "unloadedProvidersToClose");
    for (Tuple2<StateStoreProviderId, ?> pair : waiting) {
      if (runs.contains(pair._1().queryRunId())) {
        return true;
      }
    }
    Object lock = read(stores, "maintenanceThreadPoolLock");
    scala.collection.mutable.HashSet<StateStoreProviderId> maintained =
        read(stores, "maintenancePartitions");
    synchronized (lock) {
      for (StateStoreProviderId id : CollectionConverters.asJava(maintained)) {
        if (runs.contains(id.queryRunId())) {
          return true;
        }
      }
    }
    return false;
  }

  /** Only who has said so may close a store: Spark's own thread may be at work on it. */
  private static boolean beginMaintenance(StateStore$ stores, StateStoreProviderId id, long end)
      throws ReflectiveOperationException {
    Method await =
        StateStore$.class.getDeclaredMethod(
            "awaitProcessThisPartition", StateStoreProviderId.class, long.class);
    await.setAccessible(true);
    return (boolean) await.invoke(stores, id, millisUntil(end));
  }

  private static void endMaintenance(StateStore$ stores, StateStoreProviderId id)
      throws ReflectiveOperationException {
    Object lock = read(stores, "maintenanceThreadPoolLock");
    scala.collection.mutable.HashSet<StateStoreProviderId> maintained =
        read(stores, "maintenancePartitions");
    synchronized (lock) {
      maintained.remove(id);
      lock.notifyAll();
    }
  }

  @SuppressWarnings("unchecked")
  private static <T> T read(StateStore$ stores, String name) throws ReflectiveOperationException {
    Method method = StateStore$.class.getDeclaredMethod(name);
    method.setAccessible(true);
    return (T) method.invoke(stores);
  }

  private static long millisUntil(long end) {
    return Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime()));
  }

  /** Notes the runs of the lodger's queries, by which their state is known. */
  private final class Runs extends StreamingQueryListener {
    @Override
    public void onQueryStarted(QueryStartedEvent event) {
      runs.add(event.runId());
    }

    @Override
    public void onQueryProgress(QueryProgressEvent event) {}

    @Override
    public void onQueryTerminated(QueryTerminatedEvent event) {}
  }
}
