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

/// A started program and this process's ends of its pipes.
struct spawned {
  int pid = 0;      ///< also the id of its process group
  unique_fd input;  ///< for writing to its standard input
  unique_fd output; ///< for reading its standard output
  unique_fd errors; ///< for reading its standard error
  unique_fd ended;  ///< pidfd; becomes readable when the program has exited
};

class program_guard;

/// Returns the error of a system call that has failed before or during a start. The code is
/// errc::shortage if the machine lacks a resource, errc::not_found for a missing file, or else the
/// call's own code.
[[nodiscard]] error start_error(const std::string& what, int number);

/// Returns the folders in which the request's program is searched for, in the form of PATH.
[[nodiscard]] std::string search_path(const process_request& request);

/// Starts the program in a new process group that the guard knows. The program has default signal
/// handlers and only its three standard descriptors. If an error is returned, no code of the
/// program has run.
/// @pre called by one thread at a time. This thread outlives the program; otherwise the kernel
/// kills the program.
[[nodiscard]] result<spawned> spawn(const process_request& request, program_guard& guard);

} // namespace superstep
