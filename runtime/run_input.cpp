// SPDX-License-Identifier: Apache-2.0
// How the inputs that resume or command a thread become what the engine takes.
#include <superstep/runtime/inputs.hpp>

#include <iterator>
#include <utility>

namespace superstep::detail {

namespace {

thread_command answers_of(resume&& r) {
  auto out = thread_command{};
  out.resume = r.value();
  out.resume_by_id = r.by_id();
  out.ignore_unknown_ids = r.ignores_unknown_ids();
  return out;
}

} // namespace

run_input resume_input(resume r) {
  if (!r.value() && r.by_id().empty())
    return run_input::go_on();
  return answers_of(std::move(r));
}

run_input command_input(node_output&& said, optional_box<resume> r) {
  auto out = r ? answers_of(std::move(*r)) : thread_command{};
  out.said.writes.assign(std::make_move_iterator(said.writes.begin()),
                         std::make_move_iterator(said.writes.end()));
  out.said.targets.assign(said.targets.begin(), said.targets.end());
  out.said.sends = std::move(said.sends);
  out.to_parent = said.to_parent != nullptr;
  return out;
}

} // namespace superstep::detail
