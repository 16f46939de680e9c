// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/step.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep::test {

/// One run of the pure step function without threads, in path order or (reversed) in the opposite
/// order. Coroutine bodies must not suspend. Throws what a body throws, and std::system_error if a
/// step is rejected.
struct pure_run {
  explicit pure_run(detail::program_ptr t, std::uint32_t recursion_limit = 25)
      : table{std::move(t)} {
    auto c = run_config{};
    c.run_id = "run";
    c.recursion_limit = recursion_limit;
    c.metadata["note"] = "of the caller";
    config = std::make_shared<const run_config>(std::move(c));
    state.reset(table, id_source{config->run_id}, recursion_limit);
  }

  void start(write_list input) {
    begin(state, step, input).value();
    last = next_step::run;
    run_tasks();
    apply(state, step).value();
    last = prepare(state, step);
    note_tasks();
  }
  /// Runs the bodies of the step and applies the results. @pre last == next_step::run
  void advance() {
    run_tasks();
    apply(state, step).value();
    last = prepare(state, step);
    note_tasks();
  }
  next_step finish(write_list input) {
    start(std::move(input));
    while (last == next_step::run)
      advance();
    return last;
  }

  detail::program_ptr table;
  std::shared_ptr<const run_config> config;
  run_state state;
  super_step step;
  next_step last = next_step::run;
  bool reversed = false;
  bool keep_writes = false;
  std::vector<std::string> steps; ///< the tasks of each step: "a b tools#0"

private:
  void note_tasks() {
    if (last != next_step::run)
      return;
    auto line = std::string{};
    for (const auto& t : step.tasks)
      line += (line.empty() ? "" : " ") + table->node(t.node).name +
              (t.is_push() ? '#' + std::to_string(t.push_index) : std::string{});
    steps.push_back(std::move(line));
  }

  void run_tasks() {
    for (auto i = std::uint32_t{0}; i < step.tasks.size(); ++i)
      run_task(reversed ? static_cast<std::uint32_t>(step.tasks.size()) - 1 - i : i);
  }
  void run_task(std::uint32_t number) {
    const auto& t = step.tasks[number];
    auto in = body_input{};
    in.table = table.get();
    in.state = state.state().get();
    in.payload = t.is_push() ? &step.input_of(t).input : nullptr;
    in.config = &config;
    in.node = t.node;
    in.task_index = t.is_push() ? t.push_index : 0;
    in.step = state.step();
    in.steps_left = state.steps_left();
    in.sole_task = step.tasks.size() == 1;
    in.keep_writes = keep_writes;
    auto out = detail::node_body::outcome{};
    auto failed = std::exception_ptr{};
    auto nowhere = execution_context{};
    const auto ended = detail::start_body(in, out, nowhere, failed);
    if (failed)
      std::rethrow_exception(failed);
    SUPERSTEP_ASSERT(ended);
    step.record(number, std::move(out.output));
  }
};

} // namespace superstep::test
