// SPDX-License-Identifier: Apache-2.0
// The record of a run: its errors, its list of nested runs, and the interrupts of its tasks.
// The coordinator (coordinator.hpp) decides what the run does.
#include "run.hpp"

#include "call.hpp"
#include "engine_scope.hpp"
#include "simulation.hpp"
#include "warning.hpp"

#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace superstep {

std::ostream& operator<<(std::ostream& out, run_status status) {
  switch (status) {
  case run_status::finished:
    return out << "run_status::finished";
  case run_status::interrupted:
    return out << "run_status::interrupted";
  case run_status::failed:
    return out << "run_status::failed";
  }
  return out << "run_status(" << static_cast<int>(status) << ')';
}

run_error make_run_error(const std::error_code& code, std::string text, std::int64_t step) {
  auto made = run_error{};
  made.code = code;
  made.text = std::move(text);
  made.step = step;
  return made;
}

std::string run_in_text(const run_config& config) {
  return config.run_id.empty() ? std::string{"the run"} : "run '" + config.run_id + '\'';
}

run_error cancelled_error(const run& r) noexcept {
  try {
    return make_run_error(graph_errc::cancelled,
                          run_in_text(*r.request.config) + " was cancelled in step " +
                              std::to_string(r.state.step()),
                          r.state.step());
  } catch (...) {
    return make_run_error(graph_errc::cancelled, "cancelled", r.state.step());
  }
}

run_error error_of_user_code(std::string_view whose, std::exception_ptr cause, std::int64_t step) {
  auto error = make_run_error(failure_code(cause, graph_errc::user_code_failed),
                              std::string{whose} + " failed: " + describe(cause), step);
  error.cause = std::move(cause);
  return error;
}

void warn(const std::string& text) noexcept {
  try {
    std::cerr << "superstep: " + text + '\n';
  } catch (...) { // it cannot be reported at all
  }
}

void report_stray(std::string_view whose, const std::exception_ptr& cause) noexcept {
  try {
    warn(std::string{whose} + " threw: " + describe(cause));
  } catch (...) { // the exception cannot be reported at all
  }
}

void call_back(const std::function<void(detail::raw_result)>& done,
               detail::raw_result&& raw) noexcept {
  try {
    if (SUPERSTEP_MUTANT(call_back_twice) && raw.error)
      done(detail::raw_result{});
    done(std::move(raw));
  } catch (...) {
    report_stray("the callback of a run", std::current_exception());
  }
}

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

const run_extras run::no_extras{nullptr};

void run_extras::belong_to(run& of) noexcept {
  SUPERSTEP_ASSERT(!turn_of_forks.is_listed() && starts.empty() && retries.empty());
  SUPERSTEP_ASSERT(!step_timer.is_set() && !settle_timer.is_set());
  turn_of_forks.set_owner(&of);
  step_timer.owner = settle_timer.owner = &of;
}

std::shared_ptr<task_interrupts> run::interrupts_of(std::uint32_t of) {
  const auto& interrupts_by_task = extras().interrupts_by_task;
  const auto kept = interrupts_by_task.find(of);
  // a further attempt starts its body again, which repeats the same interrupts
  if (kept != interrupts_by_task.end()) {
    auto& asked = *kept->second;
    asked.next = 0;
    asked.interrupts.clear();
    asked.stopped = false;
    return kept->second;
  }
  auto asked = std::make_shared<task_interrupts>();
  const auto path = task_path(step.tasks[of]);
  asked->place.config = request.config;
  if (!thread) { // the run has no checkpointer, but a run above it has one
    asked->place.ns = request.below->ns;
    asked->place.task = path + '@' + std::to_string(state.step());
    asked->place.journal = request.below->journal;
    asked->given = request.below->answers;
    return asked;
  }
  asked->place.ns = thread->key().ns;
  asked->place.task = thread->task_key(path);
  asked->place.journal = thread->journal();
  asked->given = thread->answers_for(path);
  if (const auto* known = thread->find(path))
    asked->answers = known->answers;
  return asked;
}

void run::keep_interrupts(std::uint32_t of, std::shared_ptr<task_interrupts> asked) {
  more().interrupts_by_task.try_emplace(of, std::move(asked));
}

void run::keep_abandoned_interrupts(std::uint32_t of, task_interrupts& asked) {
  auto kept = std::make_shared<task_interrupts>();
  {
    const auto lock = std::scoped_lock{asked.mutex};
    kept->place = asked.place;
    kept->given = std::exchange(asked.given, nullptr);
    kept->answers = asked.answers;
    kept->was_answered = asked.was_answered;
  }
  more().interrupts_by_task.insert_or_assign(of, std::move(kept));
}

const task_interrupts* run::find_interrupts(std::uint32_t of) const noexcept {
  const auto& interrupts_by_task = extras().interrupts_by_task;
  const auto found = interrupts_by_task.find(of);
  return found == interrupts_by_task.end() ? nullptr : found->second.get();
}

} // namespace superstep
