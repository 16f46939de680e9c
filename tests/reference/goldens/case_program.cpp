// SPDX-License-Identifier: Apache-2.0
// Runs the programs that recorded cases contain in place of code.
#include "case_program.hpp"

#include "agent_form.hpp"
#include "case_errors.hpp"

#include <superstep/base/await.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <stdexcept>
#include <utility>

namespace superstep::conformance {

namespace {

using graph_cases::as_text;
using graph_cases::evaluate;
using graph_cases::member;
using graph_cases::text_member;

store_namespace namespace_of(const json::value& labels, graph_cases::scope& in) {
  auto out = store_namespace{};
  if (labels.is_array())
    for (const auto& label : labels.get_array())
      out.push_back(as_text(evaluate(label, in)));
  return out;
}

/// Runs an op that does not wait, contain other ops, or end the program. Returns false for every
/// other op, without running it.
bool run_plain(const json::object& op, program_end& at, const runtime& rt) {
  const auto what = text_member(op, "op");
  const auto value = [&](std::string_view name) { return evaluate(member(op, name), at.in); };
  if (what == "set")
    at.set[text_member(op, "key")] = value("value");
  else if (what == "let")
    at.in.locals[text_member(op, "name")] = value("value");
  else if (what == "fail") {
    if (at.in.count <= member(op, "times").as_int64())
      raise(text_member(op, "error"), "fail " + std::to_string(at.in.count));
  } else if (what == "raise")
    raise(text_member(op, "error"), as_text(value("message")));
  else if (what == "write")
    rt.emit(value("value"));
  else if (what == "goto")
    at.go_to = targets_of(value("to"));
  else if (what.starts_with("store_"))
    run_store(op, at.in, rt.store());
  else
    return false;
  return true;
}

bool gives_result(std::string_view op) {
  static const auto ops = std::set<std::string, std::less<>>{"return", "return_pair",
                                                             "return_message", "command", "multi"};
  return ops.contains(op);
}

task<void> run_ops(const json::array& ops, program_end& at, const runtime& rt) {
  for (const auto& each : ops) {
    if (at.result != nullptr)
      co_return;
    const auto& op = each.as_object();
    const auto what = text_member(op, "op");
    if (what == "if") {
      const auto* chosen =
          graph_cases::is_true(evaluate(member(op, "cond"), at.in)) ? "then" : "else";
      if (const auto* inner = op.if_contains(chosen); inner != nullptr && inner->is_array()) {
        auto running = run_ops(inner->get_array(), at, rt);
        co_await running;
      }
    } else if (what == "sleep") {
      const auto length = std::chrono::milliseconds{member(op, "ms").as_int64()};
      co_await sleep_for{length};
    } else if (what == "interrupt") {
      auto asked = rt.interrupt(evaluate(member(op, "value"), at.in));
      auto answer = co_await asked;
      at.in.locals[text_member(op, "into")] = std::move(answer);
    } else if (gives_result(what)) {
      at.result = &op;
    } else if (!run_plain(op, at, rt)) {
      throw std::logic_error{"unknown op '" + what + "'"};
    }
  }
}

} // namespace

void run_store(const json::object& op, graph_cases::scope& in, store* memory) {
  const auto what = text_member(op, "op");
  if (memory == nullptr)
    throw std::logic_error{"a store op without a store"};
  const auto ns = namespace_of(member(op, "ns"), in);
  const auto key = [&] { return as_text(evaluate(member(op, "key"), in)); };
  if (what == "store_put") {
    memory->put(ns, key(), evaluate(member(op, "value"), in).as_object());
  } else if (what == "store_get") {
    const auto found = memory->get(ns, key());
    in.locals[text_member(op, "into")] = found ? json::value(*found) : json::value{};
  } else if (what == "store_delete") {
    memory->erase(ns, key());
  } else {
    auto query = store_query{};
    query.prefix = ns;
    query.limit = 1000;
    auto found = json::array{};
    for (const auto& item : memory->search(query))
      found.push_back(json::object{{"ns", json::array(item.ns.begin(), item.ns.end())},
                                   {"key", item.key},
                                   {"value", item.value}});
    std::ranges::sort(found, {}, to_canonical_text);
    in.locals[text_member(op, "into")] = std::move(found);
  }
}

std::int64_t start_counts::start(const std::string& name) {
  const auto lock = std::scoped_lock{mutex_};
  return ++counts_[name];
}

json::object start_counts::all() const {
  const auto lock = std::scoped_lock{mutex_};
  auto out = json::object{};
  for (const auto& [name, count] : counts_)
    out[name] = count;
  return out;
}

std::vector<json_target> targets_of(const json::value& v) {
  auto out = std::vector<json_target>{};
  if (const auto* list = v.if_array()) {
    for (const auto& one : *list)
      for (auto& target : targets_of(one))
        out.push_back(std::move(target));
  } else if (v.is_object()) {
    out.emplace_back(text_member(v.get_object(), "$send"), member(v.get_object(), "arg"));
  } else {
    out.emplace_back(as_text(v));
  }
  return out;
}

task<program_end> run_program(const json::array& ops, graph_cases::scope in, runtime rt) {
  auto at = program_end{};
  at.in = std::move(in);
  auto running = run_ops(ops, at, rt);
  co_await running;
  co_return at;
}

json_command node_result(program_end end) {
  auto out = json_command{};
  out.go_to = std::move(end.go_to);
  if (end.result == nullptr) {
    if (!end.set.empty())
      out.update = std::move(end.set);
    return out;
  }
  const auto& op = *end.result;
  if (text_member(op, "op") == "return") {
    out.update = evaluate(member(op, "value"), end.in);
    return out;
  }
  if (text_member(op, "op") != "command")
    throw std::logic_error{"invalid final op of a node: " + text_member(op, "op")};
  if (const auto& update = member(op, "update"); update.is_object()) {
    auto& values = out.update.emplace_object();
    for (const auto& [key, e] : update.get_object())
      values[key] = evaluate(e, end.in);
  } else if (!update.is_null()) {
    out.update = json::object{{"messages", evaluate(update, end.in)}};
  }
  if (const auto* to = op.if_contains("goto"))
    out.go_to = targets_of(evaluate(*to, end.in));
  out.to_parent = graph_cases::is_true(member(op, "parent"));
  return out;
}

task<json_command> node_of_case::run(json::value state, runtime rt) const {
  auto seen = seen_form(state);
  auto in = graph_cases::scope{};
  in.input = &seen;
  in.context = rt.context<json::object>();
  in.count = counts->start(name);
  auto running = run_program(ops, std::move(in), rt);
  auto end = co_await running;
  co_return node_result(std::move(end));
}

} // namespace superstep::conformance
