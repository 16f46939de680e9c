// SPDX-License-Identifier: Apache-2.0
// The coroutine by which a body runs another graph. It asks the engine for a nested run through
// call_services, waits for its end, and passes its error or its interrupts on to the body's task.
// actors/task_policy.cpp starts the run.
#include "runtime/giving_up.hpp"

#include <superstep/runtime/detail/nested_run.hpp>

#include <stdexcept>
#include <utility>

namespace superstep {

task<detail::nested_outcome> detail::run_nested(detail::call_services* services,
                                                detail::program_ptr table, write_list input) {
  if (services == nullptr)
    throw std::logic_error{"runtime::invoke() needs an engine: call it in the body of a node"};
  auto waiting = await_callback<detail::nested_outcome>(
      [services, table = std::move(table),
       input = std::move(input)](completer<detail::nested_outcome> done) mutable {
        services->start_nested(std::move(table), std::move(input), std::move(done));
      });
  auto ended = co_await waiting;
  if (ended.error) {
    // An exception of a nested body is rethrown unchanged, because retry policies and callers check
    // its type. For an exception from outside bodies (code user_code_failed or shortage),
    // graph_error is thrown, because only its text names the source.
    const auto& code = ended.error->code;
    const auto is_of_body = code != graph_errc::user_code_failed && code != errc::shortage;
    if (ended.error->cause && is_of_body)
      std::rethrow_exception(ended.error->cause);
    throw graph_error{std::move(*ended.error)};
  }
  if (ended.interrupts) {
    services->pass_on(std::move(*ended.interrupts));
    auto nothing_more = detail::giving_up{};
    co_await nothing_more;
  }
  co_return ended;
}

std::string detail::whole_state_fault(std::string_view caller, const detail::program& child) {
  return std::string{caller} + " returns a whole state, but graph '" + child.name() +
         "' keeps its state between calls (persistence::per_thread) and would lose every field "
         "without a reducer: return update{set<&State::field>(value), ...} or a projection";
}

void detail::check_whole_input(std::string_view caller, const detail::program& child) {
  if (child.options().persistence == persistence::per_thread)
    throw graph_error{graph_errc::invalid_graph, whole_state_fault(caller, child)};
}

detail::called_parent::called_parent(std::shared_ptr<const value> command, std::string child)
    : graph_error{graph_errc::no_parent,
                  "graph '" + child +
                      "' returned a command to its parent, but it was run by code that is not the "
                      "body of a node, or that does not let this exception pass"},
      command_{std::move(command)}, child_{std::move(child)} {}

} // namespace superstep
