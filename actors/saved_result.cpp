// SPDX-License-Identifier: Apache-2.0
// Delivers the results of runs whose checkpoints are saved after the run has ended. The
// checkpointer notifies on a thread of its own.
#include "saved_result.hpp"

#include "engine_scope.hpp"
#include "run.hpp"

#include <superstep/base/detail/assert.hpp>

#include <new>
#include <optional>
#include <utility>

namespace superstep {

namespace {

/// Returns the exception being handled as the error of a run. If it cannot be described for lack of
/// memory, the error states that.
run_error error_of_checkpointer() noexcept {
  try {
    try {
      throw;
    } catch (const checkpoint_error& e) {
      return make_run_error(e.code(), e.what());
    } catch (...) {
      return error_of_user_code("the checkpointer", std::current_exception(), 0);
    }
  } catch (const std::bad_alloc&) {
    return make_run_error(errc::shortage, "out of memory"); // short enough to need no heap memory
  }
}

/// Calls a checkpointer for a run that has ended. An exception becomes the run's error, unless the
/// run already has one.
template <class Call>
void attempt(detail::raw_result& raw, Call call) {
  auto error = std::optional<run_error>{};
  try {
    call();
    return;
  } catch (...) {
    error = error_of_checkpointer();
  }
  if (!raw.error)
    raw.error = std::move(error);
}

} // namespace

saved_result::~saved_result() {
  if (late_) // the checkpointer was destroyed without an answer
    late_->remove();
}

void saved_result::deliver(std::shared_ptr<late_results> late, lease_ptr lease,
                           std::function<void(detail::raw_result)> done,
                           detail::raw_result&& raw) noexcept {
  SUPERSTEP_ASSERT(late != nullptr && late_ == nullptr);
  late->add();
  late_ = std::move(late);
  lease_ = std::move(lease);
  done_ = std::move(done);
  raw_ = std::move(raw);
  auto is_saving = false;
  auto failed = detail::raw_result{};
  attempt(failed, [&] {
    // a copy of the pointer fits into the function, so nothing is allocated here
    is_saving = checkpointer_->when_saved(key_, [held = shared_from_this()] { held->notify(); });
  });
  if (is_saving)
    return;
  if (failed.error && !is_notified_.load(std::memory_order_acquire) && !raw_.error)
    raw_.error = std::move(failed.error);
  notify();
}

/// Reports the result. Called by the checkpointer, by deliver(), or by both.
void saved_result::notify() noexcept {
  if (is_notified_.exchange(true, std::memory_order_acq_rel))
    return;
  report();
  std::exchange(late_, nullptr)->remove();
}

/// Calls the callback, or drops it if the engine was destroyed. The calling thread may be one of
/// the checkpointer.
void saved_result::report() noexcept {
  const auto done = std::move(done_);
  auto raw = std::move(raw_);
  if (!late_->is_open()) {
    lease_.reset();
    return;
  }
  attempt(raw, [&] { checkpointer_->check(key_); });
  lease_.reset(); // the callback may start the next run on the thread
  const auto scope = engine_scope{};
  call_back(done, std::move(raw));
}

} // namespace superstep
