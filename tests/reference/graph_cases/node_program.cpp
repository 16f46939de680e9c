// SPDX-License-Identifier: Apache-2.0
// Runs the programs that recorded cases contain in place of node bodies.
#include "graph_cases/node_program.hpp"

#include <superstep/base/await.hpp>
#include <superstep/checkpoint/store.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace superstep::graph_cases {

namespace {

/// Longer than the two watcher ticks after which a lane leaves a blocking body.
constexpr auto stall = std::chrono::milliseconds{2};

/// The result that the ops of one execution have built so far.
struct building {
  scope in;
  json::object update;
  std::vector<json_target> go_to;
  bool to_parent = false;
  bool has_ended = false;
  std::optional<json_command> returned;
  std::int64_t count = 0;
};

[[noreturn]] void throw_bad_return(const json::value& v) {
  throw graph_error{run_error{make_error_code(graph_errc::invalid_update),
                              "Expected an object, got " + to_text(v) +
                                  "\nReturn a JSON object with the channels to write",
                              {},
                              0,
                              {},
                              1,
                              {}}};
}

json_command as_command(json::value v) {
  if (!v.is_object() && !v.is_null())
    throw_bad_return(v);
  return {std::move(v)};
}

json::object evaluate_members(const json::object& of, scope& in) {
  auto out = json::object{};
  for (const auto& [key, e] : of)
    out[key] = evaluate(e, in);
  return out;
}

json_command several(const json::array& items, scope& in) {
  auto out = json_command{};
  const auto is_command = [](const json::value& item) {
    return !item.as_object().contains("dict");
  };
  if (std::ranges::none_of(items, is_command)) // a list without a command is not an update
    throw_bad_return(items);
  for (const auto& item : items) {
    const auto& o = item.as_object();
    auto command = json_command{};
    auto& into = is_true(member(o, "parent")) ? command : out;
    const auto* update = o.if_contains("dict");
    if (update == nullptr)
      update = o.if_contains("update");
    if (update != nullptr)
      into.more.emplace_back(evaluate_members(update->as_object(), in));
    if (const auto* to = o.if_contains("goto"))
      for (auto& t : targets_of(evaluate(*to, in)))
        into.go_to.push_back(std::move(t));
    if (&into == &command) { // the command ends the graph, so the rest of the list is ignored
      command.to_parent = true;
      return command;
    }
  }
  return out;
}

/// Returns the class of the error that an op raises.
std::string class_in(const json::object& op) {
  return op.contains("error") ? text_member(op, "error") : "CaseError";
}

/// Runs an op that neither waits nor contains other ops. Returns false if the op is unknown here.
bool run_plain(const json::object& op, building& b, const runtime& rt) {
  const auto what = text_member(op, "op");
  const auto value = [&](std::string_view name) { return evaluate(member(op, name), b.in); };
  if (what == "set") {
    b.update[text_member(op, "key")] = value("value");
  } else if (what == "overwrite") {
    b.update[text_member(op, "key")] = json::object{{"__overwrite__", value("value")}};
  } else if (what == "let") {
    b.in.locals[text_member(op, "name")] = value("value");
  } else if (what == "end") {
    b.has_ended = true;
  } else if (what == "fail") {
    if (b.count <= member(op, "times").as_int64())
      throw case_error{class_in(op), "case:fail " + std::to_string(b.count)};
  } else if (what == "raise") {
    throw case_error{class_in(op), "case:" + as_text(value("message"))};
  } else if (what == "write") {
    rt.emit(value("value"));
  } else if (what == "goto") {
    b.go_to = targets_of(value("to"));
  } else if (what == "parent") {
    b.to_parent = true;
  } else if (what == "return") {
    b.returned = as_command(value("value"));
  } else if (what == "multi") {
    b.returned = several(member(op, "items").as_array(), b.in);
  } else {
    return false;
  }
  return true;
}

store_namespace namespace_of(const json::value& labels, scope& in) {
  auto out = store_namespace{};
  if (labels.is_array())
    for (const auto& label : labels.get_array())
      out.push_back(as_text(evaluate(label, in)));
  return out;
}

/// Runs an op on the long-term store. Returns false for all other ops.
bool run_store(const json::object& op, building& b, const runtime& rt) {
  const auto what = text_member(op, "op");
  if (!what.starts_with("store_"))
    return false;
  if (rt.store() == nullptr)
    throw unsupported{"a store op without a store"};
  auto& memory = *rt.store();
  const auto ns = namespace_of(member(op, "ns"), b.in);
  const auto key = [&] { return as_text(evaluate(member(op, "key"), b.in)); };
  if (what == "store_put") {
    const auto v = evaluate(member(op, "value"), b.in);
    memory.put(ns, key(), v.as_object());
  } else if (what == "store_get") {
    const auto found = memory.get(ns, key());
    b.in.locals[text_member(op, "into")] = found ? json::value(*found) : json::value{};
  } else if (what == "store_delete") {
    memory.erase(ns, key());
  } else {
    auto filter = json::object{};
    if (auto given = evaluate(member(op, "filter"), b.in); given.is_object())
      filter = std::move(given.get_object());
    auto found = json::array{};
    for (const auto& item : memory.search({ns, std::move(filter), ~std::size_t{0}, 0})) {
      auto labels = json::array(item.ns.begin(), item.ns.end());
      found.push_back(json::object{{"ns", labels}, {"key", item.key}, {"value", item.value}});
    }
    std::ranges::sort(found, {}, to_canonical_text);
    b.in.locals[text_member(op, "into")] = std::move(found);
  }
  return true;
}

task<json::value> call_graph(const json::object& op, building& b, runtime rt,
                             std::shared_ptr<const graph_library> graphs) {
  const auto found = graphs->find(text_member(op, "graph"));
  auto input = evaluate(member(op, "input"), b.in);
  if (found == graphs->end() || !input.is_object())
    throw unsupported{"a call of what is no graph, or with what is no input"};
  auto running = rt.invoke(found->second, std::move(input.get_object()));
  auto output = co_await running;
  co_return json::value(std::move(output));
}

task<void> run_ops(const json::array& ops, building& b, const runtime& rt,
                   std::shared_ptr<const graph_library> graphs) {
  for (const auto& each : ops) {
    if (b.has_ended || b.returned)
      co_return;
    const auto& op = each.as_object();
    const auto what = text_member(op, "op");
    if (what == "if") {
      const auto chosen = is_true(evaluate(member(op, "cond"), b.in)) ? "then" : "else";
      if (const auto* inner = op.if_contains(chosen); inner != nullptr && inner->is_array()) {
        auto running = run_ops(inner->get_array(), b, rt, graphs);
        co_await running;
      }
    } else if (what == "sleep") {
      const auto length = std::chrono::milliseconds{member(op, "ms").as_int64()};
      co_await sleep_for{length};
    } else if (what == "interrupt") {
      auto asked = rt.interrupt(evaluate(member(op, "value"), b.in));
      auto answer = co_await asked;
      b.in.locals[text_member(op, "into")] = std::move(answer);
    } else if (what == "call") {
      auto calling = call_graph(op, b, rt, graphs);
      auto output = co_await calling;
      b.in.locals[text_member(op, "into")] = std::move(output);
    } else if (!run_store(op, b, rt) && !run_plain(op, b, rt)) {
      throw unsupported{"the op '" + what + "'"};
    }
  }
}

/// Case files store the keys of objects in sorted order, which is also the order of updates.
json::object sorted_by_key(const json::object& of) {
  auto ordered = std::map<std::string, json::value>{};
  for (const auto& [key, v] : of)
    ordered.emplace(key, v);
  auto out = json::object{};
  for (auto& [key, v] : ordered)
    out[key] = std::move(v);
  return out;
}

} // namespace

