// SPDX-License-Identifier: Apache-2.0
// The file of a recording, to which several processes may append. A process has a shared lock
// (flock) while it may append. Only a process that gets the exclusive lock repairs the file.
#include "models/recording_file.hpp"

#include "base/file_size_signal.hpp"
#include "models/journal_format.hpp"

#include <superstep/models/chat_model.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
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

/// Reads at most one block at `offset`.
std::string read_block(int fd, std::int64_t offset) {
  auto out = std::string(static_cast<std::size_t>(block_bytes), '\0');
  const auto got = ::pread(fd, out.data(), out.size(), offset);
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return out;
}

/// Returns the offset after the last newline in the first `size` bytes; 0 without a newline.
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

/// Whether the first line is a line of a recording. `start` is the beginning of the file.
bool is_recording(std::string_view start) {
  const auto end = start.find('\n');
  if (end != std::string_view::npos)
    return read_line(start.substr(0, end)).has_value();
  // The line is longer than a block, or it is incomplete.
  return start.starts_with(line_start) || line_start.starts_with(start);
}

/// Opens the file for appending.
/// @param create O_CREAT or 0
int open_to_add(const std::string& path, int create) {
  const auto fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | create, 0600);
  if (fd >= 0 || errno == ENXIO || errno == EISDIR || errno == ENOENT)
    return fd;
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC); // a device may be only writable
}

std::string cannot_open(const std::string& path, int code) {
  return "cannot open the recording " + path + " for writing: " + system_text(code);
}

bool is_of_process(int code) {
  return code == EMFILE || code == ENFILE || code == ENOMEM;
}

/// Returns 0 if the file can be created in its folder, otherwise an errno value.
int creation_fault(const std::string& path) {
  auto folder = std::filesystem::path{path}.parent_path();
  if (folder.empty())
    folder = ".";
  return ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
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
  out.fd_ = open_to_add(out.path_, 0);
  auto code = out.fd_ < 0 ? errno : 0;
  // The first answer creates the file. This function only checks whether that will be possible.
  if (code == ENOENT) {
    code = creation_fault(out.path_);
    if (code == 0)
      return out;
  }
  if (code != 0)
    return error{is_of_process(code) ? make_error_code(errc::shortage)
                                     : make_error_code(model_errc::bad_configuration),
                 cannot_open(out.path_, code)};
  if (auto checked = out.check_and_repair(note); !checked)
    return checked.error();
  return out;
}

result<void> recording_file::check_and_repair(std::string& note) {
  struct stat info {};
  if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode))
    return {};
  if (info.st_size > 0 && !is_recording(read_block(fd_, 0)))
    return error{model_errc::bad_configuration,
                 path_ + ":1: is not a line of a recording; specify a recording or a new file"};
  // If another process has the shared lock, it may be writing the last line. The exclusive lock
  // then fails and the repair is skipped.
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd_, &info) == 0) {
    const auto end = last_line_end(fd_, info.st_size);
    if (end < info.st_size) {
      if (::ftruncate(fd_, end) != 0)
        return error{model_errc::bad_configuration, "cannot remove the incomplete last line of " +
                                                        path_ + ": " + system_text(errno)};
      note = path_ + ": the last line was incomplete (" + std::to_string(info.st_size - end) +
             " bytes); it was removed";
    }
  }
  // Waits for a repair by another process, which is short.
  while (::flock(fd_, LOCK_SH) != 0 && errno == EINTR) {
  }
  return {};
}

result<void> recording_file::create() {
  fd_ = open_to_add(path_, O_CREAT);
  if (fd_ < 0) {
    const auto code = errno;
    return error{is_of_process(code) ? errc::shortage : errc::io_failed, cannot_open(path_, code)};
  }
  auto note = std::string{};
  // Checks the file, which another process may have created meanwhile.
  if (const auto checked = check_and_repair(note); !checked) {
    ::close(std::exchange(fd_, -1));
    return error{errc::io_failed, checked.error().text};
  }
  return {};
}

result<void> recording_file::add(std::string line) {
  line += '\n';
  const auto is_an_error = detail::file_size_signal_blocked{};
  const auto lock = std::scoped_lock{mutex_};
  if (fd_ < 0)
    if (auto created = create(); !created)
      return created;
  const auto begin = ::lseek(fd_, 0, SEEK_END);
  auto written = std::size_t{0};
  while (written < line.size()) {
    const auto got = ::write(fd_, line.data() + written, line.size() - written);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      const auto code = got == 0 ? ENOSPC : errno;
      // Removes a partly written line, unless another process has appended a line after it.
      if (written > 0 && ::lseek(fd_, 0, SEEK_END) == begin + static_cast<off_t>(written)) {
        // If the removal fails, the next open() removes the line.
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
