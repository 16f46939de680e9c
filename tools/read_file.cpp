// SPDX-License-Identifier: Apache-2.0
// The tool `read_file`. A path is resolved first, and then opened segment by segment without
// following links. So no file outside the root is read, even if a folder is replaced by a link
// meanwhile.
#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace superstep {

namespace {

/// A file descriptor that is closed on destruction.
class descriptor {
public:
  explicit descriptor(int fd = -1) noexcept : fd_{fd} {}
  descriptor(descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

private:
  int fd_;
};

/// Returns the error of a system call; errc::shortage if memory, descriptors or the like are
/// exhausted.
error system_error_of(int number, errc otherwise = errc::io_failed) {
  const auto code = std::error_code{number, std::system_category()};
  return {is_shortage(code) ? errc::shortage : otherwise, code.message()};
}

std::string real_path(const std::string& path) {
  const auto resolved =
      std::unique_ptr<char, decltype(&std::free)>{::realpath(path.c_str(), nullptr), &std::free};
  return resolved ? std::string{resolved.get()} : std::string{};
}

/// Opens a path segment by segment below `root`. The path has no links, because it was resolved
/// before. A link that has replaced a segment since then is rejected.
result<descriptor> open_below(const std::string& root, std::string_view path) {
  auto at = descriptor{::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  while (at && !path.empty()) {
    const auto step = std::string{path.substr(0, path.find('/'))};
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    // O_NONBLOCK, because opening a pipe without a writer would block. Pipes are rejected later.
    const auto flags = path.empty() ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    at = descriptor{::openat(at.get(), step.c_str(), flags | O_NOFOLLOW | O_CLOEXEC)};
  }
  if (!at)
    return system_error_of(errno);
  return at;
}

result<std::string> read_all(const descriptor& file, std::size_t bytes_max) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0)
    return system_error_of(errno);
  if (!S_ISREG(about.st_mode))
    return error{errc::invalid_argument, "is not a regular file"};
  const auto too_large = error{errc::too_large, "has more than " + std::to_string(bytes_max) +
                                                    " bytes, which is the maximum"};
  if (static_cast<std::size_t>(about.st_size) > bytes_max)
    return too_large;
  auto text = std::string{};
  auto buffer = std::array<char, 16 * 1024>{};
  // Reads to the end instead of st_size: the file may grow, and files in /proc have size 0.
  for (;;) {
    const auto n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return system_error_of(errno);
    if (n == 0)
      return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > bytes_max)
      return too_large;
  }
}

result<std::string> read_below(const std::string& root, const std::string& path,
                               std::size_t bytes_max) {
  if (path.empty() || path.front() == '/' || path.find('\0') != std::string::npos)
    return error{errc::invalid_argument, "the path must be relative to the root"};
  const auto target = real_path(root + '/' + path);
  if (target.empty())
    return system_error_of(errno, errc::not_found);
  const auto prefix = root == "/" ? root : root + '/';
  if (!target.starts_with(prefix))
    return error{errc::invalid_argument, "is outside of the root, or is the root itself"};
  const auto file = open_below(root, std::string_view{target}.substr(prefix.size()));
  if (!file)
    return file.error();
  return read_all(*file, bytes_max);
}

struct read_file_arguments {
  std::string path;

  static constexpr auto descriptions =
      std::array{std::pair{"path", "Path of the file, relative to the folder that may be read"}};
};
BOOST_DESCRIBE_STRUCT(read_file_arguments, (), (path))

} // namespace

result<tool_ptr> make_read_file(read_file_options options) {
  if (options.max_bytes == 0)
    return error{errc::invalid_argument, "read_file: max_bytes must not be 0"};
  const auto root = real_path(options.root);
  if (!descriptor{::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)}) {
    if (const auto failed = system_error_of(errno); is_shortage(failed.code))
      return error{failed.code, "read_file: root: '" + options.root + "': " + failed.text};
    return error{errc::not_found, "read_file: root: '" + options.root + "' is not a folder"};
  }
  auto read = [root, bytes_max = options.max_bytes](const read_file_arguments& args) {
    auto text = read_below(root, args.path, bytes_max);
    if (!text && is_shortage(text.error().code))
      throw tool_unavailable{
          {errc::shortage, "read_file: '" + args.path + "': " + text.error().text}};
    auto out = tool_output{};
    out.is_error = text.has_error();
    out.content = text ? *std::move(text) : "Error: '" + args.path + "': " + text.error().text;
    return out;
  };
  return make_tool<read_file_arguments>("read_file", "Reads a text file.", std::move(read));
}

} // namespace superstep
