// SPDX-License-Identifier: Apache-2.0
// The record of a run: the texts of its errors, and the interrupts of its tasks. The coordinator
// (coordinator.hpp) decides what the run does.
#include "run.hpp"

#include "call.hpp"
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
