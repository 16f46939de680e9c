// SPDX-License-Identifier: Apache-2.0
// The JSON front end: compiles a json_graph to a program. json_layout.cpp converts between JSON
// objects and the slots that hold the values; json_channel.cpp makes the channels with a named
// rule, and json_rules.cpp contains the named reducers.
#include "graph_check.hpp"
#include "json_channel.hpp"
#include "json_layout.hpp"

#include <superstep/channels/kinds.hpp>
#include <superstep/runtime/detail/labels.hpp>
#include <superstep/runtime/detail/nested_run.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <algorithm>

namespace superstep {

namespace {

using detail::json_kind;
using detail::json_layout;
using single_place = slot_place<std::optional<json::value>>;

/// A node of a program, and the numbers of the channels that it reads.
struct program_node {
  const detail::program* table;
  std::uint32_t number;
  const std::vector<std::uint32_t>* reads;
};

void add_outcome(json_command&& c, const detail::program& table, const json_layout& layout,
                 node_output& out) {
  if (c.resume) [[unlikely]]
    detail::throw_resumes();
  // the parent resolves the names, because they are channels and nodes of its graph
  if (c.to_parent) {
    c.to_parent = false;
    out.to_parent = std::make_shared<const value>(std::move(c));
    return;
  }
  const auto take = [&](json::value&& update) {
    for (auto& w : layout.writes_of(std::move(update)))
      out.writes.push_back(std::move(w));
  };
  take(std::move(c.update));
  for (auto& update : c.more)
    take(std::move(update));
  for (auto& t : c.go_to) {
    if (t.input)
      table.send_to(out, t.to, value{std::move(*t.input)});
    else
      table.go_to(out, t.to);
  }
}

/// Adds the result of a body to the node's output. If the result is one update without targets, the
/// node's routers also see those members of the update that the node does not read.
void add_result(json_command&& c, const program_node& at, const json_layout& layout,
                node_output& out) {
  const auto is_plain = c.go_to.empty() && c.more.empty() && !c.to_parent;
  if (is_plain && !at.table->node(at.number).branches.empty())
    out.for_routers = layout.unread_members(c.update, *at.reads);
  add_outcome(std::move(c), *at.table, layout, out);
}

[[noreturn]] void throw_no_object(const json::value& given) {
  throw graph_error{graph_errc::invalid_update, "Expected an object, got " + to_text(given)};
}

/// The input of a coroutine body, which was created for this call and must live until the body
/// ends.
struct kept_input final : detail::kept_arguments {
  explicit kept_input(json::value v) : input(std::move(v)) {}
  const json::value input;
};

/// Returns the payload of a Send.
const json::value& payload_of(const body_input& given) {
  if (!given.payload->holds<json::value>())
    detail::throw_wrong_input(given);
  return given.payload->as<json::value>();
}

/// Returns the input of a node: the payload of its Send, or else the channels that it reads.
json::value node_input(const body_input& given, const json_layout& layout,
                       const std::vector<std::uint32_t>& reads) {
  if (given.payload)
    return payload_of(given);
  return layout.input_of(given, *given.state, reads);
}

/// A node whose body is a function of the application.
class json_node final : public detail::node_body {
public:
  json_node(detail::json_body_function f, bool gives_commands, const json_layout& layout,
            std::shared_ptr<std::vector<std::uint32_t>> reads)
      : f_{std::move(f)}, gives_commands_{gives_commands}, layout_{&layout},
        reads_{std::move(reads)} {}

  void run(const body_input& given, outcome& out) const override {
    auto kept = std::make_unique<kept_input>(node_input(given, *layout_, *reads_));
    if (!given.payload) // a payload is not part of the state
      layout_->check(kept->input);
    auto now = json_command{};
    if (auto rest = f_(given, json_channels{*layout_, given}, kept->input, now))
      out.rest = {std::move(rest), std::move(kept)};
    else
      add_result(std::move(now), place_of(given), *layout_, out.output);
  }
  void finish(detail::body_task& ended, const body_input& given, node_output& out) const override {
    add_result(ended.take<json_command>(), place_of(given), *layout_, out);
  }
  bool take_command(const value& command, const body_input& given, const std::string&,
                    node_output& out) const override {
    add_outcome(json_command{command.as<json_command>()}, *given.table, *layout_, out);
    return true;
  }

