// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace superstep {

/// The thread that waits for all sockets, pipes and their timers.
///
/// The thread only waits and copies bytes: a coroutine that awaits an operation is resumed in its
/// own executor, never on this thread. One io_runtime per process is enough for thousands of
/// connections.
///
/// @par Lifetime
/// Must outlive the clients made with it and their streams. Its destructor ends pending operations
/// with errc::cancelled and kills child processes.
/// @par Threads
/// May be used by any thread. Must not be destroyed on its own thread.
class io_runtime {
public:
  /// Starts the thread. Throws std::system_error if that fails.
  io_runtime();
  io_runtime(const io_runtime&) = delete;
  io_runtime& operator=(const io_runtime&) = delete;
  /// Ends pending operations, stops the thread and waits for its end.
  ~io_runtime();

  struct impl; // defined in net/io_runtime_impl.hpp, to keep Asio out of other folders
  /// Returns the implementation, for other components of superstep.
  [[nodiscard]] impl& get() noexcept { return *impl_; }

private:
  std::unique_ptr<impl> impl_;
};

/// Returns the I/O runtime that models and tools use by default. Its thread starts with the first
/// call and ends with the process.
///
/// It belongs to the process and not to an engine, because models and tools are made before an
/// engine and shared by any number of engines.
///
/// May be called from any thread. Must not be used after main() has returned.
/// @throws std::system_error if the thread cannot be started; the next call tries again
[[nodiscard]] const std::shared_ptr<io_runtime>& shared_io_runtime();

} // namespace superstep
