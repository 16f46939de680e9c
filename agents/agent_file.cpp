// SPDX-License-Identifier: Apache-2.0
// Reads agent files: from YAML text to agent_spec. This file reads the document, the root keys,
// `limits` and the list of tools. model_fields.cpp, tool_fields.cpp, review_fields.cpp and
// hook_fields.cpp read the other keys, overrides.cpp applies --set, and yaml_fields.cpp provides
// the checked access to mappings. Nothing here creates models or tools; build_agent.cpp does.
#include "agents/hook_fields.hpp"
#include "agents/input_fields.hpp"
#include "agents/model_fields.hpp"
#include "agents/overrides.hpp"
#include "agents/review_fields.hpp"
#include "agents/tool_fields.hpp"
#include "agents/yaml_fields.hpp"
#include "base/utf8.hpp"
#include "base/visible_text.hpp"
#include "models/yaml_error_text.hpp"

#include <superstep/agents/agent_file.hpp>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace superstep {

namespace {

using detail::fault_list;
using detail::fields;

/// An event handler for yaml-cpp that stores the line on which a document's content begins.
class document_finder final : public YAML::EventHandler {
public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& at, YAML::anchor_t) override { note(at); }
  void OnScalar(const YAML::Mark& at, const std::string&, YAML::anchor_t,
                const std::string&) override {
    note(at);
  }
  void OnSequenceStart(const YAML::Mark& at, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    note(at);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& at, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    note(at);
  }
  void OnMapEnd() override {}
  /// Returns the line on which the content begins, counted from 1; 0 if the document is empty.
  [[nodiscard]] std::size_t line() const noexcept { return line_; }

private:
  void note(const YAML::Mark& at) {
    if (line_ == 0)
      line_ = static_cast<std::size_t>(at.line) + 1;
  }
  std::size_t line_ = 0;
};

/// Returns the line of the second document; 0 if there is no second document or it is empty. Reads
/// at most two documents, because yaml-cpp reports endless documents after an unmatched `]`.
std::size_t line_of_second_document(std::string_view text) {
  auto stream = std::istringstream{std::string{text}};
  auto parser = YAML::Parser{stream};
  auto first = document_finder{};
  auto second = document_finder{};
  return parser.HandleNextDocument(first) && parser.HandleNextDocument(second) ? second.line() : 0;
}

/// Reads the limits of single tools: a mapping of their names to numbers.
void read_tool_limits(fields& at, agent_limits& into) {
  auto given = json::object{};
  at.object("tools", given);
  if (given.empty())
    return;
  into.tools_line = detail::line_of(at.node()["tools"]);
  for (const auto& [name, value] : given) {
    const auto* number = value.if_int64();
    if (number == nullptr || *number < 1)
      at.wrong("tools", fmt::format("the value of '{}' must be an integer of at least 1",
                                    std::string_view{name}));
    else
      into.tools.push_back({std::string{name}, static_cast<std::size_t>(*number), {}});
  }
}

void read_limits(fields& root, agent_limits& into) {
  const auto node = root.take("limits");
  if (!node.IsDefined())
    return;
  auto at = fields{node, "limits", root.faults()};
  read_tool_limits(at, into);
  at.limit("model_calls", into.model_calls)
      .limit("tool_calls", into.tool_calls)
      .limit("rpm", into.rpm)
      .limit("tpm", into.tpm)
      .text("share", into.share)
      .limit("calls_per_answer", into.calls_per_answer)
      .limit("answer_bytes", into.answer_bytes)
      .flag("adaptive", into.adaptive)
      .duration("row_deadline_ms", into.row_deadline, 0)
      .done();
  if (!into.share.empty() && !into.rpm && !into.tpm)
    at.wrong("share", "needs limits.rpm or limits.tpm, which the processes share");
}

void read_prices(fields& root, price_table& into) {
  auto given = json::object{};
  root.object("prices", given);
  if (given.empty())
    return;
  auto prices = price_table::from_json(given, "");
  if (prices)
    into = *std::move(prices);
  else
    root.wrong("prices", prices.error().text);
}

void read_tools(fields& root, const std::string& folder, agent_spec& into) {
  const auto node = root.take("tools");
  if (!node.IsDefined() || node.IsNull())
    return;
  if (!node.IsSequence()) {
    root.wrong("tools", "must be a list, e.g. [calculator, current_time]");
    return;
  }
  auto index = std::size_t{0};
  for (const auto& item : node) {
    const auto key = fmt::format("tools.{}", index++);
    if (auto tool = detail::read_tool(item, key, folder, root.faults()))
      into.tools.push_back(std::move(*tool));
  }
  if (const auto text = detail::to_json(node, "tools", root.faults()))
    into.tools_text = to_canonical_text(*text);
}

void read_root(const YAML::Node& document, const std::string& folder, fault_list& faults,
               agent_spec& into) {
  auto root = fields{document, "", faults};
  auto version = std::string{"v2"};
  root.text("name", into.name);
  detail::read_model(root, folder, into);
  root.text("prompt", into.prompt)
      .text("version", version)
      .number("recursion_limit", into.recursion_limit, 1);
  if (version == "v1")
    into.version = react_version::v1;
  else if (version != "v2")
    root.wrong("version", fmt::format("'{}' is not one of: v1, v2", version));
  read_tools(root, folder, into);
  root.texts("early_tools", into.early_tools, 0);
  if (!into.early_tools.empty())
    into.early_tools_line = detail::line_of(root.node()["early_tools"]);
  detail::read_reviews(root, into);
  if (into.version == react_version::v1 && !into.reviews.empty())
    root.wrong("review",
               "requires version v2: in v1 all calls of an answer are one task, which restarts "
               "after each interrupt, so calls would run twice");
  detail::read_hooks(root, into);
  detail::read_response(root, into);
  detail::read_input(root, into);
  detail::read_store(root, folder, into);
  detail::read_cache(root, folder, into);
  read_limits(root, into.limits);
  read_prices(root, into.prices);
  root.are_below("model", {"provider", "path", "api", "base_url", "parameters", "temperature",
                           "max_tokens", "attempts_max"});
  root.done();
}

