// SPDX-License-Identifier: Apache-2.0
// Converts a request with tools to a request that contains only text: system text, history and tool
// choice. transform.cpp does the same for conversations in the form of the AI SDK.
#include "protocols/protocol_request.hpp"

#include "protocols/protocol_parts.hpp"
#include "protocols/text.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace superstep {

namespace {

// Maximum number of cached descriptions. Bounds the memory of agents that select different tools
// for each request.
constexpr auto known_max = std::size_t{8};

} // namespace

described_tools_ptr tool_describer::make(const tool_definitions& tools) const {
  auto out = described_tools{};
  out.source = tools;
  if (tools != nullptr)
    for (const auto& tool : *tools)
      out.tools.push_back(make_protocol_tool(tool));
  if (!out.tools.empty()) {
    out.prompt = protocol_->prompt(out.tools);
    out.examples = example_section(*protocol_, out.tools);
  }
  return std::make_shared<const described_tools>(std::move(out));
}

described_tools_ptr tool_describer::describe(const tool_definitions& tools) const {
  const auto find = [&] {
    const auto found = std::ranges::find(known_, tools, &described_tools::source);
    if (found != known_.end())
      std::rotate(found, found + 1, known_.end());
    return found != known_.end();
  };
  {
    const auto lock = std::scoped_lock{guards_known_};
    if (find())
      return known_.back();
  }
  // The lock is not held here, because a protocol of the user or a long list may be slow.
  auto made = make(tools);
  const auto lock = std::scoped_lock{guards_known_};
  if (find())
    return known_.back();
  if (known_.size() >= known_max)
    known_.pop_front();
  known_.push_back(made);
  return made;
}

namespace {

bool is_text_block(const json::value& block) {
  const auto* object = block.if_object();
  return block.is_string() || (object != nullptr && text::member_text(*object, "type") == "text");
}

message_ptr with_text(const message& of, std::string_view more) {
  auto out = of;
  auto text = text_of(of);
  text += text.empty() ? "" : "\n\n";
  text += more;
  out.content = std::move(text);
  out.blocks.reset();
  return std::make_shared<const message>(std::move(out));
}

void add_system_text(model_request& request, const std::string& prompt) {
  if (prompt.empty())
    return;
  if (request.system) {
    request.system = with_text(*request.system, prompt);
    return;
  }
  for (auto i = std::size_t{0}; i < request.messages.size(); ++i)
    if (request.messages[i].type == message_type::system) {
      request.messages.replace(i, with_text(request.messages[i], prompt));
      return;
    }
  request.system = std::make_shared<const message>(system_message(prompt));
}

/// Returns the answer with its calls written as text in the format of the protocol.
message answer_text(const message& answer, const tool_protocol& protocol) {
  auto text = text_of(answer);
  const auto add = [&](std::string_view call) {
    text += text.empty() ? "" : "\n";
    text += call;
  };
  for (const auto& call : answer.tool_calls)
    add(protocol.format_call(call.name, to_text(call.args)));
  // The arguments of an invalid call may be its complete text with tags (see add_unreadable()),
  // which must not be formatted again. JSON arguments never begin with `<`.
  for (const auto& call : answer.invalid_tool_calls) {
    const auto is_whole = call.name.empty() || call.args.starts_with('<');
    add(is_whole ? call.args : protocol.format_call(call.name, call.args));
  }
  auto out = ai_message({});
  out.blocks = answer.blocks;
  replace_text(out, std::move(text));
  return out;
}

/// Converts the conversation to text. A result contains the name of its tool, because the text of a
/// call contains no id by which the model could relate them.
class history_writer {
public:
  explicit history_writer(const tool_protocol& protocol) : protocol_{protocol} {}

  message_list write(const message_list& messages) {
    for (auto i = std::size_t{0}; i < messages.size(); ++i)
      add(messages.at_ptr(i));
    return message_list{std::move(out_)};
  }

private:
  void add(const message_ptr& m) {
    if (m->type == message_type::ai) {
      for (const auto& call : m->tool_calls)
        names_[call.id] = call.name;
      for (const auto& call : m->invalid_tool_calls)
        names_[call.id] = call.name;
      const auto is_text = m->tool_calls.empty() && m->invalid_tool_calls.empty();
      out_.push_back(is_text ? *m : answer_text(*m, protocol_));
    } else if (m->type == message_type::tool) {
      const auto found = names_.find(m->tool_call_id);
      const auto name = m->name.empty() && found != names_.end() ? found->second : m->name;
      auto output = json::object{{"type", m->is_error ? "error-text" : "text"}};
      output["value"] = text_of(*m);
      add_user(human_message(protocol_.format_result(name, tool_result_value(output))));
    } else if (m->type == message_type::human) {
      add_user(*m);
    } else {
      out_.push_back(*m);
    }
  }
  /// Adds a user message. Joins adjacent ones, because models expect alternating roles.
  void add_user(message m) {
    if (!out_.empty() && out_.back().type == message_type::human && !out_.back().blocks &&
        !m.blocks) {
      out_.back().content += '\n' + m.content;
      return;
    }
    out_.push_back(std::move(m));
  }

