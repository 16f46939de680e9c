// SPDX-License-Identifier: Apache-2.0
// Files of a job: appends, syncs, and replaces files. A file is replaced by a rename, so a crash at
// any point leaves the complete old content or the complete new content.
#include "file.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace superstep::detail {
namespace {

std::string folder_of(const std::string& path) {
  auto folder = std::filesystem::path{path}.parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Returns the path with symbolic links resolved, also if the file does not exist. rename(2) would
/// otherwise replace the link instead of the file.
std::string real_path(const std::string& path) {
  namespace fs = std::filesystem;
  auto failed = std::error_code{};
  if (const auto real = fs::canonical(path, failed); !failed)
    return real.string();
  constexpr auto links_max = 40; // as in Linux
  auto out = fs::path{path};
  for (auto links = 0; links < links_max && fs::is_symlink(out, failed); ++links)
    out = out.parent_path() / fs::read_symlink(out, failed); // an absolute target replaces the path
  return out.string();
}

/// Creates a temporary file beside a file, so that no other one is overwritten. Returns its
/// descriptor, or an error that names `path`, because the user does not know the temporary file.
/// @param name the path of the file; becomes that of the temporary file
result<int> open_beside(std::string& name, const std::string& path, int flags) {
  name += ".XXXXXX";
  const auto fd = ::mkostemp(name.data(), O_CLOEXEC | flags);
  if (fd >= 0)
    return fd;
  const auto code = errno;
  auto out = disk_error("create a file beside", path, code);
  if (code == EACCES || code == EPERM || code == EROFS)
    out.text += "; check the permissions of its folder, or use another one";
  return out;
}

} // namespace

error disk_error(std::string_view action, std::string_view path, int code) {
  auto what = std::error_code{code, std::generic_category()};
  auto text = std::string{"cannot "}.append(action).append(" ").append(path).append(": ");
  const auto is_limit = code == EFBIG; // the file-size limit was reached, which is like a full disk
  return {is_shortage(what) || is_limit ? errc::shortage : errc::io_failed, text + what.message()};
}

file& file::operator=(file&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(is_nameless_, other.is_nameless_);
  return *this;
}

file::~file() {
  if (fd_ >= 0)
    ::close(fd_);
}

result<file> file::open_regular(const std::string& path, int flags) {
  // O_NONBLOCK: opening a named pipe must fail below instead of waiting for the other end.
  const auto irregular = [&] {
    return error{errc::io_failed,
                 "cannot write " + path +
                     ": it is not a regular file, so the job could not be resumed; "
                     "specify a regular file"};
  };
  auto fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0 && errno == ENXIO) // a FIFO without reader, or a socket
    return irregular();
  if (fd < 0)
    return disk_error("open", path, errno);
  auto opened = file{fd, path};
  struct stat info {};
  if (::fstat(fd, &info) != 0)
    return disk_error("open", path, errno);
  if (!S_ISREG(info.st_mode))
    return irregular();
  return opened;
}

result<file> file::open_input(const std::string& path) {
  // O_NONBLOCK: otherwise, opening a named pipe waits for its writer, and the job cannot be
  // stopped.
  auto fd = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                        : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return disk_error("open", path, errno);
  if (path != "-")
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  auto opened = file{fd, path == "-" ? "standard input" : path};
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
    return disk_error("read", opened.path(), EISDIR);
  return opened;
}

result<file> file::open_temporary(const file& like) {
  auto name = real_path(like.path());
  const auto fd = open_beside(name, like.path(), O_APPEND);
  if (!fd)
    return fd.error();
  struct stat info {};
  if (::fstat(like.fd(), &info) == 0) // on failure the file keeps mode 0600 of mkostemp()
    static_cast<void>(::fchmod(*fd, info.st_mode & 07777));
  return file{*fd, std::move(name)};
}

result<file> file::open_unique(const std::string& path) {
  auto name = path;
  const auto fd = open_beside(name, path, 0);
  if (!fd)
    return fd.error();
  return file{*fd, std::move(name)};
}

result<file> file::open_nameless(const std::string& beside) {
  auto out = open_unique(beside);
  if (!out)
    return out;
  ::unlink(out->path().c_str());
  out->is_nameless_ = true;
  return out;
}

result<file> file::open_standard_output() {
  const auto fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (fd < 0)
    return disk_error("open", "standard output", errno);
  return file{fd, "standard output"};
}

result<void> file::append(std::string_view bytes) {
  while (!bytes.empty()) {
    auto written = ::write(fd_, bytes.data(), bytes.size());
    if (written > 0)
      bytes.remove_prefix(static_cast<std::size_t>(written));
    else if (written == 0 || errno != EINTR)
      return disk_error("write", path_, written == 0 ? ENOSPC : errno); // 0 leaves errno unset
  }
  return {};
}

// A pipe that poll() reports as writable accepts at least 4 KiB without blocking, so the loop can
// check for cancellation between two writes.
result<void> file::append_to_stream(std::string_view bytes,
                                    const std::function<bool()>& is_cancelled) {
  constexpr auto poll_ms = 100;
  constexpr auto piece_bytes = std::size_t{4096};
  while (!bytes.empty()) {
    if (is_cancelled())
      return error{errc::cancelled, "cannot write " + path_ + ": the job was stopped"};
    auto ready = pollfd{fd_, POLLOUT, 0};
    if (::poll(&ready, 1, poll_ms) <= 0)
      continue;
    auto written = ::write(fd_, bytes.data(), std::min(bytes.size(), piece_bytes));
    if (written > 0)
      bytes.remove_prefix(static_cast<std::size_t>(written));
    else if (written < 0 && errno == EPIPE)
      return error{std::make_error_code(std::errc::broken_pipe),
                   "the reader of " + path_ +
                       " has ended, so the job has stopped. A job whose --output is a file can be "
                       "resumed"};
    else if (written == 0 || (errno != EINTR && errno != EAGAIN))
      return disk_error("write", path_, written == 0 ? ENOSPC : errno);
  }
  return {};
}

