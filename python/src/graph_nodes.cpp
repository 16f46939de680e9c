// SPDX-License-Identifier: Apache-2.0
// Bodies and routers of Python graphs. One visit of a thread with the GIL executes everything that
// a task has to do in Python: the function of the node, the reducers of the channels that it
// writes, and its routers.
#include "graph_nodes.hpp"

#include "api.hpp"
#include "convert.hpp"
#include "failure.hpp"
#include "python_context.hpp"
#include "runtime/giving_up.hpp"
#include "types.hpp"

#include <superstep/runtime/detail/nested_run.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace superstep::python {

namespace {

/// The destinations that the routers of a node have chosen, one entry for each branch; passed to
/// the routers of the engine as node_output::for_routers.
using chosen_targets = std::vector<python_targets>;

/// Calls a function that uses Python, on a thread without the GIL. Its exceptions become failures
/// of the node.
/// @param where the beginning of the texts of errors that C++ code has found
template <class F>
auto with_gil(const std::string& where, F f) -> decltype(f()) {
  const auto locked = nb::gil_scoped_acquire{};
  try {
    return f();
  } catch (nb::python_error& e) {
    throw python_failure{e.value()};
  } catch (const nb::builtin_exception& e) {
    throw std::invalid_argument{where + e.what()};
  }
}

const value_ref* payload_of(const body_input& given) {
  if (given.payload == nullptr)
    return nullptr;
  if (!given.payload->holds<value_ref>())
    detail::throw_wrong_input(given);
  return &given.payload->as<value_ref>();
}

/// An activation that ends with the routers of a node.
class routing_activation : public activation {
public:
  /// Returns what the code has written and chosen. Throws graph_error for an unknown destination.
  node_output take_output() {
    auto out = node_output{};
    for (auto& w : writes_)
      out.writes.push_back(std::move(w));
    add_targets(targets_, *table_, out);
    if (has_branches_)
      out.for_routers = std::make_shared<const chosen_targets>(std::move(chosen_));
    return out;
  }
  const run_config& config() const override { return *config_; }

protected:
  routing_activation(python_function f, layout_ref layout, branches_ref branches,
                     const body_input& given)
      : activation{std::move(f), [given] { return given.make_runtime(); }},
        layout_{std::move(layout)}, values_{layout_->values_of(*given.state)},
        branches_{std::move(branches)}, config_{*given.config}, table_{given.table},
        is_sole_{given.sole_task}, has_branches_{!branches_->empty()} {}

  [[nodiscard]] bool is_routing() const noexcept { return routed_ != not_routed; }
  /// Calls the first router with the state after the writes. Returns as accept().
  [[nodiscard]] nb::object start_routing() {
    if (is_sole_ || has_branches_)
      layout_->combine(writes_, values_);
    routed_ = 0;
    return call_next();
  }
  /// Takes the result of a router, and calls the next one. Returns as accept().
  [[nodiscard]] nb::object take_route(nb::handle result) {
    const auto& branch = (*branches_)[routed_++];
    chosen_.push_back(read_targets(result, *layout_, branch.labels));
    return call_next();
  }
  void drop() noexcept override {
    branches_.reset();
    values_.clear();
  }

  layout_ref layout_;
  graph_layout::values values_; // at the start; while routers run, with the own writes
  std::vector<write> writes_;
  python_targets targets_;

private:
  static constexpr auto not_routed = ~std::size_t{0};

  nb::object call_next() {
    if (routed_ == branches_->size())
      return {};
    const auto& branch = (*branches_)[routed_];
    const auto runtime = branch.route.takes_runtime ? nb::cast(call_reference{this}) : nb::object();
    return call_router(branch, layout_->read(values_), runtime);
  }

