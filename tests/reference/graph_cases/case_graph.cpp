// SPDX-License-Identifier: Apache-2.0
// Builds the graphs of a recorded case with the JSON front end.
#include "graph_cases/case_graph.hpp"

#include "graph_cases/message_rule.hpp"

#include <superstep/checkpoint/store.hpp>
#include <superstep/checkpoint/write_cache.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace superstep::graph_cases {

namespace {

using names = std::set<std::string, std::less<>>;

[[noreturn]] void throw_wrong_type(const json::value& v) {
  throw std::invalid_argument{"a value of the wrong type: " + to_text(v)};
}

void unite(json::value& into, json::value&& more) {
  if (!more.is_array())
    throw_wrong_type(more);
  auto items = std::map<std::string, json::value>{};
  for (auto* list : {&into, &more})
    for (auto& item : list->as_array())
      items.emplace(to_canonical_text(item), std::move(item));
  auto out = json::array{};
  for (auto& [key, item] : items)
    out.push_back(std::move(item));
  into = std::move(out);
}

void add_channel(json_graph& g, const std::string& name, const json::object& spec) {
  static const auto rules =
      std::map<std::string, std::string, std::less<>>{{"last", "last"},
                                                      {"int_add", "add"},
                                                      {"str_cat", "concat"},
                                                      {"list_cat", "append"},
                                                      {"max", "max"},
                                                      {"dict_merge", "merge"},
                                                      {"any", "any"},
                                                      {"remaining_steps", "remaining_steps"},
                                                      {"is_last_step", "is_last_step"}};
  const auto kind = text_member(spec, "kind");
  const auto* guard = spec.if_contains("guard");
  const auto is_guarded = guard == nullptr || is_true(*guard);
  if (const auto rule = rules.find(kind); rule != rules.end())
    g.channel(name, rule->second);
  else if (kind == "ephemeral")
    g.channel(name, is_guarded ? "ephemeral" : "any");
  else if (kind == "untracked")
    g.channel(name, is_guarded ? "untracked" : "untracked_any");
  else if (kind == "topic")
    g.channel(name, is_true(member(spec, "accumulate")) ? "accumulating_topic" : "topic");
  else if (kind == "set_union")
    g.channel(name, unite, json::array{});
  else if (kind == "keep_first")
    g.channel(name, [](json::value&, json::value&&) {});
  else if (kind == "messages")
    g.channel(name, add_json_messages, json::array{});
  else
    throw unsupported{"the channel kind '" + kind + "'"};
}

std::vector<std::string> texts(const json::value& list) {
  auto out = std::vector<std::string>{};
  if (list.is_array())
    for (const auto& v : list.get_array())
      out.emplace_back(v.as_string());
  return out;
}

/// The channels of a graph and the nodes that see them.
struct channel_views {
  names existing; ///< private channels only where a node reads them
  std::vector<std::string> open;
  names managed;
};

channel_views view_channels(const json::object& graph) {
  auto out = channel_views{};
  auto read = names{};
  for (const auto& n : graph.at("nodes").as_array())
    for (auto& name : texts(member(n.as_object(), "reads")))
      read.insert(std::move(name));
  for (const auto& [key, spec] : graph.at("channels").as_object()) {
    const auto kind = text_member(spec.as_object(), "kind");
    const auto is_private = is_true(member(spec.as_object(), "private"));
    if (!is_private || read.contains(std::string_view{key}))
      out.existing.emplace(key);
    if (!is_private)
      out.open.emplace_back(key);
    if (kind == "remaining_steps" || kind == "is_last_step")
      out.managed.emplace(key);
  }
  return out;
}

/// Whether an exception class of the cases is, or derives from, another one.
bool is_a(std::string type, const std::string& wanted) {
  static const auto above = std::map<std::string, std::string>{{"CaseChildError", "CaseError"}};
  while (type != wanted) {
    if (type == "Exception")
      return false;
    const auto next = above.find(type);
    type = next == above.end() ? "Exception" : next->second;
  }
  return true;
}

/// Maps an error of superstep to the exception class that cases use for it.
struct own_class {
  std::string name;
  bool is_retried; ///< whether a retry policy without a list of classes retries it
};

own_class class_of(const std::error_code& code) {
  if (code == graph_errc::invalid_update || code == make_error_code(channel_errc::invalid_update))
    return {"Exception", true};
  if (code == graph_errc::bad_destination)
    return {"ValueError", false};
  if (code == graph_errc::recursion_limit)
    return {"RuntimeError", false};
  return {"Exception", false};
}

bool is_retried(const std::exception_ptr& cause, const std::vector<std::string>& wanted) {
  const auto fits = [&](const std::string& type, bool by_default) {
    return wanted.empty()
               ? by_default
               : std::ranges::any_of(wanted, [&](const auto& w) { return is_a(type, w); });
  };
  try {
    std::rethrow_exception(cause);
  } catch (const case_error& e) {
    return fits(e.type(), e.type() != "ValueError" && e.type() != "RuntimeError");
  } catch (const unsupported&) {
    return false;
  } catch (const std::system_error& e) {
    const auto own = class_of(e.code());
    return fits(own.name, own.is_retried);
  }
}

std::vector<retry_policy> policies_of(const json::value& spec) {
  auto out = std::vector<retry_policy>{};
  if (spec.is_array()) {
    for (const auto& one : spec.get_array())
      for (auto& p : policies_of(one))
        out.push_back(std::move(p));
  } else if (spec.is_object()) {
    auto& policy = out.emplace_back();
    if (const auto* most = spec.get_object().if_contains("max_attempts"))
      policy.max_attempts = static_cast<std::uint32_t>(most->as_int64());
    policy.initial_interval = {};
    policy.jitter = false;
    policy.retry_on = [wanted = texts(member(spec.get_object(), "retry_on"))](
                          const std::exception_ptr& cause) { return is_retried(cause, wanted); };
  }
  return out;
}

/// Builds the graphs of one case: subgraphs before the graphs that contain them.
class builder {
public:
  builder(const json::object& test_case, std::shared_ptr<execution_counts> counts)
      : case_{test_case}, counts_{std::move(counts)} {
    if (is_true(member(test_case, "checkpointer")))
      checkpointer_ = case_checkpointer::make();
    if (is_true(member(test_case, "store")))
      store_ = std::make_shared<memory_store>();
  }

