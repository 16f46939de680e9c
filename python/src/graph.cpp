// SPDX-License-Identifier: Apache-2.0
// Builds Python graphs, starts their runs, and reads and edits their threads.
#include "graph.hpp"

#include "convert.hpp"
#include "failure.hpp"
#include "graph_nodes.hpp"
#include "process.hpp"
#include "python_context.hpp"
#include "run_options.hpp"
#include "stores.hpp"
#include "stream.hpp"
#include "thread_state.hpp"
#include "types.hpp"

#include <utility>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace superstep::python {

namespace {

std::chrono::milliseconds milliseconds_of(nb::handle seconds) {
  return std::chrono::milliseconds{static_cast<std::int64_t>(nb::cast<double>(seconds) * 1000)};
}

/// Returns the predicate of a superstep.RetryPolicy.
/// @param policy null if it has no condition of its own
std::function<bool(const std::exception_ptr&)> make_retry_on(shared_object policy,
                                                             bool accepts_all) {
  return [policy = std::move(policy), accepts_all](const std::exception_ptr& cause) {
    try {
      std::rethrow_exception(cause);
    } catch (const python_failure& e) {
      if (!policy)
        return accepts_all || e.is_worth_a_retry();
      const auto locked = nb::gil_scoped_acquire{};
      const auto scope = engine_scope{"the retry_on of a RetryPolicy"};
      try {
        return nb::cast<bool>(policy.get().attr("matches")(e.get()));
      } catch (nb::python_error& raised) { // the failure stays that of the node
        raised.discard_as_unraisable("RetryPolicy.retry_on");
        return false;
      }
    } catch (...) {
      return is_worth_a_retry(cause);
    }
  };
}

/// Reads a superstep.RetryPolicy.
retry_policy read_retry(nb::handle from, std::vector<shared_object>& functions) {
  auto out = retry_policy{};
  out.max_attempts = nb::cast<std::uint32_t>(from.attr("max_attempts"));
  out.initial_interval = milliseconds_of(from.attr("initial_interval"));
  out.backoff_factor = nb::cast<double>(from.attr("backoff_factor"));
  out.max_interval = milliseconds_of(from.attr("max_interval"));
  out.jitter = nb::cast<bool>(from.attr("jitter"));
  const auto has_condition = !nb::object(from.attr("retry_on")).is_none();
  out.retry_on = make_retry_on(has_condition ? functions.emplace_back(from) : shared_object{},
                               nb::cast<bool>(from.attr("retry_all")));
  return out;
}

/// Reads the options of a node.
/// @param functions receives the Python objects that the options use
node_options read_node_options(nb::dict from, std::vector<shared_object>& functions) {
  auto out = node_options{};
  if (from.contains("retry"))
    for (auto policy : nb::list(from["retry"]))
      out.retry.push_back(read_retry(policy, functions));
  if (from.contains("timeout"))
    out.timeout = timeout_policy{.run = milliseconds_of(nb::handle(from["timeout"]))};
  if (from.contains("defer"))
    out.defer = nb::cast<bool>(from["defer"]);
  if (from.contains("destinations"))
    out.destinations = read_names(nb::handle(from["destinations"]), "destinations");
  if (from.contains("metadata"))
    out.metadata = to_json_object(nb::handle(from["metadata"]), "metadata");
  return out;
}

const char* status_of(const detail::raw_result& raw) noexcept {
  return raw.error ? "failed" : raw.interrupts ? "interrupted" : "finished";
}

/// Returns a result as (status, state, interrupts, error, steps).
nb::object result_object(const graph_layout& layout, const detail::raw_result& raw) {
  auto state = nb::dict();
  auto error = raw.error ? exception_of(*raw.error) : nb::object(nb::none());
  if (raw.state) {
    try {
      state = layout.read(layout.values_of(*raw.state));
    } catch (const reducer_failure& e) {
      if (!raw.error)
        return nb::make_tuple("failed", nb::dict(), nb::list(), e.take(), raw.stats.steps);
    } catch (nb::python_error& e) { // a reducer raised SystemExit, for example
      if (!raw.error)
        return nb::make_tuple("failed", nb::dict(), nb::list(), nb::borrow(e.value()),
                              raw.stats.steps);
    }
  }
  return nb::make_tuple(status_of(raw), state,
                        raw.interrupts ? to_python(*raw.interrupts) : nb::list(), error,
                        raw.stats.steps);
}

/// Returns the writes of a node as a dict. If it has written a key more than once, as a list with a
/// dict for each write; if it has written none, as None. As `map_output_updates` in LangGraph.
nb::object written_object(const graph_layout& layout, const write_list& writes) {
  auto fields = nb::dict();
  auto each = nb::list();
  for (const auto& w : writes)
    if (const auto* const written = w.content.get_if<value_write>()) {
      const auto key = layout.channels[w.channel].key.get();
      const auto inner = written->content->get();
      const auto object = w.overwrite ? nb::borrow(types().overwrite)(inner) : inner;
      fields[key] = object;
      auto one = nb::dict();
      one[key] = object;
      each.append(one);
    }
  if (nb::len(each) == 0)
    return nb::none();
  return nb::len(fields) == nb::len(each) ? nb::object(fields) : nb::object(each);
}

nb::object updates_object(const graph_layout& layout, const detail::run_event& e) {
  if (e.interrupts)
    return interrupts_object(*e.interrupts);
  return update_object(
      e.node, e.table == nullptr ? written_object(layout, e.writes) : nb::object(nb::none()),
      e.is_cached);
}

/// Returns an event as (mode, payload).
nb::object event_object(const graph_layout& layout, const detail::run_event& e) {
  switch (e.mode) {
  case stream_mode::values:
    return nb::make_tuple("values",
                          values_object(layout.read(layout.values_of(*e.state)), e.interrupts));
  case stream_mode::updates:
    return nb::make_tuple("updates", updates_object(layout, e));
  case stream_mode::custom:
    return nb::make_tuple("custom", to_python(e.data));
  default: {
    auto event = message_event{};
    event.node = e.node;
    event.step = e.step;
    event.message = e.message;
    return nb::make_tuple("messages", streamed_message(event));
  }
  }
}

} // namespace

