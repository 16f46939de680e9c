// SPDX-License-Identifier: Apache-2.0
#include "models/recording_file.hpp"

#include "models/journal_format.hpp"

#include <superstep/base/file_size_signal.hpp>
#include <superstep/models/model_error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace superstep::models {
namespace {

constexpr auto block_bytes = std::int64_t{1} << 16U;
constexpr auto line_start = std::string_view{"{\"run\":"};

std::string system_text(int code) {
  return std::error_code{code, std::generic_category()}.message();
}

/// Up to a block from `offset` on.
std::string read_block(int fd, std::int64_t offset) {
  auto out = std::string(static_cast<std::size_t>(block_bytes), '\0');
  const auto got = ::pread(fd, out.data(), out.size(), offset);
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return out;
}

/// The end of the last newline before `size`; 0 if there is none.
std::int64_t last_line_end(int fd, std::int64_t size) {
  while (size > 0) {
    const auto begin = std::max<std::int64_t>(0, size - block_bytes);
    auto block = read_block(fd, begin);
    block.resize(std::min(block.size(), static_cast<std::size_t>(size - begin)));
    if (const auto at = block.rfind('\n'); at != std::string::npos)
      return begin + static_cast<std::int64_t>(at) + 1;
    size = begin;
  }
  return 0;
}

/// Whether the first line, of which `start` is the beginning, is that of a recording.
bool is_recording(std::string_view start) {
  const auto end = start.find('\n');
  if (end != std::string_view::npos)
    return read_line(start.substr(0, end)).has_value();
  return start.starts_with(line_start) || line_start.starts_with(start); // long, or torn
}

} // namespace

recording_file::recording_file(recording_file&& other) noexcept
    : path_{std::move(other.path_)}, fd_{std::exchange(other.fd_, -1)} {}

recording_file::~recording_file() {
  if (fd_ >= 0)
    ::close(fd_);
}

result<recording_file> recording_file::open(std::string path, std::string& note) {
  auto out = recording_file{};
  out.path_ = std::move(path);
  out.fd_ = ::open(out.path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (out.fd_ < 0 && errno != ENXIO && errno != EISDIR)
    out.fd_ = ::open(out.path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC); // a device, perhaps
  if (out.fd_ < 0)
    return error{model_errc::bad_configuration, "cannot open the recording " + out.path_ +
                                                    " for writing: " + system_text(errno)};
  if (auto checked = out.check_and_repair(note); !checked)
    return checked.error();
  return out;
}

result<void> recording_file::check_and_repair(std::string& note) {
  struct stat info {};
  if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode))
    return {};
  // Who adds to the file has a shared lock; what that process is writing is not torn.
  if (info.st_size > 0 && !is_recording(read_block(fd_, 0)))
    return error{model_errc::bad_configuration,
                 path_ + ":1: is not a line of a recording; answers are not added to a file of "
                         "another kind: name another one"};
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd_, &info) == 0) {
    const auto end = last_line_end(fd_, info.st_size);
    if (end < info.st_size) {
      if (::ftruncate(fd_, end) != 0)
        return error{model_errc::bad_configuration,
                     "cannot cut the torn last line of " + path_ + ": " + system_text(errno)};
      note = path_ + ": the last line was torn (" + std::to_string(info.st_size - end) +
             " bytes); it was removed";
    }
  }
  static_cast<void>(::flock(fd_, LOCK_SH | LOCK_NB));
  return {};
}

result<void> recording_file::add(std::string line) {
  line += '\n';
  const auto is_an_error = detail::file_size_signal_blocked{};
  const auto lock = std::scoped_lock{mutex_};
  const auto begin = ::lseek(fd_, 0, SEEK_END);
  auto written = std::size_t{0};
  while (written < line.size()) {
    const auto got = ::write(fd_, line.data() + written, line.size() - written);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      const auto code = got == 0 ? ENOSPC : errno;
      // Unless another process has added a line meanwhile.
      if (written > 0 && ::lseek(fd_, 0, SEEK_END) == begin + static_cast<off_t>(written)) {
        // If this fails, the torn line is cut when the recording is next opened.
        [[maybe_unused]] const auto cut = ::ftruncate(fd_, begin);
      }
      return error{errc::io_failed,
                   "cannot write to the recording " + path_ + ": " + system_text(code)};
    }
    written += static_cast<std::size_t>(got);
  }
  return {};
}

} // namespace superstep::models