result<void> file::replace(file& old) {
  auto synced = sync();
  if (synced && ::rename(path_.c_str(), real_path(old.path_).c_str()) != 0)
    synced = disk_error("replace", old.path_, errno);
  if (!synced) {
    static_cast<void>(remove());
    return synced;
  }
  path_ = old.path_;
  old = std::move(*this);
  return {};
}

result<void> file::remove() noexcept {
  if (fd_ >= 0) {
    ::unlink(path_.c_str());
    ::close(std::exchange(fd_, -1));
  }
  return {};
}

bool file::has_its_name() const noexcept {
  if (is_nameless_)
    return true;
  struct stat named {};
  struct stat own {};
  return ::stat(path_.c_str(), &named) == 0 && ::fstat(fd_, &own) == 0 &&
         named.st_dev == own.st_dev && named.st_ino == own.st_ino;
}

result<void> file::sync() {
  // fdatasync() also writes a changed file size, so appended lines survive a power failure.
  if (::fdatasync(fd_) != 0)
    return disk_error("sync", path_, errno);
  return {};
}

result<std::uint64_t> file::size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0)
    return disk_error("read the size of", path_, errno);
  return static_cast<std::uint64_t>(info.st_size);
}

result<file_version> file::version() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0)
    return disk_error("read the size of", path_, errno);
  constexpr auto ns_per_second = std::int64_t{1'000'000'000};
  return file_version{static_cast<std::uint64_t>(info.st_size),
                      info.st_mtim.tv_sec * ns_per_second + info.st_mtim.tv_nsec};
}

result<void> file::cut(std::uint64_t size) {
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0)
    return disk_error("cut", path_, errno);
  return {};
}

result<std::size_t> file::read_at(std::uint64_t offset, std::span<char> into) const {
  auto have = std::size_t{0};
  while (have < into.size()) {
    auto got =
        ::pread(fd_, into.data() + have, into.size() - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return disk_error("read", path_, errno);
    if (got == 0)
      break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

result<void> file::read_at(std::uint64_t offset, std::size_t size, std::string& into) const {
  // The buffer of a large block is zeroed, so it should not be larger than the rest of the file.
  // Files of the kernel report a size of 0.
  constexpr auto large = std::size_t{16} << 10U;
  if (size > large) {
    struct stat info {};
    if (::fstat(fd_, &info) == 0 && info.st_size > 0) {
      const auto end = static_cast<std::uint64_t>(info.st_size);
      size =
          static_cast<std::size_t>(std::min<std::uint64_t>(size, end > offset ? end - offset : 0));
    }
  }
  into.resize(size);
  auto have = read_at(offset, std::span{into});
  if (!have)
    return have.error();
  into.resize(*have);
  return {};
}

bool exists(const std::string& path) noexcept {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0; // lstat: even a dangling symbolic link has the name
}

std::string free_name(const std::string& path, std::string_view suffix) {
  for (auto n = 1;; ++n)
    if (auto name = path + std::string{suffix} + '-' + std::to_string(n); !exists(name))
      return name;
}

namespace {

result<std::string> copy_to(const file& from, std::string name, std::uint64_t offset) {
  auto copy = file::open_regular(name, O_WRONLY | O_CREAT | O_EXCL);
  if (!copy)
    return copy.error();
  auto block = std::string{};
  constexpr auto block_bytes = std::size_t{1} << 20U;
  do {
    if (auto read = from.read_at(offset, block_bytes, block); !read)
      return read.error();
    if (auto written = copy->append(block); !written)
      return written.error();
    offset += block.size();
  } while (!block.empty());
  if (auto synced = copy->sync(); !synced)
    return synced.error();
  return name;
}

} // namespace

result<std::string> copy_aside(const file& from, std::string_view suffix, std::uint64_t offset) {
  return copy_to(from, free_name(from.path(), suffix), offset);
}

result<std::string> copy_to_free_name(const file& from) {
  return copy_to(from, exists(from.path()) ? free_name(from.path(), ".rescued") : from.path(), 0);
}

result<void> sync_folder_of(const std::string& path) {
  auto folder = folder_of(path);
  auto fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return disk_error("open", folder, errno);
  auto failed = ::fsync(fd) != 0 && errno != EINVAL; // some file systems cannot sync folders
  auto code = errno;
  ::close(fd);
  if (failed)
    return disk_error("sync", folder, code);
  return {};
}

result<void> file::replace_content(const std::string& path, std::string_view bytes) {
  const auto real = real_path(path);
  auto name = real;
  const auto fd = open_beside(name, path, 0);
  if (!fd)
    return fd.error();
  auto fresh = file{*fd, path}; // errors name the file that is replaced
  struct stat info {};
  if (::stat(real.c_str(), &info) == 0) // else the file keeps mode 0600 of mkostemp()
    static_cast<void>(::fchmod(*fd, info.st_mode & 07777));
  auto written = fresh.append(bytes);
  if (written)
    written = fresh.sync();
  if (written && ::rename(name.c_str(), real.c_str()) != 0)
    written = disk_error("replace", path, errno);
  if (!written) {
    ::unlink(name.c_str());
    return written.error();
  }
  return sync_folder_of(real);
}

} // namespace superstep::detail
