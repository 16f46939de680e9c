// SPDX-License-Identifier: Apache-2.0
// Executes the calls of a recorded case and returns their trace.
#include "graph_cases/case_run.hpp"

#include "actors/engine_access.hpp"
#include "graph_cases/case_graph.hpp"
#include "graph_cases/trace.hpp"

#include <superstep/checkpoint/store.hpp>
#include <superstep/threads/snapshot.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace superstep::graph_cases {

namespace {

std::optional<std::vector<std::string>> names_in(const json::object& what, std::string_view key) {
  const auto* given = what.if_contains(key);
  if (given == nullptr || given->is_null())
    return std::nullopt;
  auto out = std::vector<std::string>{};
  if (given->is_string())
    out.emplace_back(given->get_string());
  else
    for (const auto& name : given->as_array())
      out.emplace_back(name.as_string());
  return out;
}

[[noreturn]] void throw_invalid(graph_errc code, std::string text) {
  throw graph_error{run_error{make_error_code(code), std::move(text), {}, 0, {}, 1, {}}};
}

class case_runner {
public:
  case_runner(const json::object& test_case, engine& e, std::optional<std::uint64_t> seed)
      : engine_{e}, counts_{std::make_shared<execution_counts>(seed)},
        graphs_{build(test_case, counts_)} {}

  json::object call(const json::object& what) {
    const auto verb = text_member(what, "do");
    if (graphs_.checkpointer)
      graphs_.checkpointer->reopen();
    auto out = json::object{};
    try {
      if (verb == "invoke") {
        out = invoke(what);
      } else if (verb == "stream") {
        out = stream(what);
      } else if (verb == "get_state") {
        return {{"state",
                 describe_state(get_state(table(), place(what), is_true(member(what, "subgraphs"))),
                                graphs_)}};
      } else if (verb == "history") {
        return {{"history", history(what)}};
      } else if (verb == "update_state") {
        update(what);
        return {{"ok", true}};
      } else if (verb == "store_dump") {
        return {{"store", dump_store()}};
      } else {
        throw unsupported{"the call '" + verb + "'"};
      }
    } catch (const graph_error&) {
      out["error"] = describe_error(std::current_exception());
    }
    if (verb == "invoke" || verb == "stream")
      out["execs"] = counts_->all();
    return out;
  }

  /// Makes the process "die" at the n-th checkpoint from now on; see case_checkpointer. @pre the
  /// case has a checkpointer
  void die_with(std::size_t nth) {
    has_died_ = false;
    graphs_.checkpointer->die_with(nth);
  }
  [[nodiscard]] bool has_died() const noexcept { return has_died_; }

private:
  [[nodiscard]] const detail::program_ptr& table() const {
    return detail::program_of(graphs_.main());
  }

  [[nodiscard]] static std::string thread_of(const json::object& what) {
    return what.contains("thread") ? text_member(what, "thread") : "t";
  }

  /// Returns the id of the checkpoint that a call names by its position in the history; empty if
  /// none.
  [[nodiscard]] std::string checkpoint_of(const json::object& what) const {
    const auto* index = what.if_contains("checkpoint");
    if (index == nullptr || index->is_null())
      return {};
    const auto all = state_history(table(), {thread_of(what), {}, {}});
    const auto i = static_cast<std::size_t>(index->as_int64());
    if (i >= all.size())
      throw unsupported{"a checkpoint that the history does not have"};
    return all[i].checkpoint->id;
  }

  [[nodiscard]] detail::thread_place place(const json::object& what) const {
    return {thread_of(what), checkpoint_of(what), {}};
  }

