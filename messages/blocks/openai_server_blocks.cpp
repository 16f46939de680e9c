// SPDX-License-Identifier: Apache-2.0
// Converts calls of the tools that OpenAI runs itself (web search, file search, code interpreter,
// MCP). Each item becomes a server_tool_call and a server_tool_result block. Part of
// openai_blocks.cpp.
#include "block_parts.hpp"
#include "common_blocks.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace superstep::blocks {

namespace {

/// Returns a call block. Call and result have the id of the item in common.
json::object server_call(const json::object& block, std::string_view name) {
  return {{"type", "server_tool_call"}, {"name", name}, {"id", text_in(block, "id")}};
}

json::object server_result(const json::object& block) {
  return {{"type", "server_tool_result"}, {"tool_call_id", text_in(block, "id")}};
}

/// Sets the status of a result. A status other than completed and failed has no standard name and
/// goes to `extras`.
void add_status(json::object& result, const json::object& block) {
  const auto status = text_in(block, "status");
  if (status == "failed")
    result["status"] = "error";
  else if (status == "completed")
    result["status"] = "success";
  else if (!status.empty())
    add_extra(result, "status", json::value(status));
}

/// Sets the status of an MCP result, which has an error text instead of a status.
void add_error(json::object& result, const json::object& block) {
  const auto* error = member(block, "error");
  const auto failed = error && *error != "";
  if (failed)
    add_extra(result, "error", *error);
  result["status"] = failed ? "error" : "success";
}

/// Copies the output of the tool unless it is empty.
void add_output(json::object& result, const json::object& block, std::string_view key) {
  const auto* output = member(block, key);
  const auto* list = output ? output->if_array() : nullptr;
  if (output && *output != "" && !(list && list->empty()))
    result["output"] = *output;
}

/// Copies the members that are not among `known`.
void copy_unless(json::object& into, const json::object& from,
                 std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : from)
    if (!is_one_of(std::string_view{key.data(), key.size()}, known))
      into[key] = value;
}

/// Appends the call and the result. If the item has an index, the result gets the next higher one,
/// as in langchain-core.
void add_pair(json::array& into, const json::object& block, json::object call, json::object result,
              std::string_view mark, std::string_view result_mark) {
  if (const auto* index = block.if_contains("index"); index && index->is_int64()) {
    const auto at = index->get_int64();
    call["index"] = "lc_" + std::string{mark} + '_' + std::to_string(at);
    result["index"] = "lc_" + std::string{result_mark} + '_' + std::to_string(at + 1);
  }
  into.push_back(std::move(call));
  if (!result.empty())
    into.push_back(std::move(result));
}

/// Converts a web search. The sources that the search found are part of the action and are moved to
/// the result.
void add_web_search(json::array& into, const json::object& block) {
  auto call = server_call(block, "web_search");
  auto result = server_result(block);
  auto args = json::object{};
  if (const auto* action = object_in(block, "action")) {
    args = *action;
    args.erase("sources");
    const auto* sources = member(*action, "sources");
    if (sources && sources->is_array() && !sources->get_array().empty())
      result["output"] = json::object{{"sources", *sources}};
  }
  call["args"] = std::move(args);
  copy_unless(call, block, {"type", "id", "action", "status", "index"});
  add_status(result, block);
  add_pair(into, block, std::move(call), std::move(result), "wsc", "wsr");
}

void add_file_search(json::array& into, const json::object& block) {
  auto call = server_call(block, "file_search");
  const auto* queries = block.if_contains("queries");
  call["args"] = json::object{{"queries", queries ? *queries : json::value(json::array{})}};
  copy_unless(call, block, {"type", "id", "queries", "results", "status", "index"});
  auto result = server_result(block);
  add_output(result, block, "results");
  add_status(result, block);
  add_pair(into, block, std::move(call), std::move(result), "fsc", "fsr");
}

void add_code_interpreter(json::array& into, const json::object& block) {
  auto call = server_call(block, "code_interpreter");
  if (const auto* code = block.if_contains("code"))
    call["args"] = json::object{{"code", *code}};
  add_extras(call, block, {"type", "id", "outputs", "status", "code", "extras", "index"});
  auto result = server_result(block);
  if (const auto* outputs = block.if_contains("outputs"))
    result["output"] = *outputs;
  add_status(result, block);
  add_pair(into, block, std::move(call), std::move(result), "cic", "cir");
}

/// Converts an MCP call. Arguments that are not a JSON object are kept as text in `extras`.
void add_mcp_call(json::array& into, const json::object& block) {
  auto call = server_call(block, "remote_mcp");
  const auto arguments = text_in(block, "arguments");
  auto args = json::object{};
  if (read_object(arguments, args))
    call["args"] = std::move(args);
  else if (!arguments.empty())
    add_extra(call, "arguments", json::value(arguments));
  if (const auto* name = block.if_contains("name"))
    add_extra(call, "tool_name", *name);
  add_extras(call, block,
             {"type", "id", "arguments", "name", "output", "error", "extras", "index"});
  auto result = server_result(block);
  add_output(result, block, "output");
  add_error(result, block);
  add_pair(into, block, std::move(call), std::move(result), "mcp", "mcpr");
}

void add_mcp_list(json::array& into, const json::object& block) {
  auto call = server_call(block, "mcp_list_tools");
  call["args"] = json::object{};
  add_extras(call, block, {"type", "id", "name", "tools", "error", "extras", "index"});
  auto result = server_result(block);
  add_output(result, block, "tools");
  add_error(result, block);
  add_pair(into, block, std::move(call), std::move(result), "mlt", "mltr");
}

} // namespace

bool add_openai_server_blocks(json::array& into, const json::object& block,
                              const json::array& content) {
  const auto type = type_of(block);
  const auto pairs_before = into.size();
  if (type == "web_search_call")
    add_web_search(into, block);
  else if (type == "file_search_call")
    add_file_search(into, block);
  else if (type == "code_interpreter_call")
    add_code_interpreter(into, block);
  else if (type == "mcp_call")
    add_mcp_call(into, block);
  else if (type == "mcp_list_tools")
    add_mcp_list(into, block);
  else
    return false;
  // If the content already contains the result as a separate block, the result added above is
  // removed.
  const auto has_result = std::any_of(content.begin(), content.end(), [&](const json::value& v) {
    const auto* other = v.if_object();
    return other && is_one_of(type_of(*other), {"web_search_result", "server_tool_result"}) &&
           (text_in(*other, "id") == text_in(block, "id") ||
            text_in(*other, "tool_call_id") == text_in(block, "id"));
  });
  if (has_result)
    into.resize(pairs_before + 1);
  return true;
}

} // namespace superstep::blocks
