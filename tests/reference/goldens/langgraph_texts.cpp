// SPDX-License-Identifier: Apache-2.0
// The table of LangGraph's error wordings (langgraph 1.2.22, langgraph-prebuilt,
// langgraph-checkpoint). superstep's own texts name C++ entities; recorded cases contain
// LangGraph's.
#include "langgraph_texts.hpp"

#include "messages/python_text.hpp"

#include <superstep/base/json.hpp>

#include <re2/re2.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace superstep::conformance {

namespace {

/// The form of a captured part of our text in LangGraph's text.
enum class shown_as { text, python, tuple };

struct wording {
  const char* ours;      ///< regular expression with at most three groups
  const char* langgraph; ///< $1, $2 and $3 are the groups
  std::array<shown_as, 3> groups{};
};

constexpr auto any = shown_as::text;
constexpr auto python = shown_as::python;
constexpr auto tuple = shown_as::tuple;

constexpr auto wordings = std::array{
    wording{"state_schema: required channels are missing: (.*)",
            "Missing required key(s) {$1} in state_schema"},
    wording{"tool '(.*)' returned a state update, but .* are in '(.*)'; the update: (.*)",
            "Tools can provide a dict in Command.update only when using dict with '$2' key as "
            "ToolNode input, got: $3 for tool '$1'",
            {any, any, python}},
    wording{"tool '(.*)' returned a command with a list of messages, but .*; the messages: (.*)",
            "Tools can provide a list of messages in Command.update only when using list of "
            "messages as ToolNode input, got: $2 for tool '$1'",
            {any, python}},
    wording{"tool '(.*)' returned a command without a message that answers its call; add .* to "
            "tool_update::messages; the messages: (.*)",
            "Expected to have a matching ToolMessage in Command.update for tool '$1', got: $2. "
            "Every tool call (LLM requesting to call a tool) in the message history MUST have a "
            "corresponding ToolMessage. You can fix it by modifying the tool to return "
            "`Command(update={\"messages\": [ToolMessage(\"Success\", tool_call_id=tool_call_id), "
            "...]}, ...)`.",
            {any, python}},
    wording{"tool '(.*)' returned a command without a message that answers its call; add .* to the "
            "command's messages; the messages: (.*)",
            "Expected to have a matching ToolMessage in Command.update for tool '$1', got: $2. "
            "Every tool call (LLM requesting to call a tool) in the message history MUST have a "
            "corresponding ToolMessage. You can fix it by modifying the tool to return "
            "`Command(update=[ToolMessage(\"Success\", tool_call_id=tool_call_id), ...], ...)`.",
            {any, python}},
    wording{"tool '(.*)' returned a list with (\\d+) messages that answer call (.*); exactly one "
            "is required",
            "Tool $1 returned a list with $2 messages bound to tool_call_id $3; expected exactly "
            "one terminating ToolMessage.",
            {any, any, python}},
    wording{"tool '(.*)' needs the state fields (.*), but the tool node's input is a list of .*",
            "Invalid input to ToolNode. Tool $1 requires graph state dict as input. State should "
            "contain fields $2."},
    wording{"a tool uses the store, but the graph has none; .*",
            "Cannot inject store into tools with InjectedStore annotations - please compile your "
            "graph with a store."},
    wording{"the (?:tool|validation) node cannot run: its input has no messages",
            "No message found in input"},
    wording{"the tool node cannot run: its input has no AI message", "No AIMessage found in input"},
    wording{"the validation node cannot run: the last message is not an AI message",
            "Last message is not an AIMessage"},
    wording{"cannot choose the next node: the state has no messages; the state: (.*)",
            "No messages found in input state to tool_edge: $1"},
    wording{"tool calls of the messages have no answer; .*; the first calls without answer: (.*)",
            "Found AIMessages with tool_calls that do not have a corresponding ToolMessage. Here "
            "are the first few of those tool calls: $1.\n\nEvery tool call (LLM requesting to call "
            "a tool) in the message history MUST have a corresponding ToolMessage (result of a "
            "tool invocation to return to the LLM) - this is required by most LLM providers.",
            {python}},
    wording{"the model is bound to (\\d+) tools, but the agent has (\\d+); .*",
            "Number of tools in the model.bind_tools() and tools passed to create_react_agent must "
            "match Got $2 tools, expected $1"},
    wording{"the model is not bound to the agent's tools ('.*'); .*",
            "Missing tools '{$1}' in the model.bind_tools()"},
    wording{"store::put\\(\\): the namespace is empty; .*", "Namespace cannot be empty."},
    wording{"invalid namespace (.*): a label is empty",
            "Namespace labels cannot be empty strings. Got  in $1",
            {tuple}},
    wording{"invalid namespace (.*): the label \"(.*)\" contains a period",
            "Invalid namespace label '$2' found in $1. Namespace labels cannot contain periods "
            "('.').",
            {tuple, any}},
    wording{"invalid namespace (.*): the first label must not be \"langgraph\"",
            "Root label for namespace cannot be \"langgraph\". Got: $1",
            {tuple}},
    wording{"unknown filter operator \"(.*)\"; .*", "Unsupported operator: $1"},
};

/// Formats a JSON list of texts as a Python tuple: ('a', 'b') or ('a',).
std::string tuple_text(const json::value& list) {
  auto out = std::string{"("};
  for (const auto& label : list.as_array())
    out += (out.size() > 1 ? ", " : "") + python_text(std::string_view{label.as_string()});
  return out + (list.as_array().size() == 1 ? ",)" : ")");
}

std::string shown(const std::string& group, shown_as how) {
  if (how == shown_as::text)
    return group;
  const auto value = json::parse(group);
  return how == shown_as::tuple ? tuple_text(value) : python_literal(value);
}

std::string filled(const wording& one, const std::array<std::string, 3>& groups) {
  auto out = std::string{};
  for (auto rest = std::string_view{one.langgraph}; !rest.empty(); rest.remove_prefix(1)) {
    if (rest.size() < 2 || rest[0] != '$' || rest[1] < '1' || rest[1] > '3') {
      out += rest[0];
      continue;
    }
    const auto index = static_cast<std::size_t>(rest[1] - '1');
    out += shown(groups[index], one.groups[index]);
    rest.remove_prefix(1);
  }
  return out;
}

} // namespace

std::string langgraph_text(std::string ours) {
  static const auto patterns = [] {
    auto out = std::vector<std::unique_ptr<const re2::RE2>>{};
    for (const auto& one : wordings)
      out.push_back(std::make_unique<const re2::RE2>(std::string{"(?s)"} + one.ours));
    return out;
  }();
  for (auto i = std::size_t{0}; i < wordings.size(); ++i) {
    const auto& pattern = *patterns[i];
    auto groups = std::array<std::string, 3>{};
    const auto first = re2::RE2::Arg{&groups[0]};
    const auto second = re2::RE2::Arg{&groups[1]};
    const auto third = re2::RE2::Arg{&groups[2]};
    const auto all = std::array<const re2::RE2::Arg*, 3>{&first, &second, &third};
    if (re2::RE2::FullMatchN(ours, pattern, all.data(), pattern.NumberOfCapturingGroups()))
      return filled(wordings[i], groups);
  }
  return ours;
}

} // namespace superstep::conformance
