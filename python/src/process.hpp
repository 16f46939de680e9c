// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "body_pool.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/net/io_runtime.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace superstep::python {

/// The threads of this process: one engine, the pool for Python code, and the I/O thread. Created
/// when first used. A fork leaves the child without threads, so the child gets a new object, and
/// that of the parent is never touched again.
/// @par Threads
/// get(), start() and stop() need the GIL; the other members may be called from any thread.
class process {
public:
  /// Returns the object of this process.
  [[nodiscard]] static process& get();
  /// Returns the pool of this process, for threads of the engine. @pre get() was called
  [[nodiscard]] static body_pool& bodies() noexcept;
  /// Counts the forks that lead to this process. Objects that depend on threads store it to find
  /// out that they were made by a parent process.
  [[nodiscard]] static std::uint64_t generation() noexcept;

  /// Whether this process has an object. May be called from any thread.
  [[nodiscard]] static bool is_started() noexcept;

  /// Starts the engine with these options. Throws nb::value_error if it runs already with others,
  /// and std::runtime_error after stop().
  void start(std::size_t workers);
  /// Returns the engine; starts it if necessary. A thread that starts a run keeps the pointer
  /// meanwhile, because another thread may end the process. Throws what start() throws.
  [[nodiscard]] std::shared_ptr<engine> runs();
  /// Returns the runtime of connections and child processes; starts it if necessary.
  [[nodiscard]] const std::shared_ptr<io_runtime>& io();

  /// Counts the runs that were started and have not ended.
  std::atomic<std::int64_t> live_runs{0};
  /// Counts those of the live runs that the program has cancelled.
  std::atomic<std::int64_t> cancelled_runs{0};

  /// Ends all runs and threads, if there are any; called before the interpreter ends. No run can be
  /// started afterwards, for example by the finalizer of an object.
  /// @returns whether all threads have ended. If not, the process must end without finalizing
  /// Python.
  static bool stop();

private:
  process() = default;

  body_pool* bodies_ = nullptr; // never destroyed: detached threads may still use it
  std::shared_ptr<io_runtime> io_;
  std::shared_ptr<engine> engine_;
};

/// Owns a share of an object with threads, such as a checkpointer. In a forked child, which lacks
/// these threads, the share is never released, because the destructor of the object would wait for
/// them.
/// @tparam T a copyable owner, e.g. a std::shared_ptr
template <class T>
class kept_in_child {
public:
  kept_in_child() = default;
  explicit kept_in_child(T owner) : owner_{std::move(owner)} {}
  kept_in_child(const kept_in_child&) = default;
  kept_in_child(kept_in_child&&) = default;
  kept_in_child& operator=(const kept_in_child&) = default;
  kept_in_child& operator=(kept_in_child&&) = default;
  ~kept_in_child() {
    if (made_in_ != process::generation())
      static_cast<void>(new T{std::move(owner_)}); // never destroyed
  }

private:
  T owner_{};
  std::uint64_t made_in_ = process::generation();
};

} // namespace superstep::python
