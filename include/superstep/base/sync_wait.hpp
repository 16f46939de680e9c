// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/task.hpp>

#include <memory>

namespace superstep {

namespace detail {
/// Runs `frame` (whose home is `at`) on this thread until done() says so.
void drive(home& at, std::coroutine_handle<> frame, bool (*done)(void*), void* context);
[[nodiscard]] boost::intrusive_ptr<execution> make_thread_execution();
} // namespace detail

/// Runs a coroutine to its end on this thread, sleeping while it waits: for programs and tests
/// without an engine. Forked calls (when_all) run one after the other, interleaved at their waits.
template <class T>
T sync_wait(task<T> body) {
  auto where = detail::make_thread_execution();
  auto at = home{where.get(), nullptr};
  body.start_in(at);
  detail::drive(
      at, body.handle(), [](void* b) { return static_cast<task<T>*>(b)->done(); }, &body);
  return body.take();
}

} // namespace superstep
