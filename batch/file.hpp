// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace superstep::detail {

/// The size of a file, and when it was last modified.
struct file_version {
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0; ///< since 1970
  friend bool operator==(const file_version&, const file_version&) = default;
};

/// An open file. Error texts contain the path and the message of the operating system.
class file {
public:
  file() = default;
  file(file&& other) noexcept
      : fd_{std::exchange(other.fd_, -1)}, path_{std::move(other.path_)},
        is_nameless_{other.is_nameless_} {}
  file& operator=(file&& other) noexcept;
  ~file();

  /// Opens a regular file, with the flags of open(2); O_CLOEXEC is added. Only the owner can read
  /// and write a new file. Devices and pipes are rejected, because a job truncates its files and
  /// reads them again when it is resumed.
  [[nodiscard]] static result<file> open_regular(const std::string& path, int flags);
  /// Opens a readable file of any type, for example a pipe. The path `-` means standard input. Does
  /// not wait for the writer of a named pipe: poll() does, and a read before returns no bytes.
  [[nodiscard]] static result<file> open_input(const std::string& path);
  /// Opens another descriptor of standard output, which may be of any type.
  [[nodiscard]] static result<file> open_standard_output();
  /// Creates a file with a unique name in the folder of `like`, with the same permissions.
  [[nodiscard]] static result<file> open_temporary(const file& like);
  /// Creates a file with a unique name that starts with `path`. Only the owner can read and write
  /// it.
  [[nodiscard]] static result<file> open_unique(const std::string& path);
  /// Creates a file without a name in the folder of `beside`. The system deletes it when it is
  /// closed, even after a crash.
  [[nodiscard]] static result<file> open_nameless(const std::string& beside);

  /// Replaces the content of `path` atomically: readers see the old or the new content. The file
  /// keeps its permissions, and a symbolic link its target. @pre the path does not lead to
  /// a device or a pipe
  [[nodiscard]] static result<void> replace_content(const std::string& path,
                                                    std::string_view bytes);

  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Appends all bytes. After an error, some of the bytes may have been written.
  [[nodiscard]] result<void> append(std::string_view bytes);
  /// Appends all bytes to a pipe or terminal, and waits while it is full. Fails with
  /// errc::cancelled if `is_cancelled` returns true in the meantime, and with
  /// std::errc::broken_pipe if the reader of the pipe has ended.
  [[nodiscard]] result<void> append_to_stream(std::string_view bytes,
                                              const std::function<bool()>& is_cancelled);
  [[nodiscard]] result<void> sync();
  [[nodiscard]] result<std::uint64_t> size() const;
  /// Returns what changes if the content of the file does.
  [[nodiscard]] result<file_version> version() const;
  [[nodiscard]] result<void> cut(std::uint64_t size);
  /// Renames this file, made by open_temporary(), to the path of `old`. Afterwards `old` refers to
  /// the new content, and this object to the replaced file.
  [[nodiscard]] result<void> replace(file& old);
  /// Deletes and closes a file made by open_temporary(). No effect if the object is not open.
  result<void> remove() noexcept;
  /// Whether path() still leads to the open file. Another process may have deleted or replaced it.
  /// Always true for a file of open_nameless().
  [[nodiscard]] bool has_its_name() const noexcept;
  /// Reads bytes from `offset` and returns their number. Reads fewer than `into` has room for only
  /// at the end of the file.
  [[nodiscard]] result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const;
  /// Reads `size` bytes from `offset`. Reads fewer bytes only at the end of the file.
  [[nodiscard]] result<void> read_at(std::uint64_t offset, std::size_t size,
                                     std::string& into) const;

private:
  file(int fd, std::string path) : fd_{fd}, path_{std::move(path)} {}

  int fd_ = -1;
  std::string path_;
  bool is_nameless_ = false;
};

/// Whether the path exists. A symbolic link counts, even if its target does not exist.
[[nodiscard]] bool exists(const std::string& path) noexcept;
/// Returns a path that does not exist: `path`, the suffix, a hyphen and a number.
[[nodiscard]] std::string free_name(const std::string& path, std::string_view suffix);
/// Copies the bytes from `offset` to the end into a new file in the same folder. Returns the path
/// of the new file.
[[nodiscard]] result<std::string> copy_aside(const file& from, std::string_view suffix,
                                             std::uint64_t offset);
/// Copies the whole file to its original path if no other file has it now, else to a new name in
/// the same folder. Returns the path of the copy.
[[nodiscard]] result<std::string> copy_to_free_name(const file& from);
/// Syncs the folder of `path`, so that new and renamed files survive a power failure.
[[nodiscard]] result<void> sync_folder_of(const std::string& path);
/// Returns an error "cannot <action> <path>: <message of errno>".
[[nodiscard]] error disk_error(std::string_view action, std::string_view path, int code);

} // namespace superstep::detail
