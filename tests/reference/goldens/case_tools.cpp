// SPDX-License-Identifier: Apache-2.0
// Tools and tool nodes of recorded cases, whose bodies are programs.
#include "case_tools.hpp"

#include "case_errors.hpp"
#include "case_program.hpp"
#include "graph_cases/expression.hpp"

#include <superstep/base/await.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/tools/validation_node.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace superstep::conformance {

namespace {

using graph_cases::as_text;
using graph_cases::evaluate;
using graph_cases::is_true;
using graph_cases::member;
using graph_cases::scope;
using graph_cases::text_member;

/// The state of one run of a program.
struct running {
  scope in;
  std::int64_t count = 0;
  const tool_environment* environment = nullptr;
  const json::object* result = nullptr; ///< op that ends the program

  [[nodiscard]] json::value value(const json::object& op, std::string_view name) {
    return evaluate(member(op, name), in);
  }
  [[nodiscard]] const runtime& rt() const {
    if (environment == nullptr || !environment->run)
      throw std::logic_error{"the program must be called by a run"};
    return *environment->run;
  }
};

/// Runs an op that neither waits nor contains other ops.
void run_plain(const json::object& op, running& r) {
  const auto what = text_member(op, "op");
  if (what == "let")
    r.in.locals[text_member(op, "name")] = r.value(op, "value");
  else if (what == "write")
    r.rt().emit(r.value(op, "value"));
  else if (what == "raise")
    raise(text_member(op, "error"), as_text(r.value(op, "message")));
  else if (what == "fail") {
    if (r.count <= member(op, "times").as_int64())
      raise(text_member(op, "error"), "fail " + std::to_string(r.count));
  } else if (what.starts_with("store_"))
    run_store(op, r.in, r.environment != nullptr ? r.environment->store : nullptr);
  else
    throw std::logic_error{"unknown op '" + what + "'"};
}

task<void> run_ops(const json::array& ops, running& r) {
  for (const auto& each : ops) {
    if (r.result != nullptr)
      co_return;
    const auto& op = each.as_object();
    const auto what = text_member(op, "op");
    if (what == "if") {
      const auto* chosen = is_true(r.value(op, "cond")) ? "then" : "else";
      if (const auto* inner = op.if_contains(chosen); inner != nullptr && inner->is_array()) {
        auto nested = run_ops(inner->get_array(), r);
        co_await nested;
      }
    } else if (what == "sleep") {
      const auto length = std::chrono::milliseconds{member(op, "ms").as_int64()};
      co_await sleep_for{length};
    } else if (what == "interrupt") {
      auto asked = r.rt().interrupt(r.value(op, "value"));
      auto answer = co_await asked;
      r.in.locals[text_member(op, "into")] = std::move(answer);
    } else if (what.starts_with("return") || what == "command" || what == "multi") {
      r.result = &op;
    } else {
      run_plain(op, r);
    }
  }
}

message own_message(const json::object& op, running& r) {
  auto content = output_of(r.value(op, "content"));
  auto m = tool_message(std::move(content.content), as_text(r.value(op, "call_id")), "");
  m.blocks = std::move(content.blocks);
  m.artifact = r.value(op, "artifact");
  if (op.contains("status"))
    m.is_error = as_text(r.value(op, "status")) == "error";
  if (op.contains("name"))
    m.name = as_text(r.value(op, "name"));
  return m;
}

std::optional<std::vector<message>> messages_in(const json::value& v) {
  const auto list = messages_from_json(v);
  if (!list)
    return std::nullopt;
  return std::vector<message>(list->begin(), list->end());
}

tool_target target_of(const json::value& v) {
  if (!v.is_object())
    return {as_text(v), {}};
  return {text_member(v.get_object(), "$send"), member(v.get_object(), "arg")};
}

tool_command own_command(const json::object& op, running& r, std::string_view messages_key) {
  auto out = tool_command{};
  if (const auto& update = member(op, "update"); update.is_object()) {
    auto fields = tool_update{};
    for (const auto& [key, e] : update.get_object()) {
      auto v = evaluate(e, r.in);
      if (key == messages_key) {
        fields.messages = messages_in(v);
        fields.messages_at = fields.fields.size();
      }
      if (key != messages_key || !fields.messages)
        fields.fields[key] = std::move(v);
    }
    out.update = std::move(fields);
  } else if (!update.is_null()) {
    out.update = messages_in(evaluate(update, r.in)).value_or(std::vector<message>{});
  }
  if (op.contains("goto")) {
    const auto to = r.value(op, "goto");
    if (const auto* list = to.if_array()) {
      auto targets = std::vector<tool_target>{};
      for (const auto& one : *list)
        targets.push_back(target_of(one));
      out.go_to = std::move(targets);
    } else if (!to.is_null()) {
      out.go_to = target_of(to);
    }
  }
  out.to_parent = is_true(member(op, "parent"));
  return out;
}

class case_tool final : public tool {
public:
  case_tool(const json::object& described, count_start count, std::string messages_key)
      : described_{described}, count_{std::move(count)}, messages_key_{std::move(messages_key)} {
    definition_.name = text_member(described_, "name");
    definition_.description = text_member(described_, "description");
    definition_.parameters = member(described_, "schema").as_object();
    wants_pair_ = text_member(described_, "response_format") == "content_and_artifact";
    if (const auto* inject = described_.if_contains("inject"))
      for (const auto& [argument, how] : inject->as_object())
        injections_.push_back(injection_of(argument, how.as_object()));
  }

