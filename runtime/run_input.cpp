// SPDX-License-Identifier: Apache-2.0
// Converts the inputs by which a caller resumes a thread or sends it a command (resume, command) to
// the engine's form. thread_run.cpp interprets them.
#include <superstep/runtime/inputs.hpp>

#include <iterator>
#include <memory>
#include <utility>

namespace superstep::detail {

namespace {

thread_command answers_of(const resume& r) {
  auto out = thread_command{};
  out.resume = r.value();
  out.resume_by_id = r.by_id();
  out.ignore_unknown_ids = r.ignores_unknown_ids();
  return out;
}

} // namespace

run_input::run_input() noexcept = default;
run_input::run_input(run_input&&) noexcept = default;
run_input& run_input::operator=(run_input&&) noexcept = default;
run_input::~run_input() = default;

run_input::run_input(thread_command c)
    : kind_{kind::command}, command_{std::make_unique<thread_command>(std::move(c))} {}

void run_input::clear() noexcept {
  kind_ = kind::writes;
  is_whole_state_ = false;
  write_list{}.swap(writes_);
  command_.reset();
}

run_input resume_input(const resume& r) {
  if (!r.value() && r.by_id().empty())
    return run_input::resume();
  return answers_of(r);
}

run_input command_input(node_output&& output, const optional_box<resume>& r) {
  auto out = r ? answers_of(*r) : thread_command{};
  out.output.writes.assign(std::make_move_iterator(output.writes.begin()),
                           std::make_move_iterator(output.writes.end()));
  out.output.targets.assign(output.targets.begin(), output.targets.end());
  out.output.sends.assign(std::make_move_iterator(output.sends.begin()),
                          std::make_move_iterator(output.sends.end()));
  out.to_parent = output.to_parent != nullptr;
  return out;
}

} // namespace superstep::detail