  branches_ref branches_;
  std::shared_ptr<const run_config> config_;
  const detail::program* table_;
  bool is_sole_;
  bool has_branches_;
  std::size_t routed_ = not_routed; // number of routers that were called
  chosen_targets chosen_;
};

using node_ref = std::shared_ptr<const python_node>;

/// One activation of a node. Shares the node, because Python code may outlive its run and the
/// graph.
class node_activation final : public routing_activation {
public:
  node_activation(layout_ref layout, node_ref node, const body_input& given)
      : routing_activation{node->function, std::move(layout), node->branches, given},
        node_{std::move(node)} {
    if (const auto* const payload = payload_of(given))
      payload_ = *payload;
  }

protected:
  nb::object call(const python_function& f) override {
    const auto given =
        payload_ != nullptr ? payload_->get() : nb::object(layout_->read(values_, node_->reads));
    const auto function = f.callable.get();
    if (!function.is_valid())
      throw std::logic_error{"the graph was deleted while it ran"};
    if (f.takes_runtime)
      return nb::borrow(function)(given, nb::arg("runtime") = nb::cast(call_reference{this}));
    auto* const made = call_with_one(function.ptr(), given.ptr());
    if (made == nullptr)
      throw nb::python_error();
    return nb::steal(made);
  }

  nb::object accept(nb::handle result) override {
    if (is_routing())
      return take_route(result);
    read_result(result);
    return start_routing();
  }

  void drop() noexcept override {
    routing_activation::drop();
    node_.reset();
    payload_.reset();
  }

private:
  void read_result(nb::handle result) {
    if (PyList_Check(result.ptr()) || PyTuple_Check(result.ptr()))
      for (auto item : result)
        read_one(item);
    else
      read_one(result);
  }
  void read_one(nb::handle result) {
    if (!is_a(result, types().command)) {
      layout_->add_writes(result, writes_);
      return;
    }
    if (!nb::object(result.attr("resume")).is_none())
      throw nb::value_error("a node must not return a Command with resume");
    layout_->add_writes(result.attr("update"), writes_);
    for (auto& t : read_targets(result.attr("goto"), *layout_))
      targets_.push_back(std::move(t));
  }

  node_ref node_;
  value_ref payload_;
};

/// The calls of the routers behind a node that is a graph.
class child_activation final : public routing_activation {
public:
  /// @param branches of the node; not empty
  /// @param writes what the graph has written
  child_activation(layout_ref layout, branches_ref branches, const body_input& given,
                   write_list writes)
      : routing_activation{branches->front().route, std::move(layout), branches, given} {
    for (auto& w : writes)
      writes_.push_back(std::move(w));
  }

protected:
  nb::object call(const python_function&) override { return start_routing(); }
  nb::object accept(nb::handle result) override { return take_route(result); }
};

task<node_output> run_activation(boost::intrusive_ptr<routing_activation> made) {
  auto waiting = await_callback<call_end>(
      [at = made.get()](completer<call_end> done) { at->start(std::move(done)); });
  auto end = co_await waiting;
  if (end.failure)
    std::rethrow_exception(end.failure);
  if (end.is_interrupted) { // a body that returns would run its routers
    auto giving = superstep::detail::giving_up{};
    co_await giving;
  }
  co_return made->take_output();
}

class function_body final : public detail::node_body {
public:
  function_body(layout_ref layout, python_node node)
      : layout_{std::move(layout)}, node_{std::make_shared<const python_node>(std::move(node))} {}

