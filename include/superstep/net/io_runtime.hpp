// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace superstep {

/// The one thread on which all sockets, pipes and their timers are waited for.
///
/// It only waits and copies bytes; whoever awaits an operation goes on in its own home, never here.
/// One per process is enough: thousands of connections share the thread.
///
/// @par Lifetime
/// Outlives the clients made with it and their streams. What is still awaited when it goes away
/// (requests, child processes) ends with errc::cancelled, and the children are killed.
/// @par Threads
/// May be used from any thread. Destroyed outside its own thread.
class io_runtime {
public:
  io_runtime();
  io_runtime(const io_runtime&) = delete;
  io_runtime& operator=(const io_runtime&) = delete;
  ~io_runtime();

  struct impl; // net/io_runtime_impl.hpp; Asio does not leave net/
  [[nodiscard]] impl& get() noexcept { return *impl_; }

private:
  std::unique_ptr<impl> impl_;
};

/// Returns the I/O runtime of the process, for models and tools that are made without one of their
/// own. Its thread starts with the first call and ends with the process.
///
/// It belongs to the process and not to an engine, because models and tools are made before an
/// engine and are used by any number of them.
///
/// Thread-safe. Do not use it after main() has returned.
[[nodiscard]] const std::shared_ptr<io_runtime>& shared_io_runtime();

} // namespace superstep