  json::value show_input(const body_input& given) const override {
    return node_input(given, *layout_, *reads_);
  }
  bool gives_commands() const override { return gives_commands_; }
  const value_form* input_form() const override { return form_of<json::value>(); }

private:
  [[nodiscard]] program_node place_of(const body_input& given) const {
    return {given.table, given.node, reads_.get()};
  }

  detail::json_body_function f_;
  bool gives_commands_;
  const json_layout* layout_;
  std::shared_ptr<std::vector<std::uint32_t>> reads_;
};

/// Runs a subgraph. Writes the subgraph's output, or applies the command that one of its nodes has
/// returned to the parent graph.
task<node_output> finish_nested(detail::call_services* services, compiled_json_graph graph,
                                json::value given, program_node at, const json_layout& layout) {
  if (!given.is_object())
    throw_no_object(given);
  auto writes = detail::adapter_of(graph).input(given.get_object());
  auto running = detail::run_nested(services, detail::program_of(graph), std::move(writes));
  auto ended = co_await running;
  auto out = node_output{};
  if (ended.to_parent)
    add_outcome(json_command{ended.to_parent->as<json_command>()}, *at.table, layout, out);
  else
    add_result({.update = ended.state ? json::value(detail::adapter_of(graph).read(*ended.state))
                                      : json::value{}},
               at, layout, out);
  co_return out;
}

/// A node that runs a compiled JSON graph.
class json_subgraph final : public detail::node_body {
public:
  json_subgraph(compiled_json_graph graph, const json_layout& layout,
                std::shared_ptr<std::vector<std::uint32_t>> reads)
      : graph_{std::move(graph)}, layout_{&layout}, reads_{std::move(reads)} {}

  void run(const body_input& given, outcome& out) const override {
    // Without managed channels (such as remaining_steps), because a subgraph computes its own.
    auto input = given.payload ? payload_of(given) : layout_->read(*given.state, *reads_);
    if (!given.payload)
      layout_->check(input);
    const auto at = program_node{given.table, given.node, reads_.get()};
    out.rest = finish_nested(given.services, graph_, std::move(input), at, *layout_);
  }
  json::value show_input(const body_input& given) const override {
    return node_input(given, *layout_, *reads_);
  }
  /// Whether a node of the subgraph returns commands: they may be meant for the parent.
  bool gives_commands() const override {
    return std::ranges::any_of(detail::program_of(graph_)->nodes(),
                               [](const auto& n) { return n->body->gives_commands(); });
  }
  const value_form* input_form() const override { return form_of<json::value>(); }
  detail::program_ptr nested() const override { return detail::program_of(graph_); }

private:
  compiled_json_graph graph_;
  const json_layout* layout_;
  std::shared_ptr<std::vector<std::uint32_t>> reads_;
};

/// A router whose function returns node names, or labels that a path map maps to node names.
class json_branch final : public detail::router {
public:
  json_branch(detail::json_router_function f, const json_layout& layout, json_path_map map,
              std::shared_ptr<std::vector<std::uint32_t>> reads)
      : f_{std::move(f)}, layout_{&layout}, map_{std::move(map)}, reads_{std::move(reads)} {}

  void route(const body_input& given, const state_block& fresh, node_output& out) const override {
    auto chosen = json_command{};
    auto seen = layout_->input_of(given, fresh, *reads_);
    if (const auto* more = static_cast<const json::object*>(out.for_routers.get()))
      for (const auto& [key, v] : *more)
        seen.emplace(key, v); // does not replace a channel that the node reads
    chosen.go_to = f_(given, std::move(seen));
    for (auto& t : chosen.go_to) {
      if (!t.input)
        t.to = node_for(std::move(t.to));
      if (t.to == detail::start_node || t.to.empty())
        throw graph_error{graph_errc::bad_destination,
                          "a branch returned START or an empty name: return the name of a node, or "
                          "END"};
    }
    add_outcome(std::move(chosen), *given.table, *layout_, out);
  }

private:
  [[nodiscard]] std::string node_for(std::string label) const {
    if (map_.empty())
      return label;
    const auto found =
        std::find_if(map_.begin(), map_.end(), [&](const auto& p) { return p.first == label; });
    if (found == map_.end())
      detail::throw_unknown_label(label);
    return found->second;
  }

