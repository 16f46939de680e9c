// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/task.hpp>

#include <memory>

namespace superstep {

namespace detail {
/// Resumes `frame`, whose execution context is `at`, and runs its executor until done(context).
void drive(execution_context& at, std::coroutine_handle<> frame, bool (*done)(void*),
           void* context);
/// Creates the single-threaded executor of sync_wait().
[[nodiscard]] boost::intrusive_ptr<executor> make_thread_executor();
} // namespace detail

/// Runs a coroutine to its end on this thread, sleeping while it waits. For programs and tests
/// without an engine. Forked calls (when_all) are interleaved at their suspension points.
///
/// @return the coroutine's result
/// @throws what the coroutine throws
template <class T>
T sync_wait(task<T> body) {
  auto where = detail::make_thread_executor();
  auto at = execution_context{where.get(), nullptr};
  body.start_in(at);
  detail::drive(
      at, body.handle(), [](void* b) { return static_cast<task<T>*>(b)->done(); }, &body);
  return body.take();
}

} // namespace superstep
