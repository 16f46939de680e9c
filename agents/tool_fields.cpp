// SPDX-License-Identifier: Apache-2.0
// Reads the items of the key `tools` of agent files. build_agent.cpp creates the tools from these
// options.
#include "agents/tool_fields.hpp"

#include "agents/overrides.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <utility>

namespace superstep::detail {

namespace {

using options_variant = decltype(tool_spec::options);

// Each reader below reads the keys of one tool and checks required keys and ranges.

options_variant read_calculator(fields&, const std::string&) {
  return calculator_options{};
}

options_variant read_current_time(fields& at, const std::string&) {
  auto out = current_time_options{};
  at.text("default_zone", out.default_zone);
  return out;
}

options_variant read_http_get(fields& at, const std::string&) {
  auto out = http_get_options{};
  at.texts("allow_hosts", out.allow_hosts, 1)
      .number("max_bytes", out.max_bytes, 1)
      .duration("timeout_ms", out.timeout, 1);
  return out;
}

options_variant read_sqlite_query(fields& at, const std::string& folder) {
  auto out = sqlite_query_options{};
  at.required_text("path", out.path).number("max_rows", out.max_rows, 1);
  out.path = in_folder(folder, out.path);
  return out;
}

options_variant read_read_file(fields& at, const std::string& folder) {
  auto out = read_file_options{};
  at.required_text("root", out.root).number("max_bytes", out.max_bytes, 1);
  out.root = in_folder(folder, out.root);
  return out;
}

/// Reads the name of a tool. Accepts the names of OpenAI's API
/// (https://platform.openai.com/docs/api-reference/chat/create, tools.function.name), and dots,
/// because other servers and the tool protocols accept names such as `math.factorial`.
fields& read_tool_name(fields& at, std::string& into) {
  constexpr auto bytes_max = std::size_t{64};
  at.required_text("name", into);
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (into.size() > bytes_max)
    at.wrong("name", "has " + std::to_string(into.size()) +
                         " characters; model servers accept tool names of at most 64");
  else if (!std::ranges::all_of(into, is_allowed))
    at.wrong("name", "'" + into +
                         "' must consist of letters (a to z, A to Z), digits, '_', '-' and '.', "
                         "because model servers reject other tool names");
  return at;
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && name.find('=') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

/// Reads `env`. A list `[NAME]` passes variables on to the program. A mapping `{NAME: value}` sets
/// them; a null value passes the variable on.
void read_env(fields& at, command_options& into) {
  const auto node = at.take("env");
  if (!node.IsDefined() || node.IsNull())
    return;
  const auto refuse = [&] {
    at.wrong("env", "must be a list of names of variables, or a mapping of names to texts");
  };
  if (!node.IsSequence() && !node.IsMap())
    return refuse();
  for (const auto& item : node) {
    const auto& name = node.IsMap() ? item.first : item;
    if (!name.IsScalar() || !is_variable_name(name.Scalar()) ||
        (node.IsMap() && !item.second.IsScalar() && !item.second.IsNull()))
      return refuse();
    if (node.IsMap() && item.second.IsScalar())
      into.env_values.emplace_back(name.Scalar(), item.second.Scalar());
    else
      into.env_names.push_back(name.Scalar());
  }
}

void read_process_limits(fields& at, process_limits& into) {
  const auto node = at.take("limits");
  if (!node.IsDefined() || node.IsNull())
    return;
  constexpr auto memory_mb_max = std::int64_t{1} << 40U;
  auto keys = fields{node, at.path_of("limits"), at.faults()};
  auto memory_mb = std::uint64_t{0};
  auto cpu_s = std::optional<std::int64_t>{};
  keys.number("memory_mb", memory_mb, 1, memory_mb_max)
      .number("cpu_s", cpu_s, 1)
      .number("files", into.files, 4)
      .number("processes", into.processes, 1)
      .done();
  if (memory_mb > 0)
    into.memory_bytes = memory_mb << 20U;
  if (cpu_s)
    into.cpu = std::chrono::seconds{*cpu_s};
}

void read_sandbox(fields& at, const std::string& folder, command_sandbox& into) {
  const auto node = at.take("sandbox");
  if (!node.IsDefined() || node.IsNull())
    return;
  into.is_on = true;
  if (node.IsScalar()) {
    if (node.Scalar() != "bwrap")
      at.wrong("sandbox", "must be bwrap, or {bwrap: {network: false, writable: []}}");
    return;
  }
  auto outer = fields{node, at.path_of("sandbox"), at.faults()};
  const auto options = outer.take("bwrap");
  outer.done();
  if (!options.IsDefined())
    return at.wrong("sandbox", "must be bwrap, or {bwrap: {network: false, writable: []}}");
  if (options.IsNull())
    return;
  auto keys = fields{options, outer.path_of("bwrap"), at.faults()};
  keys.flag("network", into.has_network).texts("writable", into.writable, 0).done();
  for (auto& path : into.writable)
    path = std::filesystem::absolute(in_folder(folder, path)).lexically_normal().string();
}

/// Reads `on_failure`, the treatment of workers that fail.
void read_on_failure(fields& at, command_options& into) {
  auto word = std::string{};
  at.text("on_failure", word);
  if (word == "answer")
    into.answers_failures = true;
  else if (!word.empty() && word != "fail")
    at.wrong("on_failure", "must be fail or answer");
}

/// Reads `protocol`, and the options that only one protocol has.
void read_protocol(fields& at, command_options& into) {
  auto word = std::string{};
  at.text("protocol", word);
  if (word == "jsonl")
    into.protocol = command_protocol::jsonl;
  else if (!word.empty() && word != "once")
    at.wrong("protocol", "must be once or jsonl");
  if (into.protocol == command_protocol::jsonl) {
    at.number("workers", into.workers, 0, static_cast<std::int64_t>(command_workers_max));
    return read_on_failure(at, into);
  }
  for (const auto* only_jsonl : {"workers", "on_failure"})
    at.refuse(only_jsonl, "requires protocol: jsonl");
}

/// Reads a command tool. If the program's path contains a slash, it is relative to the agent file.
/// Otherwise the program is found through PATH.
options_variant read_command(fields& at, const std::string& folder) {
  auto out = command_options{};
  read_tool_name(at, out.name)
      .text("description", out.description)
      .texts("argv", out.argv, 1)
      .schema("args_schema", out.args_schema)
      .duration("timeout_ms", out.timeout, 1)
      .number("max_output_bytes", out.max_output_bytes, 1)
      .text("cwd", out.cwd);
  read_protocol(at, out);
  read_env(at, out);
  read_process_limits(at, out.limits);
  read_sandbox(at, folder, out.sandbox);
  if (!out.cwd.empty())
    out.cwd = std::filesystem::absolute(in_folder(folder, out.cwd)).lexically_normal().string();
  if (!out.argv.empty() && out.argv.front().find('/') != std::string::npos)
    out.argv.front() = std::filesystem::absolute(in_folder(folder, out.argv.front())).string();
  return out;
}

options_variant read_simulated(fields& at, const std::string&) {
  auto out = simulated_options{};
  read_tool_name(at, out.name)
      .text("description", out.description)
      .schema("args_schema", out.args_schema)
      .duration("delay_ms", out.delay, 0)
      .real("error_rate", out.error_rate, 0, 1)
      .number("seed", out.seed);
  if (at.take("result").IsDefined())
    at.any("result", out.result.emplace());
  return out;
}

/// Reads the labels of a namespace, and rejects labels that the store would reject.
void read_namespace(fields& at, store_namespace& into) {
  at.texts("namespace", into, 0);
  if (into.empty())
    at.wrong("namespace", "must have at least one label");
  for (const auto& label : into)
    if (label.empty() || label.find('.') != std::string::npos)
      at.wrong("namespace",
               fmt::format("'{}' is not a valid label: it is empty or contains a period", label));
}

options_variant read_remember(fields& at, const std::string&) {
  auto out = remember_options{};
  read_namespace(at, out.ns);
  return out;
}

options_variant read_recall(fields& at, const std::string&) {
  auto out = recall_options{};
  read_namespace(at, out.ns);
  at.number("items_max", out.items_max, 1);
  return out;
}

options_variant read_agent(fields& at, const std::string& folder) {
  auto out = sub_agent_options{};
  read_tool_name(at, out.name)
      .text("description", out.description)
      .required_text("file", out.file)
      .duration("timeout_ms", out.timeout, 0);
  out.file = in_folder(folder, out.file);
  return out;
}

struct reader {
  std::string_view name;
  options_variant (*read)(fields&, const std::string& folder);
};
constexpr auto readers = std::array{
    reader{"calculator", read_calculator}, reader{"current_time", read_current_time},
    reader{"http_get", read_http_get},     reader{"sqlite_query", read_sqlite_query},
    reader{"read_file", read_read_file},   reader{"command", read_command},
    reader{"simulated", read_simulated},   reader{"remember", read_remember},
    reader{"recall", read_recall},         reader{"agent", read_agent},
};

std::string known_tools() {
  auto names = std::vector<std::string_view>{};
  for (const auto& r : readers)
    names.push_back(r.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Reads `effects`. Only tools with external effects (command, http_get) have this key.
tool_effects read_effects(fields& at, std::string_view tool) {
  if (tool != "command" && tool != "http_get")
    return tool_effects::repeatable;
  auto word = std::string{};
  at.text("effects", word);
  if (word == "idempotent")
    return tool_effects::idempotent;
  if (word == "journaled")
    return tool_effects::journaled;
  if (!word.empty())
    at.wrong("effects", "must be idempotent or journaled");
  return tool_effects::repeatable;
}

/// Adds an error for each key that --set created beside the name of the tool, as in
/// `--set tools.1.comand.timeout_ms=500`. Returns false if there is no such key.
bool refuse_added_names(const YAML::Node& item, const std::string& key, fault_list& faults) {
  auto added = std::vector<std::string>{};
  auto tool = std::string{};
  for (const auto& pair : item) {
    if (!pair.first.IsScalar())
      return false;
    const auto path = fmt::format("{}.{}", key, pair.first.Scalar());
    if (faults.is_overridden(path))
      added.push_back(path);
    else if (tool.empty())
      tool = pair.first.Scalar();
  }
  if (tool.empty())
    return false;
  for (const auto& path : added)
    faults.add(item, path,
               fmt::format("the item is the tool '{0}'; its options are below {1}.{0}", tool, key));
  return !added.empty();
}

} // namespace

std::optional<tool_spec> read_tool(const YAML::Node& item, const std::string& key,
                                   const std::string& folder, fault_list& faults) {
  auto name = std::string{};
  auto options = YAML::Node{YAML::NodeType::Map};
  if (item.IsScalar()) {
    name = item.Scalar();
  } else if (item.IsMap() && item.size() == 1 && item.begin()->first.IsScalar()) {
    name = item.begin()->first.Scalar();
    options.reset(item.begin()->second);
  } else if (item.IsMap() && refuse_added_names(item, key, faults)) {
    return std::nullopt;
  } else {
    faults.add(item, key, "must be the name of a tool, or one name with options: {command: {…}}");
    return std::nullopt;
  }
  for (const auto& r : readers) {
    if (r.name != name)
      continue;
    const auto path = fmt::format("{}.{}", key, name);
    auto at = item.IsScalar() ? fields{line_of(item), path, faults} : fields{options, path, faults};
    auto out = tool_spec{r.read(at, folder), line_of(item), key};
    out.effects = read_effects(at, r.name);
    at.done();
    return out;
  }
  faults.add(item, key, fmt::format("unknown tool '{}'; known tools: {}", name, known_tools()));
  return std::nullopt;
}

} // namespace superstep::detail
