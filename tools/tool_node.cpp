// SPDX-License-Identifier: Apache-2.0
#include "utf8.hpp"

#include <superstep/base/assert.hpp>
#include <superstep/tools/argument_schema.hpp>
#include <superstep/tools/tool_node.hpp>

#include <exception>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace superstep {

struct tool_node::table {
  struct entry {
    tool_ptr run;
    argument_schema schema;
  };
  std::unordered_map<std::string_view, entry> by_name; // views of the definitions below
  tool_definitions definitions;
  std::string names; // comma separated, for the answer to a call of an unknown tool
  tool_node_options options;
};

namespace {

tool_output failed(std::string text) {
  auto out = tool_output{};
  out.content = std::move(text);
  out.is_error = true;
  return out;
}

message answer(std::string id, std::string name, tool_output out) {
  auto m = tool_message(valid_utf8(std::move(out.content)), std::move(id), std::move(name));
  m.is_error = out.is_error;
  m.artifact = std::move(out.artifact);
  return m;
}

message_ptr share(message m) {
  return std::make_shared<const message>(std::move(m));
}

std::string please_fix(std::string_view what) {
  return "Error: " + std::string{what} + "\n Please fix your mistakes.";
}

/// The text of what a tool threw. Called inside a handler: the exception is the current one.
std::string text_of_current_exception() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "the tool threw something that is no std::exception";
  }
}

} // namespace

tool_node::tool_node(tool_list tools, tool_node_options options) {
  auto made = std::make_shared<table>();
  made->options = options;
  auto definitions = std::make_shared<std::vector<tool_definition>>();
  definitions->reserve(tools.size()); // by_name looks into it
  for (auto& tool : tools) {
    SUPERSTEP_ASSERT(tool != nullptr);
    const auto& definition = definitions->emplace_back(tool->definition());
    if (definition.name.empty())
      throw std::invalid_argument{"a tool has no name"};
    auto schema = argument_schema::compile(definition.parameters);
    if (!schema)
      throw std::invalid_argument{"tool '" + definition.name + "': " + schema.error().text};
    made->names += (made->names.empty() ? "" : ", ") + definition.name;
    const auto added =
        made->by_name.emplace(definition.name, table::entry{std::move(tool), *std::move(schema)});
    if (!added.second)
      throw std::invalid_argument{"two tools have the name '" + definition.name + "'"};
  }
  made->definitions = std::move(definitions);
  table_ = std::move(made);
}

task<message_ptr> tool_node::run(tool_call call, tool_context context) const {
  const auto shared = table_; // the node's copies may go while this call is under way
  auto id = call.id;
  auto name = call.name;
  context.tool_call_id = id;
  const auto found = shared->by_name.find(name);
  if (found == shared->by_name.end())
    co_return share(answer(
        std::move(id), name,
        failed("Error: " + name + " is not a valid tool, try one of [" + shared->names + "].")));
  const auto& entry = found->second;
  if (const auto faults = entry.schema.check(call.args); !faults.empty())
    co_return share(answer(std::move(id), name, failed(describe_faults(name, call.args, faults))));

  auto out = tool_output{};
  auto thrown = std::optional<std::string>{};
  try {
    auto body = entry.run->run(std::move(call), std::move(context));
    out = co_await body;
  } catch (...) {
    if (shared->options.errors != tool_error_policy::answer)
      throw;
    thrown = text_of_current_exception();
  }
  if (thrown)
    out = failed(please_fix(*thrown));
  if (out.content.size() > shared->options.result_bytes_max)
    out = failed(please_fix("the result of tool '" + name + "' has " +
                            std::to_string(out.content.size()) + " bytes; at most " +
                            std::to_string(shared->options.result_bytes_max) + " are taken"));
  co_return share(answer(std::move(id), std::move(name), std::move(out)));
}

message tool_node::answer_invalid(const invalid_tool_call& call) const {
  auto text = "Error invoking tool '" + call.name + "' with arguments " + call.args +
              " with error:\n " + call.error + "\n Please fix the error and try again.";
  // The raw text of a model that lost its way can be of any length.
  if (text.size() > table_->options.result_bytes_max)
    text = please_fix("the arguments of the call are too long and no JSON object");
  return answer(call.id, call.name, failed(std::move(text)));
}

tool_definitions tool_node::definitions() const noexcept {
  return table_->definitions;
}

const tool* tool_node::find(std::string_view name) const noexcept {
  const auto found = table_->by_name.find(name);
  return found == table_->by_name.end() ? nullptr : found->second.run.get();
}

} // namespace superstep
