// SPDX-License-Identifier: Apache-2.0
#include "agents/tool_fields.hpp"

#include "agents/overrides.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

namespace superstep::detail {

namespace {

using options_variant = decltype(tool_spec::options);

// One reader per tool: its keys, their bounds, and which of them are required.

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
      .number("timeout_ms", out.timeout_ms, 1);
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

options_variant read_command(fields& at, const std::string&) {
  auto out = command_options{};
  at.required_text("name", out.name)
      .text("description", out.description)
      .texts("argv", out.argv, 1)
      .object("args_schema", out.args_schema)
      .number("timeout_ms", out.timeout_ms, 1)
      .number("max_output_bytes", out.max_output_bytes, 1);
  return out;
}

options_variant read_simulated(fields& at, const std::string&) {
  auto out = simulated_options{};
  at.required_text("name", out.name)
      .text("description", out.description)
      .object("args_schema", out.args_schema)
      .number("delay_ms", out.delay_ms)
      .real("error_rate", out.error_rate, 0, 1)
      .number("seed", out.seed);
  if (at.take("result").IsDefined())
    at.any("result", out.result.emplace());
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
    reader{"simulated", read_simulated},
};

std::string known_tools() {
  auto names = std::vector<std::string_view>{};
  for (const auto& r : readers)
    names.push_back(r.name);
  return fmt::format("{}", fmt::join(names, ", "));
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
  } else {
    faults.add(item, key, "must be a tool's name, or one name with its options: {command: {…}}");
    return std::nullopt;
  }
  for (const auto& r : readers) {
    if (r.name != name)
      continue;
    // A tool without options has no line of its own: its required keys are missed at the item's.
    auto at = fields{item.IsScalar() ? item : options, fmt::format("{}.{}", key, name), faults};
    auto out = tool_spec{r.read(at, folder), line_of(item), key};
    if (!item.IsScalar())
      at.done();
    return out;
  }
  faults.add(item, key, fmt::format("there is no tool '{}'; known: {}", name, known_tools()));
  return std::nullopt;
}

} // namespace superstep::detail