  [[nodiscard]] detail::run_input input(const json::object& what) const {
    auto said = detail::thread_command{};
    said.ignore_unknown_ids = true;
    if (what.contains("resume")) {
      said.resume = what.at("resume");
    } else if (what.contains("resume_map")) {
      said.resume_by_id = answers(what);
    } else if (what.contains("command")) {
      const auto& given = what.at("command").as_object();
      auto out = node_output{};
      if (given.contains("update"))
        for (auto& w : detail::adapter_of(graphs_.main()).edit(given.at("update").as_object()))
          said.output.writes.push_back(std::move(w));
      if (given.contains("goto"))
        table()->go_to(out, text_member(given, "goto"));
      said.output.targets.assign(out.targets.begin(), out.targets.end());
      if (given.contains("resume"))
        said.resume = given.at("resume");
    } else {
      return plain_input(member(what, "input"));
    }
    return said;
  }

  [[nodiscard]] detail::run_input plain_input(const json::value& given) const {
    if (given.is_null())
      return detail::run_input::resume();
    if (!given.is_object())
      throw_invalid(graph_errc::invalid_update,
                    "Expected an object, got " + to_text(given) + "\nReturn a JSON object");
    return detail::adapter_of(graphs_.main()).input(given.get_object());
  }

  /// Assigns each answer to the first unanswered pending interrupt with the given value.
  [[nodiscard]] std::map<std::string, json::value> answers(const json::object& what) const {
    auto open = get_state(table(), {thread_of(what), {}, {}}).interrupts();
    auto out = std::map<std::string, json::value>{};
    for (const auto& pair : what.at("resume_map").as_array()) {
      const auto found =
          std::ranges::find_if(open, [&](const interrupt& q) { return q.value == pair.at(0); });
      if (found == open.end())
        continue;
      out.emplace(found->id, pair.at(1));
      open.erase(found);
    }
    return out;
  }

  [[nodiscard]] run_config config_of(const json::object& what) const {
    auto out = run_config{};
    if (const auto* limit = what.if_contains("recursion_limit"); limit && limit->is_int64())
      out.recursion_limit =
          static_cast<std::uint32_t>(std::max<std::int64_t>(0, limit->get_int64()));
    if (const auto* context = what.if_contains("context"); context && context->is_object())
      out.context = std::make_shared<const json::object>(context->get_object());
    out.thread_id = thread_of(what);
    auto& thread = out.thread.emplace();
    if (const auto when = text_member(what, "durability"); when == "exit")
      thread.durability = durability::exit;
    else if (when == "sync")
      thread.durability = durability::sync;
    thread.interrupt_before = names_in(what, "interrupt_before");
    thread.interrupt_after = names_in(what, "interrupt_after");
    thread.checkpoint_id = checkpoint_of(what);
    return out;
  }

  json::object invoke(const json::object& what) {
    // The result of a call is the last event of a `values` stream, if there is one.
    auto last = json::value{};
    const auto result = follow(what, stream_mode::values, [&](const detail::run_event& event) {
      if (event.changes.empty() || detail::adapter_of(graphs_.main()).is_output(event.changes))
        last = shown(detail::adapter_of(graphs_.main()).read(*event.state));
    });
    return {
        {"out", std::move(last)},
        {"interrupts", describe_questions(result.interrupts.value_or(std::vector<interrupt>{}))}};
  }

  /// Runs a call to its end. If the process dies on the way, the next one resumes.
  template <class See>
  detail::raw_result follow(const json::object& what, stream_mode modes, See see) {
    auto was_told = false;
    try {
      auto run = detail::engine_access::open_stream(engine_, table(), input(what), modes,
                                                    config_of(what), 64);
      while (const auto event = run.next()) {
        see(*event);
        was_told = true;
      }
      return run.result();
    } catch (const graph_error&) {
      if (!graphs_.checkpointer || !graphs_.checkpointer->is_dead())
        throw;
    }
    graphs_.checkpointer->revive();
    graphs_.checkpointer->reopen();
    has_died_ = true;
    auto rest = what;
    rest.erase("checkpoint"); // already applied: the thread resumes from its newest checkpoint
    auto run = detail::engine_access::open_stream(engine_, table(), detail::run_input::resume(),
                                                  modes, config_of(rest), 64);
    while (const auto event = run.next()) {
      // A resumed run first emits its current values; an uninterrupted run does not. Drop them if
      // the dead process has already emitted them or its run started with an input.
      const auto is_greeting = (was_told || !member(what, "input").is_null()) &&
                               event->mode == stream_mode::values && event->changes.empty() &&
                               !event->interrupts && event->path == nullptr;
      if (!is_greeting)
        see(*event);
    }
    return run.result();
  }

