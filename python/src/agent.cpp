// SPDX-License-Identifier: Apache-2.0
// Agents with Python tools: builds them from an agent file or from options, starts their runs, and
// converts results and events.
#include "agent.hpp"

#include "agents/agent_graph.hpp"
#include "checkpoint/open_database.hpp"
#include "convert.hpp"
#include "failure.hpp"
#include "process.hpp"
#include "python_context.hpp"
#include "python_hook.hpp"
#include "python_run.hpp"
#include "python_tool.hpp"
#include "row_window.hpp"
#include "stores.hpp"
#include "stream.hpp"
#include "thread_state.hpp"

#include <superstep/agents/create_agent.hpp>
#include <superstep/base/stored_form.hpp>
#include <superstep/checkpoint/postgres.hpp>
#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/messages/message_json.hpp>

#include <utility>

#include <nanobind/stl/string.h>

namespace superstep::python {

namespace {

/// Reads the options of create_agent() from a dict.
class option_reader {
public:
  explicit option_reader(nb::dict from) : from_{std::move(from)} {}

  [[nodiscard]] nb::object get(const char* name) const {
    auto* const found = PyDict_GetItemString(from_.ptr(), name);
    return found == nullptr || found == Py_None ? nb::object{} : nb::borrow(found);
  }
  [[nodiscard]] std::string text(const char* name) const {
    const auto found = get(name);
    return found.is_valid() ? std::string{text_of(found, name)} : std::string{};
  }
  [[nodiscard]] std::vector<std::string> names(const char* name) const {
    const auto found = get(name);
    return found.is_valid() ? read_names(found, name) : std::vector<std::string>{};
  }

private:
  nb::dict from_;
};

/// Returns an event of `updates`. The update of a node that has written nothing is None.
nb::object updated_fields(const update_event& e) {
  if (e.interrupts)
    return interrupts_object(*e.interrupts);
  auto fields = nb::dict();
  if (const auto* const written = e.wrote<&chat_state::messages>()) {
    auto list = nb::list();
    for (const auto& m : *written)
      list.append(to_python(to_json(m)));
    fields["messages"] = list;
  }
  if (const auto* const response = e.wrote<&chat_state::structured_response>())
    fields["structured_response"] = to_python(*response);
  return update_object(e.node, e.writes.empty() ? nb::object(nb::none()) : nb::object(fields),
                       e.is_cached);
}

/// Returns an event as (mode, payload).
nb::object event_object(event<chat_state> e) {
  if (const auto* const values = std::get_if<values_event<chat_state>>(&e)) {
    auto state = values->state ? state_object(*values->state) : nb::object(nb::dict());
    return nb::make_tuple("values", values_object(std::move(state), values->interrupts));
  }
  if (const auto* const update = std::get_if<update_event>(&e))
    return nb::make_tuple("updates", updated_fields(*update));
  if (const auto* const message = std::get_if<message_event>(&e))
    return nb::make_tuple("messages", streamed_message(*message));
  if (const auto* const custom = std::get_if<custom_event>(&e))
    return nb::make_tuple("custom", to_python(custom->data));
  return nb::none();
}

struct packed_interrupt {
  std::string id;
  json::value value;
};
BOOST_DESCRIBE_STRUCT(packed_interrupt, (), (id, value))

/// The parts of a result that pickle stores.
struct packed_result {
  std::int64_t index = 0;
  run_status status = run_status::finished;
  std::uint64_t steps = 0;
  chat_state state;
  std::vector<packed_interrupt> interrupts;
};
BOOST_DESCRIBE_STRUCT(packed_result, (), (index, status, steps, state, interrupts))

std::string faults_of(const agent_building& built) {
  return "the agent file has errors:\n" + superstep::to_text(built.faults);
}

} // namespace

detail::run_input read_agent_input(const compiled_graph<chat_state>& graph, nb::handle input) {
  if (input.is_none())
    return detail::input_for(graph, superstep::resume{});
  if (PyTuple_Check(input.ptr()))
    return detail::input_for(graph, read_resume(input[0]));
  return detail::input_for(graph, read_messages(input));
}

bool has_checkpoint(const compiled_graph<chat_state>& graph, const std::string& thread_id) {
  return detail::get_state(detail::program_of(graph), {thread_id}).checkpoint != nullptr;
}

nb::object agent_result::text() const {
  const auto& messages = result_.state.messages;
  if (messages.empty() || messages.back().type != message_type::ai)
    return to_python(std::string_view{});
  return to_python(std::string_view{superstep::text_of(messages.back())});
}

nb::list agent_result::messages() const {
  auto out = nb::list();
  for (const auto& m : result_.state.messages)
    out.append(to_python(to_json(m)));
  return out;
}

std::string agent_result::messages_json() const {
  auto out = std::string{};
  append_json(out, result_.state.messages);
  return out;
}

nb::object agent_result::structured_response() const {
  return to_python(result_.state.structured_response);
}

nb::dict agent_result::usage() const {
  const auto& usage = result_.state.usage;
  auto out = nb::dict();
  out["input_tokens"] = usage.input_tokens;
  out["output_tokens"] = usage.output_tokens;
  out["total_tokens"] = usage.total_tokens;
  return out;
}

nb::object agent_result::take_error() {
  const auto failed = std::exchange(result_.error, std::nullopt);
  return failed ? exception_of(*failed) : nb::object(nb::none());
}

bool agent_result::has(const std::string& key) const noexcept {
  return key == "messages" ||
         (key == "structured_response" && !result_.state.structured_response.is_null());
}

nb::list agent_result::keys() const {
  auto out = nb::list();
  for (const auto* key : {"messages", "structured_response"})
    if (has(key))
      out.append(key);
  return out;
}

nb::dict agent_result::as_dict() const {
  auto out = nb::dict();
  for (auto key : keys())
    out[key] = at(nb::cast<std::string>(key));
  return out;
}

nb::object agent_result::at(const std::string& key) const {
  if (!has(key))
    throw nb::key_error(key.c_str());
  return key == "messages" ? nb::object(messages()) : structured_response();
}

nb::object agent_result::get(const std::string& key, nb::object otherwise) const {
  return has(key) ? at(key) : std::move(otherwise);
}

nb::object agent_result::repr() const {
  constexpr auto shown_max = Py_ssize_t{60};
  auto shown = text();
  if (PyUnicode_GetLength(shown.ptr()) > shown_max)
    shown = nb::steal(PyUnicode_Substring(shown.ptr(), 0, shown_max)) + nb::str("…");
  return nb::str("<superstep.AgentResult {}, {} messages, text={!r}>")
      .attr("format")(status(), result_.state.messages.size(), shown);
}

std::string agent_result::packed() const {
  auto parts = packed_result{index, result_.status, result_.stats.steps, result_.state, {}};
  for (const auto& i : result_.interrupts)
    parts.interrupts.push_back({i.id, i.value});
  auto out = std::string{};
  write_stored(out, parts);
  return out;
}

agent_result agent_result::from_packed(std::string_view text) {
  auto parts = packed_result{};
  const auto value = parse_json(text);
  const auto read = value ? read_stored(*value, parts, "AgentResult") : value.error();
  if (!read)
    throw nb::value_error(("this is not a pickled AgentResult: " + read.error().text).c_str());
  auto from = run_result<chat_state>{};
  from.state = std::move(parts.state);
  from.status = parts.status;
  from.stats.steps = parts.steps;
  for (auto& i : parts.interrupts)
    from.interrupts.push_back({std::move(i.id), std::move(i.value)});
  auto out = agent_result{std::move(from)};
  out.index = parts.index;
  return out;
}

tool_list native_agent::make_tools(nb::list specs) {
  auto out = tool_list{};
  for (auto spec : specs) {
    auto f = python_function{functions_.emplace_back(spec.attr("_callable")),
                             nb::cast<bool>(spec.attr("is_async")),
                             nb::cast<bool>(spec.attr("takes_runtime"))};
    out.push_back(make_python_tool(spec, std::move(f)));
  }
  return out;
}

native_agent::native_agent(const std::string& text, const std::string& name,
                           const std::string& folder, const std::vector<std::string>& overrides,
                           nb::list tools, nb::list middleware,
                           std::shared_ptr<superstep::checkpointer> checkpointer,
                           std::shared_ptr<store> memory) {
  const auto io = process::get().io();
  auto built = agent_building{};
  {
    const auto unlocked = nb::gil_scoped_release{}; // shared limits connect to a database
    built = build_agent(read_agent_text(text, name, folder, overrides), io);
  }
  if (!built.agent)
    throw nb::value_error(faults_of(built).c_str());
  auto all = built.agent->tools();
  for (auto& tool : make_tools(std::move(tools)))
    all.push_back(std::move(tool));
  auto given = superstep::detail::agent_graph_options{};
  given.middleware = read_middleware(middleware, functions_, std::make_shared<model_table>());
  translated([&] {
    const auto whole = superstep::agent{built.agent->spec(), built.agent->model(), std::move(all),
                                        built.agent->sub_agents()};
    if (!memory && !whole.spec().store.empty())
      memory = std::make_shared<shared_store>(superstep::detail::open_store(whole.spec().store));
    given.checkpointer = std::move(checkpointer);
    given.memory = std::move(memory);
    if (given.checkpointer || given.memory || !given.middleware.empty())
      set_graph(superstep::detail::make_agent_graph(whole.spec(), whole.model(), whole.tools(),
                                                    std::move(given)));
    else
      set_graph(whole.graph());
    recursion_limit_ = whole.spec().recursion_limit;
    input_ = whole.spec().input;
  });
}

native_agent::native_agent(nb::dict options, nb::list tools,
                           std::shared_ptr<superstep::checkpointer> checkpointer,
                           std::shared_ptr<store> memory) {
  const auto given = option_reader{options};
  auto made = agent_options<chat_state>{};
  made.name = given.text("name");
  auto models = std::make_shared<model_table>();
  made.model = models->get(nb::handle(options["model"]), &functions_);
  made.tools = make_tools(std::move(tools));
  if (auto prompt = given.text("prompt"); !prompt.empty())
    made.prompt = std::move(prompt);
  if (const auto response = given.get("response"); response.is_valid())
    made.response = response_format{.schema = to_json_object(response, "response")};
  made.return_direct = given.names("return_direct");
  made.interrupt_before = given.names("interrupt_before");
  made.interrupt_after = given.names("interrupt_after");
  if (const auto hooks = given.get("middleware"); hooks.is_valid())
    made.middleware = read_middleware(hooks, functions_, models);
  made.checkpointer = std::move(checkpointer);
  made.store = std::move(memory);
  translated([&] { set_graph(create_agent(std::move(made))); });
}

void native_agent::set_graph(compiled_graph<chat_state> made) {
  graph_ = std::move(made);
  kept_ = kept_in_child{graph_};
}

started_run native_agent::start(nb::handle input, nb::dict options, delivery to,
                                const std::vector<std::string>& modes) const {
  const auto mode = read_stream_modes(modes);
  auto sink = std::shared_ptr<detail::event_sink>{};
  if (mode != stream_mode::none)
    sink = std::make_shared<queue_sink>(to, [graph = *graph_](detail::run_event e) {
      return event_object(
          detail::event_from(std::move(e), detail::adapter_of(graph), detail::program_of(graph)));
    });
  auto config = config_of(std::move(options));
  auto given = read_agent_input(*graph_, input);
  const auto live = count_run();
  auto done = [to = std::move(to), live, graph = *graph_](detail::raw_result raw) mutable {
    auto result = std::make_shared<run_result<chat_state>>(
        detail::typed_result(detail::adapter_of(graph), std::move(raw)));
    live->end();
    to.queue->put(to.tag, [result] { return nb::cast(agent_result{std::move(*result)}); });
  };
  return translated([&] {
    auto engine = process::get().runs();
    const auto unlocked = nb::gil_scoped_release{};
    const auto used = std::move(engine); // released before the GIL is taken again
    return started_run{detail::engine_access::start(*used, detail::program_of(*graph_),
                                                    std::move(given), std::move(config),
                                                    std::move(done), mode, std::move(sink)),
                       live};
  });
}

bool native_agent::has_thread(const std::string& thread_id) const {
  return translated([&] {
    const auto unlocked = nb::gil_scoped_release{};
    return has_checkpoint(*graph_, thread_id);
  });
}

namespace {

nb::object values_of(const state_snapshot& from) {
  const auto* const state = from.as<chat_state>();
  return state != nullptr ? state_object(*state) : nb::object(nb::dict());
}

/// Reads the values that update_state() writes: a dict with messages and structured_response.
update<chat_state> read_update(nb::handle from) {
  auto out = update<chat_state>{};
  for (auto [key, value] : nb::borrow<nb::dict>(from)) {
    const auto name = text_of(key, "a key of the values");
    if (name == "messages")
      out.add(set<&chat_state::messages>(read_messages(value)));
    else if (name == "structured_response")
      out.add(set<&chat_state::structured_response>(to_json(value, "structured_response")));
    else
      throw nb::value_error(("the state of an agent has no key '" + std::string{name} +
                             "'; use messages and structured_response")
                                .c_str());
  }
  return out;
}

} // namespace

nb::object native_agent::get_state(nb::dict options) const {
  return read_state(detail::program_of(*graph_), std::move(options), values_of);
}

nb::list native_agent::get_state_history(nb::dict options, std::size_t limit) const {
  return read_state_history(detail::program_of(*graph_), std::move(options), limit, values_of);
}

std::string native_agent::update_state(nb::dict options, nb::handle values,
                                       const std::string& as_node) const {
  const auto config = read_run_options(options);
  auto change = state_update<chat_state>{};
  change.as_node = as_node;
  if (!values.is_none())
    change.values = read_update(values);
  return write_state(detail::program_of(*graph_), config,
                     detail::edit_for(*graph_, std::move(change)));
}

run_config native_agent::config_of(nb::dict options) const {
  auto out = read_run_options(options);
  if (!options.contains("recursion_limit"))
    out.recursion_limit = recursion_limit_;
  if (auto context = caller_context())
    out.context = std::make_shared<const python_run>(std::move(context));
  return out;
}

std::shared_ptr<row_window> native_agent::open_rows(nb::dict options, row_window_options window,
                                                    result_queue_ptr to) const {
  if (window.concurrency < 1)
    throw nb::value_error("concurrency must be at least 1");
  window.config = config_of(std::move(options));
  return std::make_shared<row_window>(*graph_, std::move(window), std::move(to));
}

nb::object native_agent::messages_of_row(nb::dict row) const {
  if (!input_)
    return nb::none();
  const auto columns = to_json_object(row, "row");
  const auto filled = input_->fill([&](std::string_view name) -> std::optional<std::string> {
    const auto* const found = columns.if_contains(name);
    if (found == nullptr)
      return std::nullopt;
    return found->is_string() ? std::string{found->get_string()} : superstep::to_text(*found);
  });
  if (!filled)
    throw nb::value_error(filled.error().text.c_str());
  auto out = nb::list();
  for (const auto& m : *filled)
    out.append(to_python(to_json(m)));
  return out;
}

} // namespace superstep::python
