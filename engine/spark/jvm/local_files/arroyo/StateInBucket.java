package arroyo;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.statistics.IOStatisticsSource;

/**
 * Maps the state of a checkpoint to a prefix in a bucket: file:/s/checkpoint/state/0/1/7_a.changelog
 * is s3a://bucket/prefix/0/1/7_a.changelog.
 *
 * <p>The Hadoop configuration says which folder that is, and where it is, so that each query of a
 * JVM has its own, and executors get it with the query. S3A is in archives of its own, which other
 * runs do not have: nothing here names its classes.
 */
final class StateInBucket {
  private static final String FOLDER = "arroyo.state.folder";
  private static final String URL = "arroyo.state.url";
  private static final String S3A = "fs.s3a.";
  private static final String FAST_CREATE = "fs.s3a.create.performance";
  private static final String CREATE_ONCE = "fs.option.create.conditional.overwrite";

  /** One for each bucket and set of settings, since it has a pool of connections. */
  private static final Map<Map<String, String>, FileSystem> OPENED = new ConcurrentHashMap<>();

  private final String folder;
  private final Path url;
  private final FileSystem bucket;

  private StateInBucket(String folder, Path url, FileSystem bucket) {
    this.folder = folder;
    this.url = url;
    this.bucket = bucket;
  }

  /** The mapping that a configuration asks for; null if it asks for none. */
  static StateInBucket of(Configuration conf) throws IOException {
    String folder = conf.get(FOLDER);
    if (folder == null) {
      return null;
    }
    Path url = new Path(conf.get(URL));
    return new StateInBucket(folder, url, open(url, conf));
  }

  private static FileSystem open(Path url, Configuration conf) throws IOException {
    Map<String, String> key = new TreeMap<>(conf.getPropsWithPrefix(S3A));
    key.put(URL, url.toUri().getAuthority());
    FileSystem opened = OPENED.get(key);
    if (opened != null) {
      return opened;
    }
    synchronized (OPENED) {
      if (!OPENED.containsKey(key)) {
        Configuration own = new Configuration(conf);
        own.set("fs.s3a.impl", "org.apache.hadoop.fs.s3a.S3AFileSystem");
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        if (loader != null) {
          own.setClassLoader(loader);
        }
        OPENED.put(key, FileSystem.newInstance(url.toUri(), own));
      }
      return OPENED.get(key);
    }
  }

  /** How many requests this JVM has sent, by the names that S3A has for them. */
  static Map<String, Long> requests() {
    Map<String, Long> sums = new TreeMap<>();
    for (FileSystem opened : OPENED.values()) {
      if (opened instanceof IOStatisticsSource counted) {
        counted.getIOStatistics().counters().forEach((name, count) -> sums.merge(name, count, Long::sum));
      }
    }
    return sums;
  }

  FileSystem bucket() {
    return bucket;
  }

  /** Whether a local path is that of the state, or lies below it. */
  boolean has(Path path) {
    String local = path.toUri().getPath();
    return local.startsWith(folder)
        && (local.length() == folder.length() || local.charAt(folder.length()) == '/');
  }

  /** The object, or the prefix, that a local path stands for. */
  Path there(Path path) {
    String below = path.toUri().getPath().substring(folder.length());
    return below.isEmpty() ? url : new Path(url, below.substring(1));
  }

  /** The local path that stands for an object. */
  private Path here(Path there) {
    String below = there.toUri().getPath().substring(url.toUri().getPath().length());
    return new Path("file", null, folder + below);
  }

  FileStatus status(Path path) throws IOException {
    FileStatus found = bucket.getFileStatus(there(path));
    found.setPath(here(found.getPath()));
    return found;
  }

  /** A folder is there as soon as somebody asks for it: a bucket has none. */
  FileStatus[] list(Path path) throws IOException {
    FileStatus[] found;
    try {
      found = bucket.listStatus(there(path));
    } catch (FileNotFoundException isEmpty) {
      return new FileStatus[0];
    }
    Arrays.stream(found).forEach(status -> status.setPath(here(status.getPath())));
    return found;
  }

  /** Create an object with one request: whatever has its name is replaced, unless it is to be created once. */
  FSDataOutputStream create(Path path, boolean once) throws IOException {
    FSDataOutputStreamBuilder<?, ?> builder = bucket.createFile(there(path));
    builder.create();
    builder.overwrite(!once);
    builder.recursive();
    builder.opt(FAST_CREATE, true);
    if (once) {
      builder.must(CREATE_ONCE, true);
    }
    return (FSDataOutputStream) builder.build();
  }

  void upload(Path local, Path path) throws IOException {
    try (FSDataOutputStream target = create(path, false)) {
      Files.copy(java.nio.file.Path.of(local.toUri().getPath()), target);
    }
  }

  void download(Path path, Path local) throws IOException {
    bucket.copyToLocalFile(false, there(path), local, true);
  }

  boolean delete(Path path, boolean recursive) throws IOException {
    return bucket.delete(there(path), recursive);
  }
}
