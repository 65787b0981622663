package arroyo;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * Hadoop's local file system without its child processes, and with the state of a query in a bucket
 * where its configuration says so (StateInBucket).
 *
 * <p>Without its native library Hadoop starts a {@code chmod} for every file that it makes: a dozen
 * processes in every epoch.
 */
public final class LocalFilesInProcess extends LocalFileSystem {
  private StateInBucket state;

  public LocalFilesInProcess() {
    super(new Raw());
  }

  @Override
  public void initialize(URI uri, Configuration conf) throws IOException {
    super.initialize(uri, conf);
    state = StateInBucket.of(conf);
  }

  private boolean isInBucket(Path path) {
    return state != null && state.has(path);
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) throws IOException {
    return isInBucket(path) ? state.bucket().open(state.there(path)) : super.open(path, bufferSize);
  }

  @Override
  public FSDataOutputStream create(
      Path path,
      FsPermission permission,
      boolean overwrite,
      int bufferSize,
      short replication,
      long blockSize,
      Progressable progress)
      throws IOException {
    if (isInBucket(path)) {
      return state.create(path, !overwrite);
    }
    return super.create(path, permission, overwrite, bufferSize, replication, blockSize, progress);
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    return isInBucket(path) ? state.status(path) : super.getFileStatus(path);
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    return isInBucket(path) ? state.list(path) : super.listStatus(path);
  }

  @Override
  public boolean mkdirs(Path path) throws IOException {
    return isInBucket(path) || super.mkdirs(path);
  }

  @Override
  public boolean mkdirs(Path path, FsPermission permission) throws IOException {
    return isInBucket(path) || super.mkdirs(path, permission);
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    return isInBucket(path) ? state.delete(path, recursive) : super.delete(path, recursive);
  }

  /** What Spark creates in a bucket has its own name from the beginning (StateFileManager). */
  @Override
  public boolean rename(Path source, Path target) throws IOException {
    if (isInBucket(source) || isInBucket(target)) {
      throw new UnsupportedOperationException("no file of a state in a bucket is renamed: " + source);
    }
    return super.rename(source, target);
  }

  @Override
  public void copyFromLocalFile(boolean removes, Path source, Path target) throws IOException {
    if (isInBucket(target)) {
      upload(removes, source, target);
    } else {
      super.copyFromLocalFile(removes, source, target);
    }
  }

  @Override
  public void copyFromLocalFile(boolean removes, boolean overwrites, Path source, Path target)
      throws IOException {
    if (isInBucket(target)) {
      upload(removes, source, target);
    } else {
      super.copyFromLocalFile(removes, overwrites, source, target);
    }
  }

  private void upload(boolean removes, Path source, Path target) throws IOException {
    state.upload(source, target);
    if (removes) {
      super.delete(source, false);
    }
  }

  @Override
  public void copyToLocalFile(boolean removes, Path source, Path target) throws IOException {
    if (!isInBucket(source)) {
      super.copyToLocalFile(removes, source, target);
      return;
    }
    state.download(source, target);
    if (removes) {
      state.delete(source, false);
    }
  }

  private static final class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      if (permission.getStickyBit()) {
        super.setPermission(path, permission);
        return;
      }
      String symbols =
          permission.getUserAction().SYMBOL
              + permission.getGroupAction().SYMBOL
              + permission.getOtherAction().SYMBOL;
      try {
        Files.setPosixFilePermissions(
            pathToFile(path).toPath(), PosixFilePermissions.fromString(symbols));
      } catch (UnsupportedOperationException notPosix) {
        super.setPermission(path, permission);
      }
    }
  }
}