  void run(const body_input& given, outcome& out) const override {
    out.rest = run_activation(new node_activation{layout_, node_, given});
  }
  const value_form* input_form() const override { return sent_form(); }

private:
  layout_ref layout_;
  node_ref node_;
};

/// Returns the channels of a graph that its subgraph has too, as the input of the subgraph.
write_list shared_channels(const graph_layout& parent, const graph_layout& child,
                           const graph_layout::values& values) {
  auto out = write_list{};
  for (const auto& [name, number] : parent.numbers)
    if (const auto found = child.numbers.find(name);
        found != child.numbers.end() && values[number] != nullptr)
      out.push_back({found->second, false, value{value_write{values[number]}}});
  return out;
}

/// Returns the input of a Send as the input of a subgraph.
write_list sent_channels(const graph_layout& child, const value_ref& sent) {
  auto writes = std::vector<write>{};
  with_gil("the input of the Send: ", [&] { child.add_writes(sent->get(), writes); });
  return {std::make_move_iterator(writes.begin()), std::make_move_iterator(writes.end())};
}

/// Runs a subgraph. The failure of one of its reducers is a failure of the node, which may be
/// retried and handled.
task<detail::nested_outcome> run_subgraph(detail::call_services* services,
                                          detail::program_ptr program, write_list input) {
  auto running = detail::run_nested(services, std::move(program), std::move(input));
  try {
    auto ended = co_await running;
    co_return ended;
  } catch (const reducer_failure& e) {
    throw python_failure{e};
  }
}

/// Runs a subgraph, and returns the values at its end of the channels that its parent has too.
task<write_list> run_child(detail::call_services* services, layout_ref parent, layout_ref child,
                           detail::program_ptr program, write_list input) {
  auto running = run_subgraph(services, program, std::move(input));
  auto ended = co_await running;
  if (ended.to_parent)
    throw detail::called_parent{std::move(ended.to_parent), program->name()};
  auto out = write_list{};
  if (!ended.state)
    co_return out;
  const auto last = child->values_of(*ended.state);
  for (const auto& [name, number] : child->numbers)
    if (const auto found = parent->numbers.find(name);
        found != parent->numbers.end() && last[number] != nullptr)
      out.push_back({found->second, false, value{value_write{last[number]}}});
  co_return out;
}

/// Gives values of a subgraph without a checkpointer the stored form that its parent needs. A value
/// that has none fails the node, with the key and the type.
void add_stored_forms(const graph_layout& parent, write_list& writes) {
  const auto is_ready = [](const write& w) {
    return w.content.as<value_write>().content->stored() != nullptr;
  };
  if (std::ranges::all_of(writes, is_ready))
    return;
  with_gil("", [&] {
    for (auto& w : writes)
      if (!is_ready(w)) {
        const auto object = w.content.as<value_write>().content->get();
        const auto where = "state['" + parent.channels[w.channel].name + "']";
        w.content = value{value_write{parent.make_value(object, where)}};
      }
  });
}

/// Runs a subgraph, and then the routers behind it.
task<node_output> run_child_node(body_input given, layout_ref parent, layout_ref child,
                                 detail::program_ptr program, branches_ref branches,
                                 write_list input) {
  auto running =
      run_child(given.services, parent, std::move(child), std::move(program), std::move(input));
  auto writes = co_await running;
  if (parent->stores_values)
    add_stored_forms(*parent, writes);
  if (!branches->empty()) {
    auto routing = run_activation(
        new child_activation{std::move(parent), std::move(branches), given, std::move(writes)});
    co_return co_await routing;
  }
  auto out = node_output{};
  for (auto& w : writes)
    out.writes.push_back(std::move(w));
  co_return out;
}

class subgraph_body final : public detail::node_body {
public:
  subgraph_body(layout_ref layout, layout_ref child, detail::program_ptr program,
                branches_ref branches)
      : layout_{std::move(layout)}, child_{std::move(child)}, program_{std::move(program)},
        branches_{std::move(branches)} {}

  void run(const body_input& given, outcome& out) const override {
    const auto* const sent = payload_of(given);
    auto input = sent != nullptr
                     ? sent_channels(*child_, *sent)
                     : shared_channels(*layout_, *child_, layout_->values_of(*given.state));
    out.rest = run_child_node(given, layout_, child_, program_, branches_, std::move(input));
  }
  const value_form* input_form() const override { return sent_form(); }
  bool gives_commands() const override { return false; }
  detail::program_ptr nested() const override { return program_; }

private:
  layout_ref layout_;
  layout_ref child_;
  detail::program_ptr program_;
  branches_ref branches_;
};

class branch_router final : public detail::router {
public:
  branch_router(layout_ref layout, branches_ref branches, std::size_t number)
      : layout_{std::move(layout)}, branches_{std::move(branches)}, number_{number} {}