  [[nodiscard]] const tool_definition& definition() const noexcept override { return definition_; }
  [[nodiscard]] std::vector<injection> injections() const override { return injections_; }

  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& context) const override {
    auto input = json::value(fill_arguments(definition_.parameters, call.args));
    for (const auto& i : injections_)
      input.as_object()[i.argument] = injected_value(i, call, context);
    auto r = running{};
    r.in.input = &input;
    r.environment = context.environment.get();
    if (r.environment != nullptr && r.environment->run)
      r.in.context = r.environment->run->context<json::object>();
    r.count = count_(definition_.name);
    r.in.count = r.count;
    auto ops = run_ops(member(described_, "ops").as_array(), r);
    co_await ops;
    co_return result_of(r);
  }

private:
  static injection injection_of(std::string_view argument, const json::object& how) {
    auto out = injection{std::string{argument}, injection::source::state, {}, {}};
    const auto* state = how.if_contains("state");
    if (how.contains("store")) {
      out.from = injection::source::store;
    } else if (how.contains("tool_call_id")) {
      out.from = injection::source::tool_call_id;
    } else if (how.contains("runtime")) {
      out.from = injection::source::runtime;
    } else if (state != nullptr && state->is_string()) {
      out.from = injection::source::field;
      out.field = text_member(how, "state");
      if (const auto* default_value = how.if_contains("default"))
        out.default_value = *default_value;
    }
    return out;
  }

  static json::value injected_value(const injection& i, const tool_call& call,
                                    const tool_context& context) {
    if (i.from == injection::source::store)
      return nullptr; // programs use the store only through their store ops
    if (i.from != injection::source::runtime)
      return printed(member(call.args, i.argument), true);
    auto names = json::array{};
    for (const auto& definition : *context.environment->tools)
      names.emplace_back(definition.name);
    auto out = json::object{{"tool_call_id", context.tool_call_id}, {"tools", std::move(names)}};
    const auto* state = context.environment ? context.environment->state.get() : nullptr;
    out["state"] = state != nullptr ? printed(state->whole(), true) : json::value{};
    return out;
  }

  tool_output result_of(running& r) const {
    const auto what = r.result != nullptr ? text_member(*r.result, "op") : "return";
    if (wants_pair_ && what != "return_pair")
      throw tool_value_error{
          "Since response_format='content_and_artifact' a two-tuple of the message content and raw "
          "tool output is expected."};
    if (r.result == nullptr)
      return output_of(nullptr);
    const auto& op = *r.result;
    if (what == "return")
      return output_of(r.value(op, "value"));
    auto out = tool_output{};
    if (what == "return_pair") {
      out = output_of(r.value(op, "content"));
      out.artifact = r.value(op, "artifact");
    } else if (what == "return_message") {
      out.reply = tool_reply{own_message(op, r)};
    } else if (what == "command") {
      out.reply = tool_reply{own_command(op, r, messages_key_)};
    } else {
      auto items = std::vector<tool_item>{};
      for (const auto& item : member(op, "items").as_array())
        if (const auto* m = item.as_object().if_contains("message"))
          items.emplace_back(own_message(m->as_object(), r));
        else
          items.emplace_back(own_command(item.at("command").as_object(), r, messages_key_));
      out.reply = tool_reply{std::move(items)};
    }
    return out;
  }

  json::object described_;
  count_start count_;
  std::string messages_key_;
  tool_definition definition_;
  std::vector<injection> injections_;
  bool wants_pair_ = false;
};

} // namespace

tool_ptr make_case_tool(const json::object& described, count_start count,
                        std::string messages_key) {
  return std::make_shared<const case_tool>(described, std::move(count), std::move(messages_key));
}

std::vector<tool_ptr> make_case_tools(const json::object& input, count_start count,
                                      const std::string& messages_key) {
  auto out = std::vector<tool_ptr>{};
  for (const auto& tool : input.at("tools").as_array())
    out.push_back(make_case_tool(tool.as_object(), count, messages_key));
  return out;
}

} // namespace superstep::conformance