  detail::json_router_function f_;
  const json_layout* layout_;
  json_path_map map_;
  std::shared_ptr<std::vector<std::uint32_t>> reads_;
};

} // namespace

json::object json_channels::read() const {
  return layout_->input_of(*given_, *given_->state, {});
}

using json_adapter = detail::state_adapter<json::object>;

/// Converts the input of a run. A text or a list is an input for the channel `messages`, as for
/// agents. A text becomes one message of the user.
write_list json_adapter::input(const json::value& given) const {
  if (given.is_object())
    return input(given.get_object());
  if (given.is_null())
    return {};
  const auto is_messages = given.is_string() || given.is_array();
  if (!is_messages || !layout->numbers.contains("messages"))
    throw_no_object(given);
  auto values = json::object{};
  values["messages"] =
      given.is_array() ? given : json::value{json::object{{"role", "user"}, {"content", given}}};
  return input(values);
}

std::shared_ptr<const void> json_adapter::seen_by_branches(const json::object& values) {
  return std::make_shared<const json::object>(values);
}

/// Converts the input of a run. Members for channels that are not input channels are dropped, as in
/// LangGraph.
write_list json_adapter::input(const json::object& values) const {
  auto writes = layout->writes_of(values);
  std::erase_if(writes, [&](const write& w) {
    return !std::ranges::binary_search(layout->input, w.channel);
  });
  return writes;
}

bool json_adapter::is_output(const std::vector<std::uint32_t>& channels) const {
  return std::ranges::any_of(
      channels, [&](std::uint32_t c) { return std::ranges::binary_search(layout->output, c); });
}

write_list json_adapter::edit(const json::object& values) const {
  return layout->writes_of(values);
}

json::object json_adapter::read(const state_block& state) const {
  if (layout->output.empty())
    return {};
  return layout->read(state, layout->output);
}

json::object json_adapter::state(const state_block& state) const {
  return layout->read(state, {});
}

/// Converts the writes of a task to JSON. An object cannot contain a key twice; therefore several
/// writes to one channel result in a list of objects.
json::value json_adapter::update(write_list writes) const {
  if (writes.empty())
    return nullptr;
  auto object = json::object{};
  auto list = json::array{};
  for (const auto& w : writes) {
    const auto& name = layout->channels[w.channel].name;
    object.insert_or_assign(name, layout->value_of(w));
    list.push_back(json::object{{name, layout->value_of(w)}});
  }
  if (object.size() == writes.size())
    return object;
  return list;
}

void json_adapter::add_command(json_command&& c, const detail::program& table,
                               node_output& out) const {
  add_outcome(std::move(c), table, *layout, out);
}

json_graph::json_graph(json_graph_options options) : layout_{std::make_shared<json_layout>()} {
  layout_->ignore_unknown = options.ignore_unknown_channels;
  checks_inputs_ = options.check_inputs;
  // The program keeps the layout alive, because nodes and branches refer to it.
  builder_.set_state(
      [layout = std::shared_ptr<const json_layout>{layout_}] { return layout->blank.copy(); });
}

/// Each channel gets a slot with the channel's number. Therefore each call must add one entry to
/// the layout, to the builder and to the slots.
json_graph& json_graph::channel(std::string name, std::string_view rule) {
  if (auto found = detail::find_json_rule(rule))
    return channel(std::move(name), std::move(found->reduce), std::move(found->initial),
                   failed_fold::leaves_value);
  const auto number = layout_->channels.size();
  auto made = detail::make_json_channel(name, rule, number);
  if (!made) {
    faults_.push_back({graph_errc::invalid_graph, {}, detail::unknown_rule(name, rule)});
    made = detail::make_json_channel(name, "last", number); // later faults can refer to the name
  }
  // first, because it throws if the graph is compiled; the compiled graph shares the layout
  builder_.add_channel(std::move(made->channel));
  layout_->blank.add(std::move(made->slot));
  layout_->numbers.emplace(name, static_cast<std::uint32_t>(number));
  layout_->channels.push_back({std::move(name), made->kind});
  if (made->kind == detail::json_kind::managed)
    layout_->managed.emplace_back(static_cast<std::uint32_t>(number), rule == "is_last_step");
  return *this;
}

template <class Reducer>
void json_graph::add_folding(std::string name, Reducer reduce, std::optional<json::value> initial) {
  using folding = binary_operator_aggregate<single_place, json::value, Reducer>;
  using slot = slot_block::slot_of<std::optional<json::value>>;
  const auto number = layout_->channels.size();
  const auto added = builder_.add_channel( // first; see channel()
      std::make_unique<folding>(name, single_place{number}, std::move(reduce)));
  const auto at = layout_->blank.add(std::make_unique<slot>(std::move(initial)));
  SUPERSTEP_ASSERT(at == number && added == number);
  layout_->numbers.emplace(name, static_cast<std::uint32_t>(number));
  layout_->channels.push_back({std::move(name), json_kind::folded});
}

namespace {

/// Wraps a reducer that leaves the value unchanged if it throws. The channel then needs no copy to
/// undo an update.
template <class Reducer>
struct careful {
  static constexpr bool leaves_value_on_failure = true;
  template <class... Ids>
    requires std::invocable<const Reducer&, json::value&, json::value&&, Ids&...>
  void operator()(json::value& into, json::value&& more, Ids&... ids) const {
    reduce(into, std::move(more), ids...);
  }
  Reducer reduce;
};

} // namespace

json_graph& json_graph::channel(std::string name, json_reducer reduce,
                                std::optional<json::value> initial, failed_fold on_throw) {
  if (on_throw == failed_fold::leaves_value)
    add_folding(std::move(name), careful<json_reducer>{std::move(reduce)}, std::move(initial));
  else
    add_folding(std::move(name), std::move(reduce), std::move(initial));
  return *this;
}

json_graph& json_graph::channel(std::string name, json_naming_reducer reduce,
                                std::optional<json::value> initial, failed_fold on_throw) {
  if (on_throw == failed_fold::leaves_value)
    add_folding(std::move(name), careful<json_naming_reducer>{std::move(reduce)},
                std::move(initial));
  else
    add_folding(std::move(name), std::move(reduce), std::move(initial));
  return *this;
}

void json_graph::add_node(std::string name, detail::json_body_function body, bool gives_commands,
                          json_node_options options) {
  auto reads = std::make_shared<std::vector<std::uint32_t>>();
  add_body(std::move(name),
           std::make_unique<json_node>(std::move(body), gives_commands, *layout_, reads), reads,
           std::move(options));
}

json_graph& json_graph::add(std::string name, compiled_json_graph subgraph,
                            json_node_options options) {
  auto reads = std::make_shared<std::vector<std::uint32_t>>();
  add_body(std::move(name), std::make_unique<json_subgraph>(std::move(subgraph), *layout_, reads),
           reads, std::move(options));
  return *this;
}

/// Converts the options of a node, except for the channels that it reads.
node_options
json_graph::options_of(json_node_options options,
                       const std::shared_ptr<const std::vector<std::uint32_t>>& reads) const {
  auto node = node_options{};
  node.destinations = std::move(options.destinations);
  node.metadata = std::move(options.metadata);
  node.defer = options.defer;
  node.retry = std::move(options.retry);
  node.timeout = options.timeout;
  node.tags = std::move(options.tags);
  if (options.on_failure)
    node.on_failure = [f = std::move(options.on_failure), layout = layout_.get(),
                       reads](const body_input& given,
                              const run_error& why) -> std::optional<node_output> {
      auto instead = f(node_input(given, *layout, *reads), why);
      if (!instead)
        return std::nullopt;
      auto out = node_output{};
      add_outcome(*std::move(instead), *given.table, *layout, out);
      return out;
    };
  if (options.cache) {
    node.cache.emplace();
    node.cache->ttl = options.cache->ttl;
    if (options.cache->key)
      node.cache->key = [key = std::move(options.cache->key), layout = layout_.get(),
                         reads](const body_input& given) {
        return key(node_input(given, *layout, *reads));
      };
  }
  return node;
}

void json_graph::add_body(std::string name, std::unique_ptr<detail::node_body> body,
                          std::shared_ptr<std::vector<std::uint32_t>> reads,
                          json_node_options options) {
  reads_.push_back({name, std::move(options.reads), reads});
  builder_.add_node(std::move(name), std::move(body), false, options_of(std::move(options), reads));
}

void json_graph::add_handler(std::string name, detail::json_body_function body, bool gives_commands,
                             json_node_options options) {
  auto reads = std::make_shared<std::vector<std::uint32_t>>();
  reads_.push_back({detail::handler_name(name), std::move(options.reads), reads});
  builder_.add_error_handler(
      name, std::make_unique<json_node>(std::move(body), gives_commands, *layout_, reads), false,
      options_of(std::move(options), reads));
}

json_graph& json_graph::input(std::vector<std::string> channels) {
  input_ = std::move(channels);
  return *this;
}

json_graph& json_graph::output(std::vector<std::string> channels) {
  output_ = std::move(channels);
  return *this;
}

json_graph& json_graph::edge(std::string from, std::string to) {
  builder_.add_edge({std::move(from)}, std::move(to));
  return *this;
}

json_graph& json_graph::sequence(std::vector<std::string> nodes) {
  builder_.add_sequence(std::move(nodes));
  return *this;
}

json_graph& json_graph::join(std::vector<std::string> from, std::string to) {
  if (from.size() == 1 &&
      from.front() == detail::start_node) // add_edge() would treat a single source as a plain edge
    faults_.push_back({graph_errc::invalid_graph, from.front(), detail::start_in_join(to)});
  builder_.add_edge(std::move(from), std::move(to));
  return *this;
}

void json_graph::add_branch(std::string from, detail::json_router_function route,
                            json_path_map map) {
  auto reads = std::make_shared<std::vector<std::uint32_t>>();
  branch_reads_.push_back({from, {}, reads});
  auto router = std::make_unique<json_branch>(std::move(route), *layout_, map, std::move(reads));
  builder_.add_branch(std::move(from), std::move(router), std::move(map));
}

/// Resolves channel names to numbers. Called by compile(), when all channels are known.
void json_graph::resolve_reads() {
  for (auto& [node, names, numbers] : reads_) {
    for (const auto& name : names) {
      if (const auto found = layout_->numbers.find(name); found != layout_->numbers.end()) {
        numbers->push_back(found->second);
        continue;
      }
      auto text = "node '" + node;
      text.append("' reads '").append(name).append("', which is not a channel of the graph");
      faults_.push_back({graph_errc::invalid_graph, node, std::move(text)});
    }
    std::sort(numbers->begin(), numbers->end());
  }
  const auto see = [&](const std::optional<std::vector<std::string>>& given,
                       std::vector<std::uint32_t>& seen, std::string_view which) {
    // Without a list of names, all channels except managed ones are used.
    for (auto i = std::uint32_t{0}; !given && i < layout_->channels.size(); ++i)
      if (layout_->channels[i].kind != json_kind::managed)
        seen.push_back(i);
    for (const auto& name : given.value_or(std::vector<std::string>{})) {
      const auto found = layout_->numbers.find(name);
      if (found == layout_->numbers.end() ||
          layout_->channels[found->second].kind == json_kind::managed)
        faults_.push_back({graph_errc::invalid_graph,
                           {},
                           "json_graph::" + std::string{which} + "() names '" + name +
                               "', which is not a channel of the graph or is read-only"});
      else
        seen.push_back(found->second);
    }
    std::ranges::sort(seen);
  };
  see(input_, layout_->input, "input");
  see(output_, layout_->output, "output");
  // The routers of a node see the channels that the node reads.
  for (auto& branch : branch_reads_) {
    const auto found = std::ranges::find(reads_, branch.node, &node_reads::node);
    if (found != reads_.end())
      *branch.numbers = *found->numbers;
  }
}

json_graph& json_graph::shape(std::string channel, const json::value& written) {
  if (auto shape = json_shape::parse(written))
    shapes_.emplace_back(std::move(channel), std::move(*shape));
  else
    faults_.push_back(
        {graph_errc::invalid_graph,
         {},
         "the shape of channel '" + channel + "' is invalid at " + shape.error().text});
  return *this;
}

void json_graph::resolve_shapes() {
  for (const auto& [channel, shape] : shapes_) {
    if (!layout_->numbers.contains(channel))
      faults_.push_back(
          {graph_errc::invalid_graph,
           {},
           "json_graph::shape() names '" + channel + "', which is not a channel of the graph"});
  }
  if (checks_inputs_)
    layout_->shapes = std::move(shapes_);
}

/// Reports the faults found by this front end together with those that the builder finds.
compiled_json_graph json_graph::compile(compile_options options) {
  resolve_reads();
  resolve_shapes();
  auto table = detail::program_ptr{};
  try {
    table = builder_.compile(std::move(options), layout_->output, layout_);
  } catch (const compile_error& e) {
    faults_.insert(faults_.end(), e.faults().begin(), e.faults().end());
  }
  if (!faults_.empty())
    throw compile_error{std::move(faults_)};
  return detail::graph_access::make<compiled_json_graph::state_type>(std::move(table), {layout_});
}

} // namespace superstep
