// SPDX-License-Identifier: Apache-2.0
// Runs the body of a node and the routers of its branches. User code is called only inside
// start_body() and continue_body(), which catch everything that it throws. actors/call.cpp calls
// them. The file also contains the functions that throw the errors of the body templates, so that
// the templates stay small.
#include "runtime/channel_set.hpp"
#include "runtime/step.hpp"

#include <superstep/runtime/detail/labels.hpp>
#include <superstep/runtime/detail/named_fields.hpp>
#include <superstep/runtime/detail/nested_run.hpp>
#include <superstep/runtime/detail/node_body.hpp>
#include <superstep/runtime/detail/program.hpp>
#include <superstep/runtime/detail/runtime_access.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

detail::node_body::~node_body() = default;

void detail::node_body::finish(body_task& ended, const body_input&, node_output& out) const {
  out = ended.take<node_output>();
}

bool detail::node_body::take_command(const value&, const body_input&, const std::string&,
                                     node_output&) const {
  return false;
}

detail::router::~router() = default;

runtime body_input::make_runtime() const {
  using access = detail::runtime_access;
  auto rt = access::make(*config, table->node(node).name, step, task_index);
  access::set_attempt(rt, attempt);
  access::set_steps_left(rt, steps_left);
  access::set_store(rt, store);
  if (unusual != nullptr)
    access::set_failure(rt, unusual->failure);
  if (services) {
    access::set_stop(rt, services->stop_token());
    access::set_deadline(rt, services->deadline());
    auto custom = services->emitter();
    auto message = services->message_emitter();
    if (custom || message)
      access::set_emitters(
          rt, std::make_shared<const detail::emitters>(std::move(custom), std::move(message)));
    access::set_services(rt, services);
  }
  return rt;
}

void detail::throw_wrong_input(const body_input& given) {
  const auto& node = given.table->node(given.node).name;
  auto text =
      given.payload != nullptr
          ? "the input of a Send to node '" + node + "' is not of the type that the node takes"
          : "node '" + node + "' is activated by Sends only: send it an input";
  throw graph_error{run_error{
      make_error_code(graph_errc::invalid_update), std::move(text), node, given.step, node, 1, {}}};
}

void detail::throw_bad_field(std::string_view name, std::string_view why) {
  throw graph_error{graph_errc::invalid_update,
                    "cannot write the field '" + std::string{name} + "': " + std::string{why}};
}

void detail::throw_wrong_parent(const detail::program& parent, const std::string& child) {
  throw graph_error{graph_errc::invalid_update, "graph '" + child +
                                                    "' returned a command to its parent graph '" +
                                                    parent.name() +
                                                    "', but the command updates a state of another "
                                                    "type: update fields of the parent's state"};
}

void detail::throw_resumes() {
  throw graph_error{graph_errc::invalid_update,
                    "a node returned a command with `resume`, which only the caller of a "
                    "run may set"};
}

void detail::throw_unknown_label(const std::string& label) {
  throw graph_error{graph_errc::unknown_label,
                    "a branch returned '" + label + "', which its path map does not contain"};
}

namespace {

/// Whether a step without writes would still change the state, by emptying a transient channel.
bool holds_transients(const detail::program& table, const state_block& state) noexcept {
  return std::ranges::any_of(table.transient_channels(), [&](std::uint32_t c) {
    return table.channels()[c]->is_available(state);
  });
}

/// Empties the transient channels that the step did not write; their values live for one step.
void empty_transients(const detail::program& table, state_block& state,
                      detail::thin_list<std::uint32_t>& changes) {
  const auto written = detail::channel_set{changes, table.transient_channels().size()};
  for (const auto c : table.transient_channels())
    if (!written.contains(c) && table.channels()[c]->update_empty(state) == changed::yes)
      changes.push_back(c);
}

} // namespace

/// A router sees the state that the step would produce if only its own node had written.
void detail::run_routers(const body_input& input, node_output& output) {
  const auto& node = input.table->node(input.node);
  if (node.branches.empty())
    return;
  // A plain function that has asked a question has returned a result that is discarded.
  if (input.services != nullptr && input.services->is_interrupted())
    return;
  if (input.is_applied ||
      (output.writes.empty() && !holds_transients(*input.table, *input.state))) {
    for (const auto& branch : node.branches)
      branch.router->route(input, *input.state, output);
    return;
  }
  SUPERSTEP_ASSERT(output.adopted == nullptr);
  // If no other task runs in this step, the state computed here is the next state. The barrier
  // adopts it from the output, so the writes are not needed again and may be moved from.
  const auto adopt = input.sole_task && !input.keep_writes;
  auto copies = adopt ? decltype(output.writes){} : output.writes;
  auto& own = adopt ? output.writes : copies;
  auto pointers = boost::container::small_vector<write*, 8>{};
  pointers.reserve(own.size());
  for (auto& w : own)
    pointers.push_back(&w);
  auto fresh = input.state->clone();
  const auto* const ns = input.unusual != nullptr ? input.unusual->ns : nullptr;
  auto ids = id_source{id_key_of(**input.config), ns != nullptr ? *ns : std::string_view{},
                       input.id_number};
  ids.begin_step(input.step);
  // the output is reused and may still hold the changes of another task
  output.adopted_changes.clear();
  auto applied = apply_in_order(*input.table, *fresh, {pointers.data(), pointers.size()}, ids,
                                output.adopted_changes);
  if (!applied)
    throw graph_error{run_error{
        applied.error().code, applied.error().text, node.name, input.step, node.name, 1, {}}};
  empty_transients(*input.table, *fresh, output.adopted_changes);
  for (const auto& branch : node.branches)
    branch.router->route(input, *fresh, output);
  if (input.sole_task)
    output.adopted = std::move(fresh);
}

namespace {

/// Takes the result of the body's coroutine. A command to the parent ends the body like an
/// exception and is then its result.
void take_result(const body_input& input, detail::body_task ended, node_output& out) {
  const auto& body = *input.table->node(input.node).body;
  try {
    body.finish(ended, input, out);
  } catch (const detail::called_parent& called) {
    out = {};
    if (!body.take_command(called.command(), input, called.child(), out))
      throw;
  }
}

template <class Advance>
bool guarded(const body_input& input, detail::node_body::outcome& out, std::exception_ptr& failed,
             Advance advance) {
  auto has_ended = false;
  try {
    advance();
    if (out.rest) {
      if (!out.rest.done())
        return false;
      take_result(input, std::move(out.rest), out.output);
    }
    SUPERSTEP_ASSERT(!out.output.has_ended); // the call ends once
    has_ended = out.output.has_ended = true;
    detail::run_routers(input, out.output);
    // the output is reused, possibly for a node of another front end
    out.output.for_routers.reset();
  } catch (...) { // user code may throw any type, and no exception may leave this function
    failed = std::current_exception();
    out.rest = {};
    if (!has_ended) // if only a router has failed, streams still show the writes of the body
      out.output = {};
  }
  return true;
}

} // namespace

bool detail::start_body(const body_input& input, detail::node_body::outcome& out,
                        execution_context& at, std::exception_ptr& failed) {
  return guarded(input, out, failed, [&] {
    if (const auto& body = input.table->node(input.node).body)
      body->run(input, out);
    if (out.rest)
      out.rest.start(at);
  });
}

bool detail::continue_body(const body_input& input, detail::node_body::outcome& out,
                           std::exception_ptr& failed) {
  return guarded(input, out, failed, [] {});
}

} // namespace superstep