  case_graphs build_all() {
    for (const auto& [name, spec] : case_.at("graphs").as_object())
      build(std::string{name});
    return {library_, store_, checkpointer_};
  }

private:
  const compiled_json_graph& build(const std::string& name);
  void add_node(json_graph& g, const std::string& graph, const json::object& node,
                const channel_views& channels);

  const json::object& case_;
  std::shared_ptr<execution_counts> counts_;
  std::shared_ptr<graph_library> library_ = std::make_shared<graph_library>();
  std::shared_ptr<case_checkpointer> checkpointer_;
  std::shared_ptr<memory_store> store_;
  std::shared_ptr<memory_cache> cache_ = std::make_shared<memory_cache>();
};

void builder::add_node(json_graph& g, const std::string& graph, const json::object& node,
                       const channel_views& channels) {
  const auto name = text_member(node, "name");
  auto options = json_node_options{};
  options.defer = is_true(member(node, "defer"));
  options.retry = policies_of(member(node, "retry"));
  options.reads = node.contains("reads") ? texts(node.at("reads")) : channels.open;
  if (const auto& cache = member(node, "cache"); !cache.is_null()) {
    options.cache.emplace();
    if (const auto& key = member(cache.as_object(), "key"); !key.is_null())
      options.cache->key = [key](const json::value& input) {
        auto in = scope{};
        in.input = &input;
        return to_canonical_text(evaluate(key, in));
      };
  }
  if (node.contains("subgraph")) {
    g.add(name, build(text_member(node, "subgraph")), std::move(options));
    return;
  }
  const auto program = std::make_shared<const node_program>(
      node_program{graph + '/' + name, node.at("ops").as_array(), counts_, library_});
  g.add(
      name,
      [program](const json::value& in, runtime rt) { return program->run(in, std::move(rt)); },
      std::move(options));
}

json_path_map path_map_of(const json::object& branch) {
  auto out = json_path_map{};
  const auto& map = member(branch, "path_map");
  if (map.is_object())
    for (const auto& [label, to] : map.get_object())
      out.emplace_back(label, to.as_string());
  for (const auto& name : texts(map))
    out.emplace_back(name, name);
  return out;
}

void add_branches(json_graph& g, const json::object& graph) {
  auto taken = std::set<std::pair<std::string, std::string>>{};
  auto number = 0;
  for (const auto& each : graph.at("branches").as_array()) {
    const auto& branch = each.as_object();
    const auto source = text_member(branch, "source");
    auto name = "branch" + std::to_string(number++);
    if (branch.contains("name"))
      name = text_member(branch, "name");
    if (!taken.emplace(source, name).second)
      throw compile_error{
          {{graph_errc::invalid_graph, source,
            "Branch with name `" + name + "` already exists for node `" + source + "`"}}};
    g.branch(
        source,
        [path = member(branch, "path")](const json::value& state, const run_config& config) {
          auto in = scope{};
          in.input = &state;
          in.context = config.context.get_if<json::object>();
          return targets_of(evaluate(path, in));
        },
        path_map_of(branch));
  }
}

std::vector<std::string> breakpoints_of(const json::value& spec) {
  if (spec.is_string())
    return {std::string{spec.get_string()}};
  return texts(spec);
}

const compiled_json_graph& builder::build(const std::string& name) {
  if (const auto built = library_->find(name); built != library_->end())
    return built->second;
  const auto& graph = case_.at("graphs").at(name).as_object();
  const auto channels = view_channels(graph);
  auto g = json_graph{{.ignore_unknown_channels = true}};
  for (const auto& [key, spec] : graph.at("channels").as_object())
    if (channels.existing.contains(std::string_view{key}))
      add_channel(g, key, spec.as_object());
  for (const auto& n : graph.at("nodes").as_array())
    add_node(g, name, n.as_object(), channels);
  for (const auto& e : graph.at("edges").as_array()) {
    const auto& from = e.at(0);
    if (from.is_array())
      g.join(texts(from), std::string{e.at(1).as_string()});
    else
      g.edge(std::string{from.as_string()}, std::string{e.at(1).as_string()});
  }
  add_branches(g, graph);
  const auto seen = [&](std::string_view which) {
    auto out = graph.contains(which) ? texts(graph.at(which)) : channels.open;
    std::erase_if(out, [&](const auto& n) { return channels.managed.contains(n); });
    return out;
  };
  g.input(seen("input")).output(seen("output"));
  auto options = compile_options{};
  options.name = name;
  options.ignore_unknown_targets = true;
  options.interrupt_before = breakpoints_of(member(graph, "interrupt_before"));
  options.interrupt_after = breakpoints_of(member(graph, "interrupt_after"));
  if (name == "main") {
    options.checkpointer = checkpointer_;
    options.store = store_;
    options.cache = cache_;
  } else if (const auto* own = graph.if_contains("checkpointer"); own && own->is_bool()) {
    options.persistence = own->get_bool() ? persistence::per_thread : persistence::none;
  }
  return library_->emplace(name, g.compile(std::move(options))).first->second;
}

} // namespace

const compiled_json_graph& case_graphs::of(const detail::program* table) const {
  for (const auto& [name, graph] : *all)
    if (detail::program_of(graph).get() == table)
      return graph;
  return main();
}

case_graphs build(const json::object& test_case, std::shared_ptr<execution_counts> counts) {
  return builder{test_case, std::move(counts)}.build_all();
}

} // namespace superstep::graph_cases