std::int64_t execution_counts::start(const std::string& node) {
  const auto lock = std::scoped_lock{mutex_};
  return ++counts_[node];
}

unsigned execution_counts::random_turns() {
  const auto lock = std::scoped_lock{mutex_};
  return shuffle_ ? static_cast<unsigned>((*shuffle_)() % 6) : 0U;
}

void execution_counts::random_stall() {
  {
    const auto lock = std::scoped_lock{mutex_};
    if (!shuffle_ || (*shuffle_)() % 64 != 0)
      return;
  }
  std::this_thread::sleep_for(stall);
}

json::object execution_counts::all() const {
  const auto lock = std::scoped_lock{mutex_};
  auto out = json::object{};
  for (const auto& [node, count] : counts_)
    out[node] = count;
  return out;
}

std::vector<json_target> targets_of(const json::value& v) {
  auto out = std::vector<json_target>{};
  if (v.is_array()) {
    for (const auto& one : v.get_array())
      for (auto& t : targets_of(one))
        out.push_back(std::move(t));
  } else if (v.is_object() && v.get_object().contains("$send")) {
    out.emplace_back(text_member(v.get_object(), "$send"), member(v.get_object(), "arg"));
  } else {
    // A value that is not a name cannot be a destination; an empty name reports that.
    out.emplace_back(v.is_string() ? std::string{v.get_string()} : std::string{});
  }
  return out;
}

task<json_command> node_program::run(json::value input, runtime rt) const {
  auto b = building{};
  b.count = counts->start(name);
  b.in.input = &input;
  b.in.context = rt.context<json::object>();
  b.in.attempt = rt.attempt();
  counts->random_stall();
  // Only completions are shuffled: the program has run before its end is delayed.
  auto running = run_ops(ops, b, rt, graphs.lock());
  auto failed = std::exception_ptr{};
  try {
    co_await running;
  } catch (...) {
    failed = std::current_exception();
  }
  for (auto turns = counts->random_turns(); turns > 0; --turns) {
    auto turn = await_callback<int>([](completer<int> done) { done(0); });
    (void)co_await turn;
  }
  if (failed)
    std::rethrow_exception(failed);
  if (b.returned)
    co_return std::move(*b.returned);
  auto out = json_command{};
  if (!b.update.empty())
    out.update = sorted_by_key(b.update);
  out.go_to = std::move(b.go_to);
  out.to_parent = b.to_parent;
  co_return out;
}

} // namespace superstep::graph_cases
