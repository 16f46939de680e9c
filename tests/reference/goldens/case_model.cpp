// SPDX-License-Identifier: Apache-2.0
// The scripted models of agent cases and their log.
#include "case_model.hpp"

#include "agent_form.hpp"
#include "case_errors.hpp"

#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <utility>

namespace superstep::conformance {

namespace {

using graph_cases::as_text;
using graph_cases::member;
using graph_cases::text_member;

/// Replaces `{n}` in a text by a number.
std::string numbered(std::string text, std::int64_t n) {
  for (auto at = text.find("{n}"); at != text.npos; at = text.find("{n}", at))
    text.replace(at, 3, std::to_string(n));
  return text;
}

std::vector<std::string> sorted_names(const json::value& v) {
  auto out = std::vector<std::string>{};
  if (const auto* object = v.if_object())
    for (const auto& [key, member] : *object)
      out.emplace_back(key);
  if (const auto* list = v.if_array())
    for (const auto& name : *list)
      out.emplace_back(name.as_string());
  std::ranges::sort(out);
  return out;
}

/// Returns the number of ai messages after the last human message.
std::size_t answers_since_question(const json::array& messages) {
  auto count = std::size_t{0};
  for (const auto& m : messages) {
    const auto& type = m.at("type");
    count = type == "human" ? 0 : count + (type == "ai" ? 1 : 0);
  }
  return count;
}

class case_model final : public chat_model {
public:
  case_model(const json::object& script, std::string label, std::shared_ptr<model_log> log)
      : script_(script), label_{std::move(label)}, log_{std::move(log)} {}

  task<result<message>> complete(model_request request) const override {
    auto messages = message_list{};
    if (request.system)
      messages.push_back(*request.system);
    for (const auto& m : request.messages)
      messages.push_back(m);
    if (request.format)
      co_return answer_in_schema(request, messages);
    note(request, messages);
    co_return answer(messages);
  }
  std::string fingerprint() const override { return "case"; }

private:
  message answer_in_schema(const model_request& request, const message_list& messages) const {
    log_->add({{"structured", request.format->name},
               {"messages", printed_form(to_list(messages), false)}});
    const auto n = counts_.start("structured");
    const auto& values = member(script_, "structured").as_array();
    const auto i = std::min(static_cast<std::size_t>(n), values.size()) - 1;
    return ai_message(to_text(values[i]));
  }

  void note(const model_request& request, const message_list& messages) const {
    auto call = json::object{{"messages", printed_form(to_list(messages), false)}};
    if (request.tools && !request.tools->empty()) {
      auto names = json::array{};
      for (const auto& tool : *request.tools)
        names.emplace_back(tool.name);
      call["tools"] = std::move(names);
      log_->offer(request.tools);
    }
    if (!label_.empty())
      call["by"] = label_;
    log_->add(std::move(call));
  }

  message answer(const message_list& messages) const {
    const auto n = counts_.start("calls");
    // Programs see tool messages with canonical texts and the ids of messages.
    auto seen = json::array{};
    for (const auto& m : messages) {
      auto one = seen_form(json::value(to_json(m)));
      if (m.type == message_type::tool && one.at("content").is_string())
        one.as_object()["content"] = canonical_text(m.content, false);
      seen.push_back(std::move(one));
    }
    auto state = json::value(json::object{{"messages", seen}});
    auto in = graph_cases::scope{};
    in.input = &state;
    in.count = n;
    const auto& turn = turn_of(seen, in, n);
    if (turn.contains("raise"))
      raise(text_member(turn, "raise"), text_member(turn, "message"));
    auto out = ai_message(numbered(as_text(evaluate_content(turn, in)), n));
    out.id = numbered(text_member(turn, "id"), n);
    add_calls(out, turn, n);
    return out;
  }

  static json::value evaluate_content(const json::object& turn, graph_cases::scope& in) {
    return turn.contains("content") ? graph_cases::evaluate(turn.at("content"), in)
                                    : json::value("");
  }

  static void add_calls(message& out, const json::object& turn, std::int64_t n) {
    const auto list = [&](std::string_view key) {
      const auto& v = member(turn, key);
      return v.is_array() ? v.get_array() : json::array{};
    };
    for (const auto& call : list("tool_calls"))
      out.tool_calls.push_back({numbered(text_member(call.as_object(), "id"), n),
                                text_member(call.as_object(), "name"),
                                call.at("args").as_object()});
    for (const auto& call : list("invalid_tool_calls"))
      out.invalid_tool_calls.push_back(
          {numbered(text_member(call.as_object(), "id"), n), text_member(call.as_object(), "name"),
           text_member(call.as_object(), "args"), text_member(call.as_object(), "error")});
  }

  const json::object& turn_of(const json::array& seen, graph_cases::scope& in,
                              std::int64_t n) const {
    if (const auto* rules = script_.if_contains("rules"); rules != nullptr) {
      for (const auto& rule : rules->as_array())
        if (graph_cases::is_true(graph_cases::evaluate(rule.at("when"), in)))
          return rule.at("turn").as_object();
      throw std::logic_error{"no rule of the scripted model matches"};
    }
    const auto& turns = script_.at("turns").as_array();
    const auto i = text_member(script_, "by") == "calls" ? static_cast<std::size_t>(n) - 1
                                                         : answers_since_question(seen);
    return turns[std::min(i, turns.size() - 1)].as_object();
  }

  static json::value to_list(const message_list& messages) {
    auto out = json::array{};
    for (const auto& m : messages)
      out.emplace_back(to_json(m));
    return json::value(std::move(out));
  }

  json::object script_;
  std::string label_;
  std::shared_ptr<model_log> log_;
  mutable start_counts counts_;
};

} // namespace

void model_log::add(json::object call) {
  const auto lock = std::scoped_lock{mutex_};
  calls_.push_back(std::move(call));
}

void model_log::offer(const tool_definitions& tools) {
  const auto lock = std::scoped_lock{mutex_};
  if (!offered_.is_null() || tools->empty())
    return;
  auto& list = offered_.emplace_array();
  for (const auto& tool : *tools) {
    auto one = json::object{{"name", tool.name}};
    for (const auto& [key, from] : {std::pair{"params", "properties"}, {"required", "required"}}) {
      auto names = json::array{};
      for (const auto& name : sorted_names(member(tool.parameters, from)))
        names.emplace_back(name);
      one[key] = std::move(names);
    }
    list.push_back(std::move(one));
  }
}

json::array model_log::calls() const {
  const auto lock = std::scoped_lock{mutex_};
  return calls_;
}

json::value model_log::offered() const {
  const auto lock = std::scoped_lock{mutex_};
  return offered_;
}

chat_model_ptr make_case_model(const json::object& script, std::string label,
                               std::shared_ptr<model_log> log) {
  return std::make_shared<const case_model>(script, std::move(label), std::move(log));
}

} // namespace superstep::conformance
