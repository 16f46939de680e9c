// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/net/detail/child_process.hpp>

#include <string>
#include <utility>

#include <unistd.h>

namespace superstep {

/// An open file descriptor with one owner.
class unique_fd {
public:
  unique_fd() noexcept = default;
  explicit unique_fd(int fd) noexcept : fd_{fd} {}
  unique_fd(unique_fd&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  ~unique_fd() { reset(); }
  void reset() noexcept {
    if (fd_ >= 0)
      ::close(std::exchange(fd_, -1));
  }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  [[nodiscard]] int get() const noexcept { return fd_; }

private:
  int fd_ = -1;
};

/// A program that has been started, and our ends of its pipes.
struct spawned {
  int pid = 0;      ///< also the number of its process group
  unique_fd input;  ///< written by us
  unique_fd output; ///< read by us
  unique_fd errors; ///< read by us
  unique_fd ended;  ///< becomes readable when the program has ended
};

class program_guard;

/// An error of a system call on the way to a program: errc::shortage if the machine lacks
/// something, errc::not_found, or the call's own code.
[[nodiscard]] error start_error(const std::string& what, int number);

/// Returns the folders that the request's program is looked for in.
[[nodiscard]] std::string search_path(const process_request& request);

/// Starts the program in a process group of its own, known to the guard, with default signals and
/// no descriptor but the three. After an error nothing of the program has run.
/// @pre one thread at a time, which lives as long as the program: the kernel kills it otherwise
[[nodiscard]] result<spawned> spawn(const process_request& request, program_guard& guard);

} // namespace superstep