native_graph::native_graph(graph_services services)
    : layout_{std::make_shared<graph_layout>()}, services_{std::move(services)} {
  const auto& checkpointer = services_.checkpointer;
  layout_->stores_values = checkpointer != nullptr && checkpointer->needs_stored_forms();
  builder_.set_state([layout = layout_ref{layout_}] { return layout->blank.copy(); });
}

shared_object native_graph::keep(nb::handle function) {
  return functions_.emplace_back(function);
}

void native_graph::channel(const std::string& name, nb::object reducer, nb::object initial,
                           bool has_initial) {
  auto of = graph_layout::entry{};
  of.name = name;
  auto* key = to_python(std::string_view{name}).release().ptr(); // which may contain a zero
  PyUnicode_InternInPlace(&key);
  of.key = shared_object{nb::steal(key)};
  of.rule = reducer.is_none() ? value_rule::last : value_rule::reduce;
  if (!reducer.is_none())
    of.reducer = std::make_shared<python_reducer>(python_reducer{keep(reducer), name});
  auto first = value_ref{};
  if (has_initial) {
    first = layout_->make_value(initial, "the initial value of '" + name + "'");
    first->set_copied();
  }
  const auto number = builder_.add_channel(make_value_channel(
      name, static_cast<std::uint32_t>(layout_->channels.size()), of.rule, of.reducer));
  layout_->blank.add(std::make_unique<slot_block::slot_of<value_ref>>(std::move(first)));
  layout_->numbers.emplace(name, number);
  layout_->channels.push_back(std::move(of));
}

void native_graph::node(const std::string& name, nb::object function, bool is_async,
                        bool takes_runtime, nb::dict options) {
  auto made = python_node{{keep(function), is_async, takes_runtime}, {}, {}};
  if (options.contains("reads"))
    for (const auto& channel : read_names(nb::handle(options["reads"]), "reads")) {
      const auto found = layout_->numbers.find(channel);
      if (found == layout_->numbers.end())
        throw nb::value_error(
            ("node '" + name + "' reads '" + channel + "', which is not a key of the state")
                .c_str());
      made.reads.push_back(found->second);
    }
  auto& branches = branches_[name];
  if (!branches)
    branches = std::make_shared<std::vector<python_branch>>();
  made.branches = branches;
  auto read = read_node_options(options, functions_);
  if (options.contains("cache")) {
    const auto policy = nb::handle(options["cache"]);
    const auto key = nb::object(policy.attr("key"));
    const auto ttl = nb::object(policy.attr("ttl"));
    read.cache.emplace();
    read.cache->key =
        make_cache_key(layout_, made.reads, key.is_none() ? shared_object{} : keep(key));
    if (!ttl.is_none())
      read.cache->ttl = milliseconds_of(ttl);
  }
  builder_.add_node(name, make_body(layout_, std::move(made)), false, std::move(read));
}

