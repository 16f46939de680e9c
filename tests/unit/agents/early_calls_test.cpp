// SPDX-License-Identifier: Apache-2.0
// Tool calls that start while the model still streams its answer, and the listener that detects
// complete calls.
#include "agents/call_listener.hpp"
#include "agents/early_results.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/json_agent.hpp>
#include <superstep/agents/prebuilt_middleware.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/runtime/detail/runtime_access.hpp>
#include <superstep/runtime/graph_error.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace superstep;
using namespace std::chrono_literals;

namespace superstep {
std::ostream& operator<<(std::ostream& out, react_version v); // defined in react_agent_test.cpp
} // namespace superstep

BOOST_AUTO_TEST_SUITE(early_calls_suite)

namespace {

namespace data = boost::unit_test::data;
const auto versions = std::vector<react_version>{react_version::v1, react_version::v2};

message_chunk piece(json::value index, std::optional<std::string> id,
                    std::optional<std::string> name, std::optional<std::string> args) {
  auto out = message_chunk{};
  out.part.type = message_type::ai;
  out.call_chunks.push_back({std::move(name), std::move(args), std::move(id), std::move(index)});
  return out;
}

struct spoken {
  std::string_view name;
  std::vector<message_chunk> pieces;
  std::string told; // complete calls after each piece and, behind |, at the end
};
std::ostream& operator<<(std::ostream& out, const spoken& s) {
  return out << s.name;
}

const auto all_spoken = std::vector<spoken>{
    {"a whole call", {piece(0, "a", "f", R"({"x":1})")}, R"(;|a{"x":1})"},
    {"a call without arguments", {piece(0, "a", "f", "{}")}, ";|a{}"},
    {"brackets and quotes in strings close nothing",
     {piece(0, "a", "f", R"({"x":"}\")"), piece(0, {}, {}, R"(]"})")},
     R"(;;|a{"x":"}\"]"})"},
    {"nested lists and objects",
     {piece(0, "a", "f", R"({"x":[{}])"), piece(0, {}, {}, ",\"y\":{}"), piece(0, {}, {}, "}")},
     R"(;;;|a{"x":[{}],"y":{}})"},
    {"the next call completes the one before",
     {piece(0, "a", "f", "{}"), piece(1, "b", "f", ""), piece(1, {}, {}, "{}")},
     ";a{};;|b{}"},
    {"calls are distinguished by their index",
     {piece(0, "a", "f", "{"), piece(1, "b", "f", "{}"), piece(0, {}, {}, "}")},
     ";;b{};|a{}"},
    {"another id at the same index is another call",
     {piece(0, "a", "f", "{}"), piece(0, "b", "f", "{}")},
     ";a{};|b{}"},
    {"calls without an index arrive whole",
     {piece(nullptr, "a", "f", "{}"), piece(nullptr, "b", "f", "{}")},
     ";a{};|b{}"},
    {"white space may follow", {piece(0, "a", "f", "{}"), piece(0, {}, {}, " \n")}, ";;|a{}"},
    {"several objects are not a call", {piece(0, "a", "f", "{}"), piece(0, {}, {}, " {}")}, ";;|"},
    {"several objects in one piece", {piece(0, "a", "f", R"({"x":1}{"x":2})")}, ";|"},
    {"several objects without an index", {piece(nullptr, "a", "f", "{}{}")}, ";|"},
    {"an object that is not closed", {piece(0, "a", "f", R"({"x":{})")}, ";|"},
    {"no id", {piece(0, {}, "f", "{}")}, ";|"},
    {"a list is not an object", {piece(0, "a", "f", "[]")}, ";|"},
    {"invalid JSON", {piece(0, "a", "f", "{x}")}, ";|"},
    {"too long",
     {piece(0, "a", "f", "{\"x\":\"" + std::string(300'000, 'x')), piece(0, {}, {}, "\"}")},
     ";;|"},
};

/// Ordered log of what happened in a run.
class diary {
public:
  void note(std::string_view event, std::string_view id) {
    const auto lock = std::scoped_lock{mutex_};
    lines_.push_back(std::string{event} + ' ' + std::string{id});
  }
  [[nodiscard]] std::ptrdiff_t count(const std::string& line) const {
    const auto lock = std::scoped_lock{mutex_};
    return std::ranges::count(lines_, line);
  }

private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

tool_call call_of(std::string id) {
  auto out = tool_call{std::move(id), "echo", {}};
  out.args["n"] = out.id;
  return out;
}

/// Streams a call in two pieces and starts another, continues once `heard` is true, then returns
/// `answer`.
class speaking_model final : public chat_model {
public:
  speaking_model(result<message> answer, std::function<bool()> heard)
      : answer_{std::move(answer)}, heard_{std::move(heard)} {}

  task<result<message>> complete(model_request request) const override {
    if (request.turn > 0)
      co_return ai_message("done");
    if (request.on_chunk) {
      request.on_chunk(piece(0, "a", "echo", R"({"n":)"));
      request.on_chunk(piece(0, {}, {}, R"("a"})"));
      request.on_chunk(piece(1, "b", "echo", "{"));
      for (auto i = 0; i < 20'000 && !heard_(); ++i)
        co_await sleep_for{1ms};
      if (!heard_())
        co_return error{model_errc::timed_out, "nobody has begun the call"};
      request.on_chunk(piece(1, {}, {}, R"("n":"b"})"));
      auto last = message_chunk{};
      last.is_last = true;
      request.on_chunk(last);
    }
    co_return answer_;
  }
  std::string fingerprint() const override { return "speaking"; }

private:
  result<message> answer_;
  std::function<bool()> heard_;
};

/// A tool with the name `echo` that logs in a diary.
class diary_tool : public tool {
public:
  explicit diary_tool(std::shared_ptr<diary> events) : events_{std::move(events)} {
    definition_.name = "echo";
    definition_.description = "Repeats.";
    definition_.parameters["type"] = "object";
  }
  const tool_definition& definition() const noexcept override { return definition_; }

protected:
  std::shared_ptr<diary> events_;

private:
  tool_definition definition_;
};

/// Logs its runs. Needs the state around its calls if configured so.
class echo_tool final : public diary_tool {
public:
  explicit echo_tool(std::shared_ptr<diary> events = nullptr, bool needs_state = false)
      : diary_tool{std::move(events)}, needs_state_{needs_state} {}
  std::vector<injection> injections() const override {
    return needs_state_ ? std::vector<injection>{{"n", injection::source::state, {}, {}}}
                        : std::vector<injection>{};
  }
  task<tool_output> run(const tool_call& call, const tool_context& context) const override {
    auto out = tool_output{};
    out.content = "got " + to_text(call.args) + " in " + context.node;
    if (events_)
      events_->note("ran", call.id);
    co_return out;
  }

private:
  bool needs_state_;
};

/// Streams two calls, but no piece that ends the answer, as a model of the application may do. Only
/// the answer shows that the second call is complete.
class terse_model final : public chat_model {
public:
  task<result<message>> complete(model_request request) const override {
    if (request.turn > 0)
      co_return ai_message("done");
    if (request.on_chunk) {
      request.on_chunk(piece(0, "a", "echo", R"({"n":"a"})"));
      request.on_chunk(piece(1, "b", "echo", R"({"n":"b"})"));
    }
    co_return ai_message("", {call_of("a"), call_of("b")});
  }
  std::string fingerprint() const override { return "terse"; }
};

/// Logs whether the calls `a` and `b` ran at the same time.
class meeting_tool final : public diary_tool {
public:
  using diary_tool::diary_tool;
  task<tool_output> run(const tool_call& call, const tool_context&) const override {
    events_->note("began", call.id);
    const auto both = [&] {
      return events_->count("began a") > 0 && events_->count("began b") > 0;
    };
    for (auto i = 0; i < 5'000 && !both(); ++i)
      co_await sleep_for{1ms};
    if (both())
      events_->note("met", call.id);
    auto out = tool_output{};
    out.content = call.id;
    co_return out;
  }
};

/// Asks a question in each call.
class asking_tool final : public diary_tool {
public:
  using diary_tool::diary_tool;
  task<tool_output> run(const tool_call& call, const tool_context& context) const override {
    const auto& run = *context.environment->run;
    events_->note(*run.context<std::string>(), call.id);
    auto asked = run.interrupt(call.id + '?');
    const auto answer = co_await asked;
    auto out = tool_output{};
    out.content = std::string{answer.as_string()};
    co_return out;
  }
};

struct told {
  run_result<chat_state> ended;
  std::shared_ptr<diary> events = std::make_shared<diary>();
};

told run(result<message> answer, react_version version, bool is_early) {
  auto out = told{};
  auto options = react_agent_options<chat_state>{};
  options.version = version;
  options.tools = {std::make_shared<const echo_tool>()};
  if (is_early)
    options.early_tools = {"echo"};
  options.model = std::make_shared<const speaking_model>(
      std::move(answer), [events = out.events] { return events->count("tool_end a") > 0; });
  const auto graph = create_react_agent(std::move(options));
  auto context = std::make_shared<agent_context>();
  context->observe = [events = out.events](const call_event& seen) {
    events->note(seen.event, seen.call_id);
  };
  auto config = run_config{};
  config.context = context;
  auto e = engine{};
  auto begin = chat_state{};
  begin.messages.push_back(human_message("hi"));
  out.ended = e.try_invoke(graph, std::move(begin), std::move(config));
  return out;
}

std::string text_of(const chat_state& state) {
  auto out = std::string{};
  for (auto m : state.messages) {
    m.id.clear(); // random ids
    out += to_text(to_json(m)) + '\n';
  }
  return out + std::to_string(state.model_calls) + ' ' + std::to_string(state.tool_calls);
}

/// Runs an agent of create_react_agent() over structs or over JSON and returns its state as text,
/// without random ids. @{
template <class Options>
Options options_of(result<message> answer, react_version version, bool is_early,
                   const std::shared_ptr<diary>& events) {
  auto out = Options{};
  out.version = version;
  out.tools = {std::make_shared<const echo_tool>(events)};
  if (is_early)
    out.early_tools = {"echo"};
  out.model = std::make_shared<const speaking_model>(
      std::move(answer), [events] { return events->count("ran a") > 0; });
  return out;
}

std::string run_struct(result<message> answer, react_version version, bool is_early,
                       const std::shared_ptr<diary>& events) {
  auto e = engine{};
  auto begin = messages_state{};
  begin.messages.push_back(human_message("hi"));
  const auto graph = create_react_agent(options_of<react_agent_options<messages_state>>(
      std::move(answer), version, is_early, events));
  const auto ended = e.try_invoke(graph, std::move(begin));
  if (ended.error)
    return ended.error->text;
  auto out = std::string{};
  for (auto m : ended.state.messages) {
    m.id.clear();
    out += to_text(to_json(m)) + '\n';
  }
  return out;
}

std::string run_json(result<message> answer, react_version version, bool is_early,
                     const std::shared_ptr<diary>& events) {
  auto e = engine{};
  const auto graph = create_react_agent(
      options_of<react_agent_options<json::value>>(std::move(answer), version, is_early, events));
  auto input = json::object{};
  input["messages"] = json::array(1, to_json(human_message("hi")));
  const auto raw = e.try_invoke(graph, input);
  if (raw.error)
    return raw.error->text;
  auto ended = raw.state;
  for (auto& m : ended.at("messages").as_array())
    m.as_object().erase("id");
  return to_text(ended);
}
/// @}

struct kind {
  std::string_view name;
  std::string (*run)(result<message>, react_version, bool, const std::shared_ptr<diary>&);
};
std::ostream& operator<<(std::ostream& out, const kind& k) {
  return out << k.name;
}
const auto kinds = std::vector<kind>{{"structs", &run_struct}, {"JSON", &run_json}};

} // namespace

BOOST_DATA_TEST_CASE(call_listener_reports_only_complete_tool_calls, data::make(all_spoken), s) {
  auto listener = call_listener{};
  auto said = std::string{};
  const auto hear = [&](const message_chunk& one) {
    for (const auto& call : listener.add(one))
      said += call.id + to_text(call.args);
  };
  for (const auto& one : s.pieces) {
    hear(one);
    said += ';';
  }
  said += '|';
  auto last = message_chunk{};
  last.is_last = true;
  hear(last);
  BOOST_TEST(said == s.told);
}

BOOST_DATA_TEST_CASE(early_tool_start_does_not_change_final_state, data::make(versions), version) {
  const auto answer = ai_message("", {call_of("a"), call_of("b")});
  // The model waits for the first call to finish, so only an early start can end the run.
  const auto early = run(answer, version, true);
  const auto late = run(answer, version, false);
  BOOST_REQUIRE(!early.ended.error);
  BOOST_REQUIRE(!late.ended.error);
  BOOST_TEST(text_of(early.ended.state) == text_of(late.ended.state));
  for (const auto& ran : {early, late}) {
    BOOST_TEST(ran.events->count("tool_start a") == 1);
    BOOST_TEST(ran.events->count("tool_start b") == 1);
    BOOST_TEST(ran.events->count("tool_discarded a") == 0);
  }
}

BOOST_DATA_TEST_CASE(early_call_missing_from_answer_is_discarded, data::make(versions), version) {
  const auto answer = ai_message("", {call_of("b")});
  const auto early = run(answer, version, true);
  const auto late = run(answer, version, false);
  BOOST_REQUIRE(!early.ended.error);
  BOOST_TEST(text_of(early.ended.state) == text_of(late.ended.state));
  BOOST_TEST(early.events->count("tool_discarded a") == 1);
  BOOST_TEST(early.events->count("tool_discarded b") == 0);
  BOOST_TEST(early.events->count("tool_start b") == 1);
}

BOOST_DATA_TEST_CASE(last_call_starts_while_early_calls_run, data::make(versions), version) {
  const auto events = std::make_shared<diary>();
  auto options = react_agent_options<chat_state>{};
  options.version = version;
  options.tools = {std::make_shared<const meeting_tool>(events)};
  options.early_tools = {"echo"};
  options.model = std::make_shared<const terse_model>();
  const auto graph = create_react_agent(std::move(options));
  auto e = engine{};
  auto begin = chat_state{};
  begin.messages.push_back(human_message("hi"));
  const auto ended = e.try_invoke(graph, std::move(begin));
  BOOST_REQUIRE(!ended.error);
  for (const auto* const id : {"a", "b"}) {
    BOOST_TEST(events->count(std::string{"began "} + id) == 1);
    BOOST_TEST(events->count(std::string{"met "} + id) == 1);
  }
}

BOOST_DATA_TEST_CASE(early_call_that_interrupts_runs_again_in_its_turn, data::make(versions),
                     version) {
  const auto events = std::make_shared<diary>();
  auto options = react_agent_options<chat_state>{};
  options.version = version;
  options.tools = {std::make_shared<const asking_tool>(events)};
  options.early_tools = {"echo"};
  options.model = std::make_shared<const terse_model>();
  options.checkpointer = memory_checkpointer();
  const auto graph = create_react_agent(std::move(options));
  auto e = engine{};
  auto config = run_config{};
  config.thread_id = "t";
  config.context = std::make_shared<const std::string>("asked");
  auto begin = chat_state{};
  begin.messages.push_back(human_message("hi"));
  const auto stopped = e.try_invoke(graph, std::move(begin), config);
  BOOST_REQUIRE(!stopped.error);
  BOOST_REQUIRE(stopped.interrupts.size() == 2U);
  BOOST_TEST(events->count("asked a") == 2); // early and in its turn
  auto answers = std::map<std::string, json::value>{};
  for (const auto& i : stopped.interrupts)
    answers[i.id] = "yes";
  const auto done = e.try_invoke(graph, resume{answers}, config);
  BOOST_REQUIRE(!done.error);
  BOOST_TEST(done.state.messages.back().content == "done");
  BOOST_TEST(done.state.messages[2].content == "yes");
}

BOOST_AUTO_TEST_CASE(failed_stream_fails_run_and_discards_early_calls) {
  const auto ended =
      run(error{model_errc::unreachable, "the line is dead"}, react_version::v2, true);
  BOOST_REQUIRE(ended.ended.error.has_value());
  BOOST_TEST(ended.ended.error->text.find("the line is dead") != std::string::npos);
  BOOST_TEST(ended.events->count("tool_discarded a") == 1);
  BOOST_TEST(ended.events->count("tool_discarded b") == 1);
}

BOOST_DATA_TEST_CASE(every_agent_kind_starts_calls_early, data::make(kinds) * data::make(versions),
                     over, version) {
  const auto answer = ai_message("", {call_of("a"), call_of("b")});
  const auto events = std::make_shared<diary>();
  const auto early = over.run(answer, version, true, events);
  BOOST_TEST(events->count("ran a") == 1);
  BOOST_TEST(events->count("ran b") == 1);
  BOOST_TEST(early == over.run(answer, version, false, std::make_shared<diary>()));
  BOOST_TEST(early.find("got {\\\"n\\\":\\\"a\\\"} in tools") != std::string::npos, early);
}

BOOST_DATA_TEST_CASE(every_agent_kind_discards_calls_missing_from_answer,
                     data::make(kinds) * data::make(versions), over, version) {
  const auto answer = ai_message("", {call_of("b")});
  const auto events = std::make_shared<diary>();
  const auto early = over.run(answer, version, true, events);
  BOOST_TEST(events->count("ran a") == 1);
  BOOST_TEST(events->count("ran b") == 1);
  BOOST_TEST(early == over.run(answer, version, false, std::make_shared<diary>()));
}

BOOST_AUTO_TEST_CASE(failed_stream_fails_run_of_struct_agent) {
  const auto told = run_struct(error{model_errc::unreachable, "the line is dead"},
                               react_version::v2, true, std::make_shared<diary>());
  BOOST_TEST(told.find("the line is dead") != std::string::npos, told);
}

BOOST_AUTO_TEST_CASE(tools_that_cannot_start_early_are_rejected) {
  const auto refused = [](agent_tools tools, std::string name) {
    auto options = react_agent_options<messages_state>{};
    options.model = std::make_shared<const speaking_model>(ai_message("x"), [] { return true; });
    options.tools = std::move(tools);
    options.early_tools = {std::move(name)};
    try {
      static_cast<void>(create_react_agent(std::move(options)));
    } catch (const compile_error& e) {
      return std::string{e.what()};
    }
    return std::string{"it was built"};
  };
  const auto plain = tool_list{std::make_shared<const echo_tool>()};
  BOOST_TEST(refused(plain, "echo") == "it was built");
  BOOST_TEST(refused(plain, "ecco").find("'ecco' is not a tool of the agent") != std::string::npos);
  const auto nosy = tool_list{std::make_shared<const echo_tool>(nullptr, true)};
  BOOST_TEST(refused(nosy, "echo").find("has injected arguments") != std::string::npos);
  auto watched = tool_node_options{};
  watched.wrap_call = [](tool_request request, tool_execute run) {
    return run(std::move(request));
  };
  BOOST_TEST(refused(tool_node{plain, watched}, "echo").find("interceptor") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(early_tools_are_rejected_beside_late_hooks) {
  const auto refused = [](agent_options<messages_state> options) {
    options.model = std::make_shared<const speaking_model>(ai_message("x"), [] { return true; });
    options.tools = {std::make_shared<const echo_tool>()};
    options.early_tools = {"echo"};
    try {
      static_cast<void>(create_agent(std::move(options)));
    } catch (const compile_error& e) {
      return std::string{e.what()};
    }
    return std::string{"it was built"};
  };
  auto reviewed = agent_options<messages_state>{};
  reviewed.middleware = {human_in_the_loop({.tools = {"echo"}})};
  BOOST_TEST(refused(std::move(reviewed)).find("middleware::after_model") != std::string::npos);
  auto hooked = agent_options<messages_state>{};
  hooked.post_model_hook = [](const messages_state&, const runtime&) {};
  BOOST_TEST(refused(std::move(hooked)).find("post_model_hook") != std::string::npos);
  auto retried = agent_options<messages_state>{};
  retried.middleware = {model_retry()};
  BOOST_TEST(refused(std::move(retried)) == "it was built");
}

BOOST_AUTO_TEST_CASE(unused_early_results_of_run_are_dropped) {
  const auto results = early_results{};
  const auto start = [] {
    return detail::runtime_access::make(std::make_shared<const run_config>(), "model", 1, 0);
  };
  const auto answer = std::make_shared<const message>(tool_message("x", "a", "echo"));
  const auto run = start();
  const auto other = start();
  for (const auto& one : {run, other})
    results.keep(one, call_of("a"), answer);
  results.drop(run);
  BOOST_TEST((results.take(run, call_of("a")) == nullptr));
  BOOST_TEST((results.take(other, call_of("a")) == answer));
}

BOOST_AUTO_TEST_CASE(unknown_early_tools_are_rejected) {
  auto options = react_agent_options<chat_state>{};
  options.model = std::make_shared<const speaking_model>(ai_message("x"), [] { return true; });
  options.early_tools = {"echo"};
  BOOST_CHECK_THROW(static_cast<void>(create_react_agent(std::move(options))), compile_error);
}

BOOST_AUTO_TEST_SUITE_END()
