// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

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

  /// `flags` as for open(2); O_CLOEXEC is added. A new file is readable by its user alone. `/dev/full` and directories are
  /// refused: a job's files must be regular, else they could not be cut and resumed.
  [[nodiscard]] static result<file> open_regular(const std::string& path, int flags);
  /// Any readable file, pipes included.
  [[nodiscard]] static result<file> open_input(const std::string& path);
  /// A new file with a name of its own in the folder of `like`, with the same permissions.
  [[nodiscard]] static result<file> open_temporary(const file& like);
  /// A nameless file in the folder of `beside`, gone when it is closed.
  [[nodiscard]] static result<file> open_nameless(const std::string& beside);

  /// Replaces `path` by `bytes` at once: a reader sees the old or the new content.
  [[nodiscard]] static result<void> replace_content(const std::string& path,
                                                    std::string_view bytes);

  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Writes all of it at the end of what is there. After an error the file may end in a part.
  [[nodiscard]] result<void> append(std::string_view bytes);
  [[nodiscard]] result<void> sync();
  [[nodiscard]] result<std::uint64_t> size() const;
  [[nodiscard]] result<void> cut(std::uint64_t size);
  /// Takes the name of `old` and its place: `old` is this file afterwards. For open_temporary().
  [[nodiscard]] result<void> replace(file& old);
  /// Removes the file, if one is open, and closes it. For open_temporary().
  result<void> remove() noexcept;
  /// Whether path() still leads to this file.
  [[nodiscard]] bool has_its_name() const noexcept;
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
/// `path` with a suffix and a number that make it the name of no file.
[[nodiscard]] std::string free_name(const std::string& path, std::string_view suffix);
/// Copies the bytes from `offset` on to a new file beside, whose name it returns.
[[nodiscard]] result<std::string> copy_aside(const file& from, std::string_view suffix,
                                             std::uint64_t offset);
/// Copies all bytes to a new file with the name of `from` if that is free, or else beside it.
[[nodiscard]] result<std::string> copy_to_free_name(const file& from);
/// Makes new and renamed files of the folder that holds `path` survive a power cut.
[[nodiscard]] result<void> sync_folder_of(const std::string& path);
/// "cannot <action> <path>: <what errno means>".
[[nodiscard]] error disk_error(std::string_view action, std::string_view path, int code);

} // namespace superstep::detail