  json::object stream(const json::object& what) {
    auto modes = is_true(member(what, "subgraphs")) ? stream_mode::subgraphs : stream_mode::none;
    for (const auto& m : member(what, "modes").as_array())
      modes = modes | mode_of(m.as_string());
    auto events = json::array{};
    auto out = json::object{};
    try {
      static_cast<void>(follow(what, modes, [&](const detail::run_event& event) {
        events.push_back(describe_event(event, graphs_));
      }));
    } catch (const graph_error& e) {
      out["error"] = describe_error(e.details());
    }
    out["events"] = std::move(events);
    return out;
  }

  static stream_mode mode_of(std::string_view name) {
    static const auto known =
        std::map<std::string, stream_mode, std::less<>>{{"values", stream_mode::values},
                                                        {"updates", stream_mode::updates},
                                                        {"custom", stream_mode::custom},
                                                        {"tasks", stream_mode::tasks},
                                                        {"checkpoints", stream_mode::checkpoints}};
    const auto found = known.find(name);
    if (found == known.end())
      throw unsupported{"the stream mode '" + std::string{name} + "'"};
    return found->second;
  }

  json::array history(const json::object& what) const {
    auto query = checkpoint_query{};
    if (const auto* limit = what.if_contains("limit"); limit && limit->is_int64())
      query.limit = static_cast<std::size_t>(limit->get_int64());
    auto out = json::array{};
    for (const auto& state : state_history(table(), {thread_of(what), {}, {}}, query))
      out.push_back(describe_state(state, graphs_));
    return out;
  }

  void update(const json::object& what) const {
    auto edit = detail::state_edit{};
    const auto node = text_member(what, "as_node");
    if (const auto& values = member(what, "values"); values.is_object())
      edit = detail::edit_for(graphs_.main(), {values.get_object(), node});
    else
      edit.as_node = node;
    update_state(table(), place(what), std::move(edit));
  }

  [[nodiscard]] json::array dump_store() const {
    auto out = json::array{};
    if (!graphs_.store)
      return out;
    for (const auto& item : graphs_.store->search({{}, {}, ~std::size_t{0}, 0})) {
      auto ns = json::array{};
      for (const auto& label : item.ns)
        ns.emplace_back(label);
      out.push_back(json::array{std::move(ns), item.key, item.value});
    }
    return out;
  }

  engine& engine_;
  bool has_died_ = false;
  std::shared_ptr<execution_counts> counts_;
  case_graphs graphs_;
};

} // namespace

json::array run_case(const json::object& test_case, engine& e, std::optional<std::uint64_t> seed) {
  auto trace = json::array{};
  try {
    auto runner = case_runner{test_case, e, seed};
    for (const auto& call : test_case.at("script").as_array())
      trace.emplace_back(runner.call(call.as_object()));
  } catch (const compile_error&) {
    trace.emplace_back(json::object{{"error", {{"kind", "build_error"}}}});
  } catch (const unsupported& lacking) {
    trace.emplace_back(json::object{{"unsupported", lacking.what()}});
  }
  return trace;
}

std::optional<json::array> run_killed(const json::object& test_case, engine& e,
                                      std::optional<std::uint64_t> seed, std::size_t call,
                                      std::size_t checkpoint) {
  auto trace = json::array{};
  auto runner = case_runner{test_case, e, seed};
  auto has_died = false;
  const auto& script = test_case.at("script").as_array();
  for (auto i = std::size_t{0}; i < script.size(); ++i) {
    if (i == call)
      runner.die_with(checkpoint);
    trace.emplace_back(runner.call(script[i].as_object()));
    if (i == call) {
      has_died = runner.has_died();
      runner.die_with(0);
    }
  }
  return has_died ? std::optional{std::move(trace)} : std::nullopt;
}

} // namespace superstep::graph_cases
