package arroyo;

import java.io.FileNotFoundException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BulkDelete;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Spark's files of a checkpoint: on the local disk by renaming, in a bucket by one request.
 *
 * <p>In a bucket a file that is to be created once is created by a conditional request. Of two that
 * create it, one is told. If the answer to a request is lost, S3A sends it again, and is told that
 * there is a file: then the contents decide whether it is our own.
 */
public final class StateFileManager implements CheckpointFileManager {
  private final CheckpointFileManager local;
  private final StateInBucket state;

  public StateFileManager(Path path, Configuration conf) throws IOException {
    local = new FileSystemBasedCheckpointFileManager(path, conf);
    state = StateInBucket.of(conf);
  }

  private boolean isInBucket(Path path) {
    return state != null && state.has(path);
  }

  @Override
  public CancellableFSDataOutputStream createAtomic(Path path, boolean overwriteIfPossible) {
    if (!isInBucket(path)) {
      return local.createAtomic(path, overwriteIfPossible);
    }
    try {
      FSDataOutputStream target = state.create(path, !overwriteIfPossible);
      boolean isChangelog = path.getName().endsWith(".changelog");
      return overwriteIfPossible
          ? new Replaced(target, isChangelog)
          : new CreatedOnce(path, new Digested(target), isChangelog);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  @Override
  public FSDataInputStream open(Path path) {
    try {
      return isInBucket(path) ? state.bucket().open(state.there(path)) : local.open(path);
    } catch (IOException failure) {
      throw sneaky(failure);
    }
  }

  @Override
  public FileStatus[] list(Path path, PathFilter filter) {
    if (!isInBucket(path)) {
      return local.list(path, filter);
    }
    try {
      return Arrays.stream(state.list(path))
          .filter(status -> filter.accept(status.getPath()))
          .toArray(FileStatus[]::new);
    } catch (IOException failure) {
      throw sneaky(failure);
    }
  }

  @Override
  public FileStatus[] list(Path path) {
    return list(path, every -> true);
  }

  @Override
  public void mkdirs(Path path) {
    if (!isInBucket(path)) {
      local.mkdirs(path);
    }
  }

  @Override
  public boolean exists(Path path) {
    if (!isInBucket(path)) {
      return local.exists(path);
    }
    try {
      state.status(path);
      return true;
    } catch (FileNotFoundException absent) {
      return false;
    } catch (IOException failure) {
      throw sneaky(failure);
    }
  }

  /** A name with a dot is that of a file, which one request deletes without asking what it is. */
  @Override
  public void delete(Path path) {
    if (!isInBucket(path)) {
      local.delete(path);
      return;
    }
    Path there = state.there(path);
    try {
      if (!path.getName().contains(".")) {
        state.delete(path, true);
        return;
      }
      try (BulkDelete bulk = state.bucket().createBulkDelete(there.getParent())) {
        bulk.bulkDelete(List.of(there));
      }
    } catch (FileNotFoundException absent) {
      // it is what was asked for
    } catch (IOException failure) {
      throw sneaky(failure);
    }
  }

  @Override
  public boolean isLocal() {
    return state == null && local.isLocal();
  }

  @Override
  public Path createCheckpointDirectory() {
    return local.createCheckpointDirectory();
  }

  @Override
  public void close() {
    local.close();
  }

  /** Spark's callers, in Scala, expect an IOException. */
  @SuppressWarnings("unchecked")
  private static <E extends Exception> RuntimeException sneaky(IOException failure) throws E {
    throw (E) failure;
  }

  /** An object that replaces whatever has its name. */
  private static final class Replaced extends CancellableFSDataOutputStream {
    private final FSDataOutputStream target;
    private final boolean isChangelog;
    private boolean isEnded;

    Replaced(FSDataOutputStream target, boolean isChangelog) {
      super(target);
      this.target = target;
      this.isChangelog = isChangelog;
    }

    @Override
    public synchronized void close() throws IOException {
      if (!isEnded) {
        isEnded = true;
        target.close();
        if (isChangelog) {
          BucketRequests.countChangelog();
        }
      }
    }

    @Override
    public synchronized void cancel() {
      if (!isEnded) {
        isEnded = true;
        giveUp(target);
      }
    }
  }

  /** An object that is created if there is none of its name. */
  private final class CreatedOnce extends CancellableFSDataOutputStream {
    private final Path path;
    private final Digested target;
    private final boolean isChangelog;
    private boolean isEnded;

    CreatedOnce(Path path, Digested target, boolean isChangelog) {
      super(target);
      this.path = path;
      this.target = target;
      this.isChangelog = isChangelog;
    }

    @Override
    public synchronized void close() throws IOException {
      if (isEnded) {
        return;
      }
      isEnded = true;
      if (isChangelog) {
        BucketRequests.countChangelog();
      }
      try {
        target.close();
      } catch (IOException failure) {
        if (!isTaken(failure)) {
          throw failure;
        }
        if (!isOurs()) {
          FileAlreadyExistsException taken = new FileAlreadyExistsException(path.toString());
          taken.initCause(failure);
          throw taken;
        }
      }
    }

    private boolean isOurs() throws IOException {
      MessageDigest there = sha256();
      try (InputStream found =
          new DigestInputStream(state.bucket().open(state.there(path)), there)) {
        found.transferTo(OutputStream.nullOutputStream());
      }
      return MessageDigest.isEqual(there.digest(), target.digest.digest());
    }

    @Override
    public synchronized void cancel() {
      if (!isEnded) {
        isEnded = true;
        giveUp(target.object);
      }
    }
  }

  /** Whether S3A says that there is an object of this name, in an exception that is in its own archive. */
  private static boolean isTaken(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      boolean isChanged = cause.getClass().getSimpleName().equals("RemoteFileChangedException");
      if (isChanged || cause instanceof FileAlreadyExistsException) {
        return true;
      }
    }
    return false;
  }

  /** Close without an object: what was uploaded of it is dropped. */
  private static void giveUp(FSDataOutputStream target) {
    try {
      target.abort();
      target.close();
    } catch (IOException | UnsupportedOperationException isGivenUp) {
      // nobody waits for it
    }
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException everyJavaHasIt) {
      throw new IllegalStateException(everyJavaHasIt);
    }
  }

  /** Remembers what was written by its digest. */
  private static final class Digested extends FilterOutputStream {
    private final FSDataOutputStream object;
    private final MessageDigest digest = sha256();

    Digested(FSDataOutputStream object) {
      super(object);
      this.object = object;
    }

    @Override
    public void write(int value) throws IOException {
      digest.update((byte) value);
      object.write(value);
    }

    @Override
    public void write(byte[] bytes, int first, int count) throws IOException {
      digest.update(bytes, first, count);
      object.write(bytes, first, count);
    }

    @Override
    public void close() throws IOException {
      object.close();
    }
  }
}