/// Adds the keys below a value. Keys deeper than `depth` levels stay part of the value.
void add_keys(const json::value& at, const std::string& path, int depth,
              std::vector<std::pair<std::string, std::string>>& into) {
  const auto below = [&path](std::string_view name) {
    return path.empty() ? std::string{name} : path + "." + std::string{name};
  };
  const auto* members = at.if_object();
  const auto* list = at.if_array();
  const auto is_list = list != nullptr && !list->empty() && !list->front().is_number();
  if (depth == 0 || (!is_list && (members == nullptr || members->empty()))) {
    into.emplace_back(path, to_canonical_text(at));
  } else if (members != nullptr) {
    for (const auto& [name, value] : *members)
      add_keys(value, below(name), depth - 1, into);
  } else {
    for (auto i = std::size_t{0}; i < list->size(); ++i)
      add_keys((*list)[i], below(std::to_string(i)), depth - 1, into);
  }
}

/// Returns agent_spec::keys of a document. A file with very many keys is described by those of its
/// first level.
std::vector<std::pair<std::string, std::string>> keys_of(const YAML::Node& document) {
  constexpr auto keys_max = std::size_t{200};
  auto ignored = fault_list{""}; // read_root() has reported the errors
  auto out = std::vector<std::pair<std::string, std::string>>{};
  const auto root = detail::to_json(document, "", ignored);
  if (!root)
    return out;
  for (const auto depth : {4, 1}) {
    out.clear();
    add_keys(*root, "", depth, out);
    if (out.size() <= keys_max)
      break;
  }
  out.resize(std::min(out.size(), keys_max));
  return out;
}

/// Returns the content of the file; adds an error and returns nullopt if it cannot be read.
std::optional<std::string> read_whole(const std::string& path, std::vector<agent_fault>& faults) {
  const auto refuse = [&](std::string text, int number = 0) {
    faults.push_back({path, 0, "", std::move(text), {number, std::generic_category()}});
    return std::nullopt;
  };
  auto code = std::error_code{};
  if (std::filesystem::is_directory(path, code))
    return refuse("is a directory, not an agent file");
  auto in = std::ifstream{path, std::ios::binary};
  if (!in) {
    const auto number = errno;
    return refuse(fmt::format("cannot be opened: {}", std::strerror(number)), number);
  }
  // Reads in pieces, because a buffer of the maximum size would take a megabyte of zeroed pages.
  auto text = std::string{};
  auto piece = std::array<char, 8'192>{};
  while (in.read(piece.data(), piece.size()) || in.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > agent_file_bytes_max)
      return refuse(fmt::format("is larger than {} bytes", agent_file_bytes_max));
  }
  return text;
}

} // namespace

std::string to_text(const agent_fault& fault) {
  auto out = fault.file;
  if (fault.line > 0)
    out += fmt::format(":{}", fault.line);
  if (!fault.key.empty())
    out += fmt::format(": {}", fault.key);
  // Keys and values may contain control characters, which must not reach a terminal.
  return visible_text(out + ": " + fault.text);
}

std::string to_text(const std::vector<agent_fault>& faults) {
  auto out = std::string{};
  for (const auto& fault : faults)
    out += (out.empty() ? "" : "\n") + to_text(fault);
  return out;
}

bool has_shortage(const std::vector<agent_fault>& faults) noexcept {
  return std::ranges::any_of(faults, [](const auto& fault) { return is_shortage(fault.code); });
}

agent_reading read_agent_text(std::string_view text, const std::string& name,
                              const std::string& folder,
                              const std::vector<std::string>& overrides) {
  auto out = agent_reading{};
  auto faults = fault_list{name};
  out.spec.file = name;
  if (const auto fault = find_yaml_encoding_fault(text)) {
    faults.add(fault->line, "", fault->text);
    out.faults = std::move(faults).take();
    return out;
  }
  try {
    // yaml-cpp accepts a quoted text without its end if only white space follows.
    const auto size = text.find_last_not_of(" \t\r\n") + 1; // 0 if all is white space
    if (const auto line = line_of_second_document(text.substr(0, size)); line > 0)
      faults.add(line, "", "has more than one YAML document");
    auto document = YAML::Load(std::string{text});
    if (document.IsNull())
      document = YAML::Node{YAML::NodeType::Map}; // an empty file: overrides can still add keys
    for (const auto& option : overrides)
      detail::apply_override(document, option, faults);
    read_root(document, folder, faults, out.spec);
    out.spec.keys = keys_of(document);
  } catch (const YAML::Exception& e) {
    faults.add(e.mark.is_null() ? 0 : static_cast<std::size_t>(e.mark.line) + 1, "",
               "is not valid YAML: " + models::yaml_error_text(e));
  }
  out.spec.overridden = faults.overridden_keys();
  out.faults = std::move(faults).take();
  return out;
}

agent_reading read_agent_file(const std::string& path, const std::vector<std::string>& overrides) {
  auto faults = std::vector<agent_fault>{};
  const auto text = read_whole(path, faults);
  if (!text)
    return {.spec = {}, .faults = std::move(faults)};
  const auto folder = std::filesystem::path{path}.parent_path().string();
  return read_agent_text(*text, path, folder.empty() ? "." : folder, overrides);
}

} // namespace superstep