void native_graph::error_handler(const std::string& node, nb::object function, bool is_async,
                                 bool takes_runtime) {
  auto made = python_node{{keep(function), is_async, takes_runtime}, {}, {}};
  made.branches = std::make_shared<const std::vector<python_branch>>();
  builder_.add_error_handler(node, make_body(layout_, std::move(made)), false, {});
}

void native_graph::subgraph(const std::string& name, nb::object graph, nb::dict options) {
  const auto& child = nb::cast<const native_graph&>(graph);
  keep(graph); // the collector finds the functions of the subgraph through its object
  auto& branches = branches_[name];
  if (!branches)
    branches = std::make_shared<std::vector<python_branch>>();
  builder_.add_node(name, make_subgraph_body(layout_, child.layout_, child.program_, branches),
                    false, read_node_options(options, functions_));
}

void native_graph::edge(std::vector<std::string> from, std::string to) {
  builder_.add_edge(std::move(from), std::move(to));
}

void native_graph::branch(const std::string& from, nb::object route, bool is_async,
                          bool takes_runtime, nb::dict labels) {
  auto& branches = branches_[from];
  if (!branches)
    branches = std::make_shared<std::vector<python_branch>>();
  auto made = python_branch{{keep(route), is_async, takes_runtime}, {}};
  auto declared = std::vector<std::pair<std::string, std::string>>{};
  for (auto [label, node] : labels) {
    auto text = PyBool_Check(label.ptr()) ? std::string{label.ptr() == Py_True ? "true" : "false"}
                                          : std::string{text_of(label, "a label of a branch")};
    auto to = std::string{text_of(node, "the node of a label")};
    declared.emplace_back(text, to);
    made.labels.emplace(std::move(text), std::move(to));
  }
  branches->push_back(std::move(made));
  builder_.add_branch(from, make_router(layout_, branches, branches->size() - 1),
                      std::move(declared));
}

void native_graph::compile(nb::dict options) {
  auto made = compile_options{};
  made.checkpointer = services_.checkpointer;
  made.store = services_.store;
  made.cache = services_.cache;
  made.name = nb::cast<std::string>(options["name"]);
  made.interrupt_before = read_names(nb::handle(options["interrupt_before"]), "interrupt_before");
  made.interrupt_after = read_names(nb::handle(options["interrupt_after"]), "interrupt_after");
  translated([&] { program_ = builder_.compile(std::move(made)); });
}

detail::run_input native_graph::read_input(nb::handle input, python_run& chosen) const {
  if (input.is_none())
    return detail::resume_input(superstep::resume{});
  auto writes = std::vector<write>{};
  if (is_a(input, types().command)) {
    auto out = node_output{};
    layout_->add_writes(input.attr("update"), writes);
    for (auto& w : writes)
      out.writes.push_back(std::move(w));
    add_targets(read_targets(input.attr("goto"), *layout_), *program_, out);
    const auto answer = nb::object(input.attr("resume"));
    if (answer.is_none())
      return detail::command_input(std::move(out), {});
    return detail::command_input(std::move(out), read_resume(answer));
  }
  layout_->add_writes(input, writes);
  if (!services_.checkpointer) { // the state is known: it is a new one
    auto values = layout_->values_of(layout_->blank);
    layout_->combine(writes, values);
    chosen.table = program_.get();
    if (const auto found = branches_.find(std::string{detail::start_node});
        found != branches_.end())
      for (const auto& branch : *found->second)
        chosen.first.push_back(
            read_targets(call_router(branch, layout_->read(values)), *layout_, branch.labels));
  }
  return write_list{std::make_move_iterator(writes.begin()), std::make_move_iterator(writes.end())};
}