  void route(const body_input& given, const state_block& fresh, node_output& out) const override {
    if (const auto* const chosen = static_cast<const chosen_targets*>(out.for_routers.get())) {
      add_targets((*chosen)[number_], *given.table, out);
      return;
    }
    const auto* const run = (*given.config)->context.get_if<python_run>();
    if (run != nullptr && run->table == given.table && given.node == detail::program::no_node &&
        number_ < run->first.size()) {
      add_targets(run->first[number_], *given.table, out);
      return;
    }
    // the start of a run on a saved thread, or an edit of its state
    const auto targets = with_gil("", [&] {
      auto context = std::optional<context_scope>{};
      if (run != nullptr)
        context.emplace(**given.config);
      const auto& branch = (*branches_)[number_];
      const auto state = layout_->read(layout_->values_of(fresh));
      const auto result = call_router(branch, state);
      if (Py_TYPE(result.ptr()) == reinterpret_cast<PyTypeObject*>(types().coroutine)) {
        result.attr("close")(); // otherwise Python warns that it was never awaited
        throw nb::value_error(
            "the router is a coroutine function, which only runs can call: an edit of a state as "
            "the node of this router is not possible");
      }
      return read_targets(result, *layout_, branch.labels);
    });
    add_targets(targets, *given.table, out);
  }

private:
  layout_ref layout_;
  branches_ref branches_;
  std::size_t number_;
};

} // namespace

nb::object call_router(const python_branch& branch, nb::handle state, nb::handle runtime) {
  const auto function = branch.route.callable.get();
  if (!function.is_valid())
    throw std::logic_error{"the graph was deleted while it ran"};
  if (!branch.route.takes_runtime)
    return nb::borrow(function)(state);
  if (!runtime.is_valid())
    throw nb::value_error(
        "the router has a parameter `runtime`, which only runs have: an edit of a "
        "state as the node of this router is not possible");
  return nb::borrow(function)(state, nb::arg("runtime") = runtime);
}

std::unique_ptr<const detail::node_body> make_body(layout_ref layout, python_node node) {
  return std::make_unique<function_body>(std::move(layout), std::move(node));
}

std::function<std::string(const body_input&)>
make_cache_key(layout_ref layout, std::vector<std::uint32_t> reads, shared_object key) {
  return [layout = std::move(layout), reads = std::move(reads),
          key = std::move(key)](const body_input& given) -> std::string {
    const auto* const payload = payload_of(given);
    auto values = graph_layout::values{};
    if (payload == nullptr)
      values = layout->values_of(*given.state);
    return with_gil("", [&]() -> std::string {
      const auto input =
          payload != nullptr ? (*payload)->get() : nb::object(layout->read(values, reads));
      const auto scope = engine_scope{"the key of a CachePolicy"};
      if (!key)
        return to_canonical_text(to_stored(input, "the input of the node", types().pack_key));
      const auto made = nb::borrow(key.get())(input);
      if (PyBytes_Check(made.ptr()))
        return {PyBytes_AsString(made.ptr()), static_cast<std::size_t>(PyBytes_Size(made.ptr()))};
      return std::string{text_of(made, "the key of a CachePolicy")};
    });
  };
}

std::unique_ptr<const detail::node_body> make_subgraph_body(layout_ref layout, layout_ref child,
                                                            detail::program_ptr program,
                                                            branches_ref branches) {
  return std::make_unique<subgraph_body>(std::move(layout), std::move(child), std::move(program),
                                         std::move(branches));
}

std::unique_ptr<const detail::router> make_router(layout_ref layout, branches_ref branches,
                                                  std::size_t number) {
  return std::make_unique<branch_router>(std::move(layout), std::move(branches), number);
}

} // namespace superstep::python
