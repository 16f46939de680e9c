// SPDX-License-Identifier: Apache-2.0
// Writes the files of commands that write one text.
#include "cli/written_file.hpp"

#include "batch/file.hpp"

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace superstep::cli {

namespace {

result<void> write_stream(const std::string& path, std::string_view content) {
  // O_NONBLOCK: opening a pipe without a reader must fail instead of waiting for one.
  const auto fd = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 && errno == ENXIO)
    return error{errc::invalid_argument,
                 "--output: the pipe '" + path + "' has no reader; start its reader first"};
  auto code = fd < 0 ? errno : 0;
  if (fd >= 0) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    while (!content.empty() && code == 0) {
      const auto written = ::write(fd, content.data(), content.size());
      if (written > 0)
        content.remove_prefix(static_cast<std::size_t>(written));
      else if (written == 0 || errno != EINTR)
        code = written == 0 ? ENOSPC : errno;
    }
    ::close(fd);
  }
  return code == 0 ? result<void>{} : detail::disk_error("write", path, code);
}

} // namespace

bool is_stream(const std::string& path) {
  auto failed = std::error_code{};
  const auto type = std::filesystem::status(path, failed).type();
  return type == std::filesystem::file_type::character || type == std::filesystem::file_type::fifo;
}

result<void> write_file(const std::string& path, std::string_view content) {
  return is_stream(path) ? write_stream(path, content)
                         : detail::file::replace_content(path, content);
}

} // namespace superstep::cli