  const tool_protocol& protocol_;
  std::vector<message> out_;
  std::map<std::string, std::string> names_; // tool names by call id
};

error bad_choice(std::string_view what) {
  return error{errc::invalid_argument,
               "tool_choice " + std::string{what} +
                   "; use none, auto, any, required, the name of a tool or {type: function, "
                   "function: {name: NAME}}"};
}

/// Returns the choice that a word requests; empty if the word is not one of those of the providers.
std::string_view choice_type(std::string_view word) {
  if (word == "none" || word == "auto" || word == "required")
    return word;
  return word == "any" ? std::string_view{"required"} : std::string_view{};
}

/// Returns the name of the function or tool in an object of OpenAI's or Anthropic's form; null if
/// there is none.
const json::value* chosen_name(const json::object& choice) {
  const auto* function = choice.if_contains("function");
  const auto& holder =
      function != nullptr && function->is_object() ? function->get_object() : choice;
  const auto* name = holder.if_contains("name");
  return name != nullptr && name->is_string() ? name : nullptr;
}

} // namespace

void replace_text(message& m, std::string text) {
  m.content.clear();
  if (!m.blocks || std::ranges::all_of(*m.blocks, is_text_block)) {
    m.blocks.reset();
    m.content = std::move(text);
    return;
  }
  auto blocks = json::array{};
  auto is_placed = text.empty();
  const auto place = [&] {
    if (!std::exchange(is_placed, true))
      blocks.push_back(json::object{{"type", "text"}, {"text", text}});
  };
  for (const auto& block : *m.blocks)
    if (is_text_block(block))
      place();
    else
      blocks.push_back(block);
  place();
  m.blocks = std::move(blocks);
}

result<json::object> tool_choice_of(const model_request& request) {
  const auto* choice = request.parameters.if_contains("tool_choice");
  if (choice == nullptr || choice->is_null())
    return json::object{{"type", "auto"}};
  if (choice->is_bool()) // true requires a call, as in requests to providers
    return json::object{{"type", choice->get_bool() ? "required" : "auto"}};
  const auto* object = choice->if_object();
  if (object != nullptr)
    if (const auto* name = chosen_name(*object))
      return json::object{{"type", "tool"}, {"toolName", *name}};
  if (object == nullptr && !choice->is_string())
    return bad_choice("is " + to_text(*choice));
  const auto word =
      object != nullptr ? text::member_text(*object, "type") : text::view(choice->get_string());
  if (const auto type = choice_type(word); !type.empty())
    return json::object{{"type", type}};
  if (object != nullptr)
    return bad_choice("names no tool");
  const auto is_tool =
      request.tools != nullptr &&
      std::ranges::find(*request.tools, word, &tool_definition::name) != request.tools->end();
  if (!is_tool)
    return bad_choice("is \"" + std::string{word} + '"');
  return json::object{{"type", "tool"}, {"toolName", word}};
}

result<model_request> protocol_request(model_request request, const described_tools& described,
                                       const protocol_options& options) {
  const auto& tools = described.tools;
  const auto choice = tool_choice_of(request);
  if (!choice)
    return choice.error();
  request.parameters.erase("tool_choice");
  request.parameters.erase("parallel_tool_calls");
  request.tools.reset();
  request.messages = history_writer{*options.protocol}.write(request.messages);
  const auto type = text::view(choice->at("type").get_string());
  if (tools.empty() || type == "none")
    return request;
  if (type != "auto") {
    const auto format = forced_response_format(tools, *choice);
    if (!format)
      return format.error();
    auto schema = json::object{{"name", "tool_call"}};
    schema["schema"] = format->at("schema");
    request.parameters["response_format"] = {{"type", "json_schema"},
                                             {"json_schema", std::move(schema)}};
  }
  auto prompt = options.prompt ? options.prompt(*options.protocol, tools) : described.prompt;
  if (!described.examples.empty())
    prompt += "\n\n" + described.examples;
  add_system_text(request, prompt);
  return request;
}

} // namespace superstep