started_run native_graph::start(nb::handle input, nb::dict options, delivery to,
                                const std::vector<std::string>& modes) {
  auto config = read_run_options(options);
  auto chosen = std::make_shared<python_run>();
  auto given = translated([&] { return read_input(input, *chosen); });
  chosen->context = caller_context();
  if (!chosen->first.empty() || chosen->context)
    config.context = std::shared_ptr<const python_run>{std::move(chosen)};
  const auto layout = layout_ref{layout_};
  const auto mode = read_stream_modes(modes);
  if (superstep::includes(mode, stream_mode::messages))
    throw nb::value_error(
        "stream_mode: 'messages' is for agents; the nodes of a graph send events with "
        "emit(), which 'custom' yields");
  auto sink = std::shared_ptr<detail::event_sink>{};
  if (mode != stream_mode::none)
    sink = std::make_shared<queue_sink>(
        to, [layout](const detail::run_event& e) { return event_object(*layout, e); });
  const auto live = count_run();
  auto done = [to = std::move(to), live, layout,
               program = program_](detail::raw_result raw) mutable {
    auto result = std::make_shared<detail::raw_result>(std::move(raw));
    live->end();
    to.queue->put(to.tag, [layout, result] { return result_object(*layout, *result); });
  };
  return translated([&] {
    auto engine = process::get().runs();
    const auto unlocked = nb::gil_scoped_release{};
    const auto used = std::move(engine); // released before the GIL is taken again
    return started_run{detail::engine_access::start(*used, program_, std::move(given),
                                                    std::move(config), std::move(done), mode,
                                                    std::move(sink)),
                       live};
  });
}

nb::object native_graph::values_of(const state_snapshot& from) const {
  return from.state ? layout_->read(layout_->values_of(*from.state)) : nb::dict();
}

nb::object native_graph::get_state(nb::dict options) const {
  return read_state(program_, std::move(options), [this](const auto& s) { return values_of(s); });
}

nb::list native_graph::get_state_history(nb::dict options, std::size_t limit) const {
  return read_state_history(program_, std::move(options), limit,
                            [this](const auto& s) { return values_of(s); });
}

std::string native_graph::update_state(nb::dict options, nb::handle values,
                                       const std::string& as_node) {
  const auto config = read_run_options(options);
  auto edit = detail::state_edit{};
  edit.as_node = as_node;
  if (!values.is_none()) {
    auto writes = std::vector<write>{};
    layout_->add_writes(values, writes);
    edit.values.emplace(std::make_move_iterator(writes.begin()),
                        std::make_move_iterator(writes.end()));
  }
  return write_state(program_, config, edit);
}

std::string native_graph::mermaid() const {
  return program_->mermaid();
}

void add_graphs(nb::module_& m) {
  nb::class_<native_graph>(m, "Graph", nb::type_slots(collected_type<native_graph>::slots))
      .def(
          "__init__",
          [](native_graph* at, const saved_threads* threads, const store_handle* memory,
             const cache_handle* outputs) {
            auto services = graph_services{};
            if (threads != nullptr)
              services.checkpointer = threads->checkpointer;
            if (memory != nullptr)
              services.store = memory->store;
            if (outputs != nullptr)
              services.cache = outputs->cache;
            new (at) native_graph{std::move(services)};
          },
          nb::arg().none(), nb::arg().none(), nb::arg().none())
      .def("channel", &native_graph::channel, nb::arg(), nb::arg().none(), nb::arg().none(),
           nb::arg())
      .def("node", &native_graph::node)
      .def("error_handler", &native_graph::error_handler)
      .def("subgraph", &native_graph::subgraph)
      .def("edge", &native_graph::edge)
      .def("branch", &native_graph::branch)
      .def("compile", &native_graph::compile)
      .def(
          "start",
          [](native_graph& g, nb::handle input, nb::dict options, const result_source& to,
             std::int64_t tag, const std::vector<std::string>& modes) {
            return g.start(input, std::move(options), {to.queue, tag}, modes);
          },
          nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg())
      .def("get_state", &native_graph::get_state)
      .def("get_state_history", &native_graph::get_state_history)
      .def("update_state", &native_graph::update_state, nb::arg(), nb::arg().none(), nb::arg())
      .def("mermaid", &native_graph::mermaid);
}

} // namespace superstep::python
