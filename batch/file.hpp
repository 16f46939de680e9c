// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace superstep::detail {

/// An open file. Errors name the path and say what the system said.
class file {
public:
  file() = default;
  file(file&& other) noexcept : fd_{std::exchange(other.fd_, -1)}, path_{std::move(other.path_)} {}
  file& operator=(file&& other) noexcept;
  ~file();

  /// `flags` and mode 0666 as for open(2); O_CLOEXEC is added. `/dev/full` and directories are
  /// refused: a job's files must be regular, else they could not be cut and resumed.
  [[nodiscard]] static result<file> open_regular(const std::string& path, int flags);
  /// Any readable file, pipes included.
  [[nodiscard]] static result<file> open_input(const std::string& path);
  /// A nameless file in the folder of `beside`, gone when it is closed.
  [[nodiscard]] static result<file> open_nameless(const std::string& beside);

  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Writes all of it at the end of what is there. After an error the file may end in a part.
  [[nodiscard]] result<void> append(std::string_view bytes);
  [[nodiscard]] result<void> sync();
  [[nodiscard]] result<std::uint64_t> size() const;
  [[nodiscard]] result<void> cut(std::uint64_t size);
  /// Up to `size` bytes from `offset`; fewer only at the end of the file.
  [[nodiscard]] result<void> read_at(std::uint64_t offset, std::size_t size,
                                     std::string& into) const;

private:
  file(int fd, std::string path) : fd_{fd}, path_{std::move(path)} {}

  int fd_ = -1;
  std::string path_;
};

/// Whether anything has this name.
[[nodiscard]] bool exists(const std::string& path) noexcept;
/// Makes new and renamed files of the folder that holds `path` survive a power cut.
[[nodiscard]] result<void> sync_folder_of(const std::string& path);
/// Replaces `path` by `bytes` at once: a reader sees the old or the new content.
[[nodiscard]] result<void> replace_file(const std::string& path, std::string_view bytes);
/// "cannot <action> <path>: <what errno means>".
[[nodiscard]] error disk_error(std::string_view action, std::string_view path, int code);

} // namespace superstep::detail
