// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Converts one answer to the formats of the providers, whole and streamed. The input is the
/// message of a chat completion. Texts and arguments are streamed in pieces of seven bytes, which
/// never split a character.
namespace superstep::test {

namespace json = boost::json;

inline std::vector<std::string> pieces(const std::string& text) {
  auto out = std::vector<std::string>{};
  for (auto begin = std::size_t{0}; begin < text.size();) {
    auto end = std::min(begin + 7, text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      ++end;
    out.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return out;
}

/// The parts of a message that all formats consist of.
struct said_parts {
  struct call {
    std::string id;
    std::string name;
    std::string arguments;
  };
  std::string text;
  std::vector<call> calls;
  std::string key; ///< suffix of the answer's ids, so that different answers are different messages

  explicit said_parts(const json::object& said)
      : key{std::to_string(std::hash<std::string>{}(json::serialize(said)))} {
    if (const auto* content = said.if_contains("content"); content && content->is_string())
      text = content->get_string();
    if (const auto* list = said.if_contains("tool_calls"))
      for (const auto& one : list->as_array()) {
        const auto& function = one.at("function");
        calls.push_back({std::string{one.at("id").as_string()},
                         std::string{function.at("name").as_string()},
                         std::string{function.at("arguments").as_string()}});
      }
  }
};

inline std::string as_event(const json::value& data) {
  const auto* type = data.as_object().if_contains("type");
  auto name = type ? "event: " + std::string{type->as_string()} + '\n' : std::string{};
  return name + "data: " + json::serialize(data) + "\n\n";
}

class openai_shape {
public:
  static json::value usage() {
    return {{"prompt_tokens", 10}, {"completion_tokens", 5}, {"total_tokens", 15}};
  }
  static std::string whole(const json::object& said) {
    const auto reason = said.contains("tool_calls") ? "tool_calls" : "stop";
    return json::serialize(
        json::value{{"id", "chatcmpl-" + said_parts{said}.key},
                    {"object", "chat.completion"},
                    {"model", "recorded"},
                    {"choices", {{{"index", 0}, {"message", said}, {"finish_reason", reason}}}},
                    {"usage", usage()}});
  }
  static std::string stream(const json::object& said) {
    const auto parts = said_parts{said};
    auto out = std::string{": hello\r\n\r\n"};
    out += event({{"role", "assistant"}, {"content", ""}}, nullptr);
    for (const auto& piece : pieces(parts.text))
      out += event({{"content", piece}}, nullptr);
    for (auto i = std::size_t{0}; i < parts.calls.size(); ++i) {
      const auto& call = parts.calls[i];
      const auto first = json::object{{"index", i},
                                      {"id", call.id},
                                      {"type", "function"},
                                      {"function", {{"name", call.name}, {"arguments", ""}}}};
      out += event({{"tool_calls", json::array{first}}}, nullptr);
      for (const auto& piece : pieces(call.arguments)) {
        const auto next = json::object{{"index", i}, {"function", {{"arguments", piece}}}};
        out += event({{"tool_calls", json::array{next}}}, nullptr);
      }
    }
    out += event(json::object{}, parts.calls.empty() ? "stop" : "tool_calls");
    const auto last = json::value{
        {"object", "chat.completion.chunk"}, {"choices", json::array{}}, {"usage", usage()}};
    return out + as_event(last) + "data: [DONE]\n\n";
  }

private:
  static std::string event(json::value delta, json::value reason) {
    return as_event(
        {{"object", "chat.completion.chunk"},
         {"model", "recorded"},
         {"choices",
          {{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(reason)}}}}});
  }
};

class anthropic_shape {
public:
  static json::value usage() { return {{"input_tokens", 10}, {"output_tokens", 5}}; }
  static std::string whole(const json::object& said) {
    const auto parts = said_parts{said};
    auto content = json::array{};
    if (!parts.text.empty())
      content.push_back({{"type", "text"}, {"text", parts.text}});
    for (const auto& call : parts.calls)
      content.push_back({{"type", "tool_use"},
                         {"id", call.id},
                         {"name", call.name},
                         {"input", json::parse(call.arguments)}});
    return json::serialize(json::value{{"id", "msg_" + parts.key},
                                       {"type", "message"},
                                       {"role", "assistant"},
                                       {"model", "recorded"},
                                       {"content", content},
                                       {"stop_reason", reason(parts)},
                                       {"usage", usage()}});
  }
  static std::string stream(const json::object& said) {
    const auto parts = said_parts{said};
    auto out = as_event({{"type", "message_start"},
                         {"message",
                          {{"id", "msg_" + parts.key},
                           {"model", "recorded"},
                           {"content", json::array{}},
                           {"usage", {{"input_tokens", 10}, {"output_tokens", 1}}}}}});
    out += as_event({{"type", "ping"}});
    auto index = 0;
    if (!parts.text.empty())
      out += block(index++, {{"type", "text"}, {"text", ""}}, "text_delta", "text", parts.text);
    for (const auto& call : parts.calls)
      out += block(
          index++,
          {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", json::object{}}},
          "input_json_delta", "partial_json", call.arguments);
    out += as_event({{"type", "message_delta"},
                     {"delta", {{"stop_reason", reason(parts)}}},
                     {"usage", usage()}});
    return out + as_event({{"type", "message_stop"}});
  }

private:
  static const char* reason(const said_parts& parts) {
    return parts.calls.empty() ? "end_turn" : "tool_use";
  }
  static std::string block(int index, json::value start, std::string_view delta_type,
                           std::string_view key, const std::string& text) {
    auto out = as_event(
        {{"type", "content_block_start"}, {"index", index}, {"content_block", std::move(start)}});
    for (const auto& piece : pieces(text))
      out += as_event({{"type", "content_block_delta"},
                       {"index", index},
                       {"delta", {{"type", delta_type}, {key, piece}}}});
    return out + as_event({{"type", "content_block_stop"}, {"index", index}});
  }
};

class ollama_shape {
public:
  static std::string stream(const json::object& said) {
    const auto parts = said_parts{said};
    auto out = std::string{};
    for (const auto& piece : pieces(parts.text))
      out += line({{"role", "assistant"}, {"content", piece}}, {{"done", false}});
    for (const auto& call : parts.calls) {
      const auto function =
          json::object{{"name", call.name}, {"arguments", json::parse(call.arguments)}};
      const auto calls = json::array{json::object{{"function", function}}};
      out +=
          line({{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}}, {{"done", false}});
    }
    return out + line({{"role", "assistant"}, {"content", ""}}, {{"done", true},
                                                                 {"done_reason", "stop"},
                                                                 {"prompt_eval_count", 10},
                                                                 {"eval_count", 5}});
  }

private:
  static std::string line(json::value message, json::object more) {
    more["model"] = "recorded";
    more["created_at"] = "2026-11-21T10:00:00Z";
    more["message"] = std::move(message);
    return json::serialize(more) + '\n';
  }
};

class responses_shape {
public:
  static std::string whole(const json::object& said) {
    const auto parts = said_parts{said};
    return json::serialize(answer(parts, items(parts), "completed"));
  }
  static std::string stream(const json::object& said) {
    const auto parts = said_parts{said};
    auto out = as_event(
        {{"type", "response.created"}, {"response", answer(parts, json::array{}, "in_progress")}});
    auto index = 0;
    const auto all = items(parts);
    for (const auto& item : all) {
      const auto is_call = item.at("type") == "function_call";
      auto begun = item.as_object();
      begun[is_call ? "arguments" : "content"] = is_call ? json::value("") : json::array{};
      out += as_event(
          {{"type", "response.output_item.added"}, {"output_index", index}, {"item", begun}});
      const auto text = is_call ? item.at("arguments") : item.at("content").at(0).at("text");
      for (const auto& piece : pieces(std::string{text.as_string()}))
        out += as_event({{"type", is_call ? "response.function_call_arguments.delta"
                                          : "response.output_text.delta"},
                         {"output_index", index},
                         {"content_index", 0},
                         {"item_id", item.at("id")},
                         {"delta", piece}});
      out += as_event(
          {{"type", "response.output_item.done"}, {"output_index", index++}, {"item", item}});
    }
    return out + as_event({{"type", "response.completed"},
                           {"response", answer(parts, all, "completed")}});
  }

private:
  static json::array items(const said_parts& parts) {
    auto out = json::array{};
    if (!parts.text.empty()) {
      const auto text = json::object{
          {"type", "output_text"}, {"text", parts.text}, {"annotations", json::array{}}};
      out.push_back({{"type", "message"},
                     {"id", "msg_" + parts.key},
                     {"role", "assistant"},
                     {"status", "completed"},
                     {"content", json::array{text}}});
    }
    for (const auto& call : parts.calls)
      out.push_back({{"type", "function_call"},
                     {"id", "fc_" + call.id},
                     {"call_id", call.id},
                     {"name", call.name},
                     {"arguments", call.arguments},
                     {"status", "completed"}});
    return out;
  }
  static json::value answer(const said_parts& parts, json::array output, std::string_view status) {
    return {{"id", "resp_" + parts.key},
            {"object", "response"},
            {"status", status},
            {"model", "recorded"},
            {"output", std::move(output)},
            {"usage", {{"input_tokens", 10}, {"output_tokens", 5}, {"total_tokens", 15}}}};
  }
};

} // namespace superstep::test
