// SPDX-License-Identifier: Apache-2.0
// The record of a run: its errors, its list of nested runs, and the conversations of its tasks.
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
    is_saving = checkpointer_->when_saved(key_, [held = shared_from_this()] { held->tell(); });
  });
  if (is_saving)
    return;
  if (failed.error && !told_.load(std::memory_order_acquire) && !raw_.error)
    raw_.error = std::move(failed.error);
  tell();
}

/// Reports the result. Called by the checkpointer, by deliver(), or by both.
void saved_result::tell() noexcept {
  if (told_.exchange(true, std::memory_order_acq_rel))
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
  SUPERSTEP_ASSERT(!step_timer.is_set() && !patience_timer.is_set());
  turn_of_forks.set_owner(&of);
  step_timer.owner = patience_timer.owner = &of;
}

std::shared_ptr<conversation> run::conversation_of(std::uint32_t of) {
  const auto& talks = extras().talks;
  const auto kept = talks.find(of);
  // a further attempt starts its body again, which repeats the same interrupts
  if (kept != talks.end()) {
    auto& talk = *kept->second;
    talk.next = 0;
    talk.interrupts.clear();
    talk.stopped = false;
    return kept->second;
  }
  auto talk = std::make_shared<conversation>();
  const auto path = task_path(step.tasks[of]);
  talk->place.config = request.config;
  if (!thread) { // the run has no checkpointer, but a run above it has one
    talk->place.ns = request.below->ns;
    talk->place.task = path + '@' + std::to_string(state.step());
    talk->place.journal = request.below->journal;
    talk->given = request.below->answers;
    return talk;
  }
  talk->place.ns = thread->key().ns;
  talk->place.task = thread->task_key(path);
  talk->place.journal = thread->journal();
  talk->given = thread->answers_for(path);
  if (const auto* known = thread->find(path))
    talk->answers = known->answers;
  return talk;
}

void run::keep_talk(std::uint32_t of, std::shared_ptr<conversation> talk) {
  more().talks.try_emplace(of, std::move(talk));
}

void run::keep_abandoned_talk(std::uint32_t of, conversation& talk) {
  auto kept = std::make_shared<conversation>();
  {
    const auto lock = std::scoped_lock{talk.mutex};
    kept->place = talk.place;
    kept->given = std::exchange(talk.given, nullptr);
    kept->answers = talk.answers;
    kept->was_answered = talk.was_answered;
  }
  more().talks.insert_or_assign(of, std::move(kept));
}

const conversation* run::find_talk(std::uint32_t of) const noexcept {
  const auto& talks = extras().talks;
  const auto found = talks.find(of);
  return found == talks.end() ? nullptr : found->second.get();
}

} // namespace superstep
