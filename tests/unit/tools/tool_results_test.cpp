// SPDX-License-Identifier: Apache-2.0
// Results of tools, injected arguments, exclusive calls, interceptors, and tool nodes as graph
// nodes.
#include "tools/call_gate.hpp"

#include <superstep/base/await.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/runtime/detail/runtime_access.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(tool_results)

namespace {

struct text_args {
  std::string text;
};
BOOST_DESCRIBE_STRUCT(text_args, (), (text))

struct note_args {
  std::string text;
  from_state<"user", std::string> user;
  from_state<"mood", std::optional<std::string>> mood;
  whole_state state;
  injected_store memory;
  injected_call_id id;
};
BOOST_DESCRIBE_STRUCT(note_args, (), (text, user, mood, state, memory, id))

struct pay_args {
  int cents = 0;
  from_state<"token", std::string> token;
  whole_state state;
};
BOOST_DESCRIBE_STRUCT(pay_args, (), (cents, token, state))

/// A tool with injected arguments that returns the arguments it received.
class telling final : public tool {
public:
  explicit telling(std::vector<injection> wanted) : wanted_{std::move(wanted)} {
    definition_.name = "telling";
    auto properties = json::object{{"x", {{"type", "integer"}}}, {"st", json::object{}}};
    definition_.parameters = {{"type", "object"},
                              {"properties", std::move(properties)},
                              {"required", {"x", "st"}},
                              {"additionalProperties", false}};
  }
  [[nodiscard]] const tool_definition& definition() const noexcept override { return definition_; }
  [[nodiscard]] std::vector<injection> injections() const override { return wanted_; }
  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& context) const override {
    auto told = call.args;
    told["tools"] = context.environment->tools->size();
    co_return output_of(json::value(std::move(told)));
  }

private:
  std::vector<injection> wanted_;
  tool_definition definition_;
};

tool_node node_of(std::vector<injection> wanted) {
  return tool_node{{std::make_shared<const telling>(std::move(wanted))}};
}

runtime run_with(store* memory) {
  auto rt = detail::runtime_access::make(std::make_shared<run_config>(), "tools", 1, 0);
  detail::runtime_access::set_store(rt, memory);
  return rt;
}

tool_call call_of(std::string tool, json::object args, std::string id = "c1") {
  return {std::move(id), std::move(tool), std::move(args)};
}

tool_node_output run_calls(const tool_node& node, std::vector<tool_call> calls,
                           store* memory = nullptr) {
  return sync_wait(node.run(node.from_calls(std::move(calls)), run_with(memory)));
}

const message& message_at(const tool_node_output& out, std::size_t i) {
  return std::get<message>(out.items.at(i));
}

} // namespace

BOOST_AUTO_TEST_CASE(output_of_serializes_json_other_than_content_blocks) {
  BOOST_TEST(output_of("text").content == "text");
  BOOST_TEST(output_of(json::object{{"a", json::array{1, nullptr}}}).content ==
             R"({"a": [1, null]})");
  BOOST_TEST(output_of(json::array{1}).content == "[1]");
  const auto blocks = output_of(json::array{json::object{{"type", "text"}, {"text", "t"}}});
  BOOST_TEST((blocks.blocks.has_value() && blocks.content.empty()));
  BOOST_TEST(output_of(json::array{}).blocks.has_value());
}

BOOST_AUTO_TEST_CASE(returned_pair_message_or_command_becomes_node_output) {
  const auto pair = make_tool<text_args>("pair", "", [](const text_args& a) {
    return std::pair{a.text, json::value(7)};
  });
  const auto own = make_tool<text_args>(
      "own", "", [](const text_args& a) { return tool_message(a.text, "c1", ""); });
  const auto command = make_tool<text_args>("command", "", [](const text_args& a) {
    auto answer = std::vector<message>{tool_message(a.text, "c1", "")};
    return tool_command{tool_update{{{"n", 1}}, std::move(answer)}, tool_target{"next", {}}, false};
  });
  const auto node = tool_node{{pair, own, command}};
  const auto args = json::object{{"text", "hi"}};
  const auto first = sync_wait(node.run(call_of("pair", args), {}));
  BOOST_TEST(first->content == "hi");
  BOOST_TEST((first->artifact == 7));
  const auto second = sync_wait(node.run(call_of("own", args), {}));
  BOOST_TEST(second->name.empty());
  const auto third = sync_wait(node.run(call_of("command", args), {}));
  BOOST_TEST((third.answer == nullptr));
  const auto& update = std::get<tool_update>(std::get<tool_command>(third.items.at(0)).update);
  BOOST_TEST(update.messages->at(0).name == "command"); // the name of the tool
  BOOST_CHECK_THROW((void)message_ptr{third}, tool_value_error);
}

BOOST_AUTO_TEST_CASE(injected_arguments_are_hidden_and_replace_model_values) {
  const auto node = node_of({{"st", injection::source::field, "foo", {}},
                             {"id", injection::source::tool_call_id, {}, {}}});
  const auto& seen = node.definitions()->at(0).parameters;
  BOOST_TEST(!seen.at("properties").as_object().contains("st"));
  BOOST_TEST((seen.at("required") == json::array{"x"}));
  auto environment = tool_environment{};
  environment.state = json_tool_state({{"foo", "real"}});
  auto context = tool_context{};
  context.environment = std::make_shared<const tool_environment>(std::move(environment));
  const auto given = json::object{{"x", 1}, {"st", "forged"}, {"id", "forged"}};
  BOOST_TEST(sync_wait(node.run(call_of("telling", given), context))->content ==
             R"({"x": 1, "st": "real", "id": "c1", "tools": 1})");
}

BOOST_AUTO_TEST_CASE(injected_members_are_filled_and_hidden_from_model) {
  const auto note = make_tool<note_args>("note", "", [](const note_args& a) {
    a.memory->put({"notes", a.user.value}, a.id.value, {{"text", a.text}});
    return a.user.value + std::to_string(a.state.value.size()) + a.mood.value.value_or("?");
  });
  BOOST_TEST(to_text(note->definition().parameters) ==
             R"({"type":"object","properties":{"text":{"type":"string"}},"required":["text"],)"
             R"("additionalProperties":false})");
  auto memory = memory_store{};
  const auto node = tool_node{{note}};
  const auto call = call_of("note", {{"text", "t"}, {"user", "forged"}});
  auto given = node.from_call(call, json_tool_state({{"user", "kim"}, {"n", 1}}));
  const auto out = sync_wait(node.run(std::move(given), run_with(&memory)));
  BOOST_TEST(message_at(out, 0).content == "kim2?");
  BOOST_TEST(memory.get({"notes", "kim"}, "c1").has_value());
}

BOOST_AUTO_TEST_CASE(missing_state_field_without_default_fails_the_node) {
  const auto wanted = injection{"st", injection::source::field, "foo", {}};
  BOOST_CHECK_EXCEPTION(run_calls(node_of({wanted}), {call_of("telling", {{"x", 1}})}),
                        missing_state_field, [](const missing_state_field& e) {
                          return e.field() == "foo" &&
                                 std::string_view{e.what()}.starts_with(
                                     "tool 'telling' injects the state field 'foo' into its "
                                     "parameter 'st', but the state has no such field");
                        });
  auto optional = wanted;
  optional.default_value = json::value("none");
  BOOST_TEST(message_at(run_calls(node_of({optional}), {call_of("telling", {{"x", 1}})}), 0)
                 .content.find(R"("st": "none")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(argument_errors_do_not_show_injected_values) {
  const auto pay = make_tool("pay", "", [](const pay_args& a) { return a.token.value; });
  const auto node = tool_node{{pay}};
  const auto ask = [&](json::value cents, json::value token) {
    auto call = call_of("pay", {{"cents", std::move(cents)}, {"token", "forged"}});
    auto given = node.from_call(
        std::move(call), json_tool_state({{"token", std::move(token)}, {"other", "private"}}));
    return message_at(sync_wait(node.run(std::move(given), run_with(nullptr))), 0).content;
  };
  constexpr auto large = 3'000'000'000; // matches the schema
  const auto text = std::string{
      "Error invoking tool 'pay' with kwargs {'cents': 3000000000} with error:\n cents: must be an "
      "integer from -2147483648 to 2147483647\n Please fix the error and try again."};
  BOOST_TEST(ask(1, "secret") == "secret");
  BOOST_TEST(ask(large, "secret") == text);
  BOOST_TEST(ask(large, json::array{"secret"}) == text); // also the injected value does not fit
  BOOST_CHECK_EXCEPTION(ask(1, json::array{"secret"}), tool_unavailable, [](const auto& e) {
    return std::string_view{e.what()} ==
           "tool 'pay': the value that is injected into 'token' does not fit: it must be a string; "
           "change the state, or the type of the member";
  });
}

BOOST_AUTO_TEST_CASE(inject_tool_args_leaves_original_call_unchanged) {
  const auto node = node_of({{"st", injection::source::state, {}, {}}});
  const auto call = call_of("telling", {{"x", 1}, {"st", "forged"}});
  auto environment = tool_environment{};
  environment.state = message_tool_state({human_message("q")});
  const auto injected = node.inject_tool_args(call, environment);
  BOOST_TEST((call.args.at("st") == "forged"));
  BOOST_TEST(injected.args.at("st").at("messages").as_array().size() == 1U);
  BOOST_TEST(
      (node.inject_tool_args(call_of("unknown", {{"st", 1}}), environment).args.at("st") == 1));
}

BOOST_AUTO_TEST_CASE(missing_store_fails_node_before_any_call) {
  auto runs = 0;
  const auto counting = make_tool<text_args>("counting", "", [&runs](const text_args& a) {
    ++runs;
    return a.text;
  });
  const auto needy = std::make_shared<const telling>(
      std::vector<injection>{{"st", injection::source::store, {}, {}}});
  const auto node = tool_node{{counting, needy}};
  const auto calls =
      std::vector{call_of("counting", {{"text", "a"}}), call_of("telling", {{"x", 1}}, "c2")};
  BOOST_CHECK_THROW(run_calls(node, calls), tool_value_error);
  BOOST_TEST(runs == 0);
  auto memory = memory_store{};
  BOOST_TEST(run_calls(node, calls, &memory).items.size() == 2U);
  BOOST_TEST(runs == 1);
}

BOOST_AUTO_TEST_CASE(run_each_returns_results_beside_a_failed_call) {
  const auto echo = make_tool<text_args>("echo", "", [](const text_args& a) { return a.text; });
  const auto failing = make_tool<text_args>(
      "failing", "", [](const text_args& a) -> std::string { throw std::runtime_error{a.text}; });
  auto options = tool_node_options{};
  options.errors = tool_errors::none();
  const auto node = tool_node{{echo, failing}, options};
  const auto calls =
      std::vector{call_of("echo", {{"text", "a"}}), call_of("failing", {{"text", "b"}}, "c2"),
                  call_of("echo", {{"text", "c"}}, "c3")};
  const auto ended = sync_wait(node.run_each(node.from_calls(calls), run_with(nullptr)));
  BOOST_TEST(ended.at(0).value->answer->content == "a");
  BOOST_TEST((ended.at(1).failure != nullptr));
  BOOST_TEST(ended.at(2).value->answer->content == "c");
  BOOST_CHECK_THROW(run_calls(node, calls), std::runtime_error);
}

namespace {

/// Records the maximum number of concurrent calls, in total and by the text of the call.
class crowd {
public:
  explicit crowd(std::string name) : name_{std::move(name)} {}
  [[nodiscard]] tool_ptr tool() {
    return make_tool<text_args>(name_, "",
                                [this](const text_args& a) { return pass(this, a.text); });
  }
  [[nodiscard]] int most() const { return most_; }
  [[nodiscard]] int most_of_one_text() const { return most_of_one_; }

private:
  static task<std::string> pass(crowd* all, std::string text) {
    all->enter(text);
    auto rest = sleep_for{std::chrono::milliseconds{1}};
    co_await rest;
    all->leave(text);
    co_return text;
  }
  void enter(const std::string& text) {
    const auto lock = std::scoped_lock{mutex_};
    most_ = std::max(most_, ++inside_);
    most_of_one_ = std::max(most_of_one_, ++by_text_[text]);
  }
  void leave(const std::string& text) {
    const auto lock = std::scoped_lock{mutex_};
    --inside_;
    --by_text_[text];
  }

  std::string name_;
  std::mutex mutex_;
  std::map<std::string, int> by_text_;
  int inside_ = 0;
  int most_ = 0;
  int most_of_one_ = 0;
};

/// Runs twelve concurrent calls with three different texts.
tool_node_output run_twelve(const tool_node& node, const std::string& name) {
  auto calls = std::vector<tool_call>{};
  for (auto i = 0; i < 12; ++i)
    calls.push_back(call_of(name, {{"text", std::string(1, static_cast<char>('a' + i % 3))}},
                            "c" + std::to_string(i)));
  return run_calls(node, std::move(calls));
}

} // namespace

BOOST_AUTO_TEST_CASE(exclusive_tool_runs_one_call_at_a_time) {
  auto all = crowd{"busy"};
  auto options = tool_node_options{};
  options.limits = {{"busy", 1, {}}};
  const auto out = run_twelve(tool_node{{all.tool()}, options}, "busy");
  BOOST_TEST(all.most() == 1);
  BOOST_TEST(out.items.size() == 12U);
  BOOST_TEST(message_at(out, 4).content == "b");
}

BOOST_AUTO_TEST_CASE(limit_by_argument_serializes_calls_with_equal_value) {
  auto all = crowd{"busy"};
  auto options = tool_node_options{};
  options.limits = {{"busy", 1, "text"}};
  run_twelve(tool_node{{all.tool()}, options}, "busy");
  BOOST_TEST(all.most_of_one_text() == 1);
  BOOST_TEST(all.most() <= 3);
}

BOOST_AUTO_TEST_CASE(copied_node_with_interceptor_keeps_call_limit) {
  auto all = crowd{"busy"};
  auto options = tool_node_options{};
  options.calls_at_once = 2;
  options.wrap_call = [](tool_request request, const tool_execute& execute) {
    return execute(std::move(request)); // interceptors do not wait for the call's turn
  };
  const auto node = tool_node{{all.tool()}, options};
  const auto copy = node;
  run_twelve(copy, "busy");
  BOOST_TEST(all.most() <= 2);
}

BOOST_AUTO_TEST_CASE(calls_at_once_of_zero_is_rejected) {
  auto all = crowd{"busy"};
  auto options = tool_node_options{};
  options.calls_at_once = 0;
  BOOST_CHECK_THROW((tool_node{{all.tool()}, options}), std::invalid_argument);
  const auto node = tool_node{{all.tool()}};
  BOOST_CHECK_THROW(static_cast<void>(node.with_options(options)), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(with_options_applies_new_limits) {
  const auto most_with = [](const tool_node_options& before, const tool_node_options& after) {
    auto all = crowd{"busy"};
    run_twelve(tool_node{{all.tool()}, before}.with_options(after), "busy");
    return all.most();
  };
  const auto unlimited = tool_node_options{};
  auto exclusive = tool_node_options{};
  exclusive.limits = {{"busy", 1, {}}};
  auto two_at_once = tool_node_options{};
  two_at_once.limits = {{"busy", 2, {}}};
  auto two_of_node = tool_node_options{};
  two_of_node.calls_at_once = 2;
  auto four_of_node = tool_node_options{};
  four_of_node.calls_at_once = 4;
  BOOST_TEST(most_with(unlimited, exclusive) == 1);
  BOOST_TEST(most_with(two_at_once, exclusive) == 1);
  BOOST_TEST(most_with(unlimited, two_of_node) == 2);
  BOOST_TEST(most_with(four_of_node, two_of_node) == 2);
  BOOST_TEST(most_with(two_of_node, four_of_node) == 4);
  BOOST_TEST(most_with(exclusive, unlimited) == 12);
}

BOOST_AUTO_TEST_CASE(node_made_by_with_options_shares_equal_limits) {
  const auto most_of_both = [](const tool_node_options& options) {
    auto all = crowd{"busy"};
    const auto node = tool_node{{all.tool()}, options};
    auto other = options;
    other.result_bytes_max = 100;
    const auto copy = node.with_options(other);
    auto second = std::thread{[&copy] { run_twelve(copy, "busy"); }};
    run_twelve(node, "busy");
    second.join();
    return all.most();
  };
  auto exclusive = tool_node_options{};
  exclusive.limits = {{"busy", 1, {}}};
  BOOST_TEST(most_of_both(exclusive) == 1);
  auto two_of_node = tool_node_options{};
  two_of_node.calls_at_once = 2;
  BOOST_TEST(most_of_both(two_of_node) <= 2);
}

BOOST_AUTO_TEST_CASE(limit_per_key_counts_the_calls_of_many_keys) {
  auto gate = detail::call_gate{tool_limit{"pay", 1, "account"}};
  const auto enter = [&](int account) {
    return gate.for_call({{"account", account}})->try_acquire();
  };
  auto running = std::vector<limiter::permit>{};
  for (auto account = 0; account < 300; ++account) {
    auto permit = enter(account);
    BOOST_TEST_REQUIRE(permit.has_value());
    running.push_back(*std::move(permit));
  }
  for (auto account = 0; account < 300; ++account)
    BOOST_TEST(!enter(account).has_value());
  running.clear();
  BOOST_TEST(enter(7).has_value());
}

BOOST_AUTO_TEST_CASE(tool_limits_reject_zero_and_unknown_tools) {
  auto all = crowd{"busy"};
  const auto unlimited = tool_node{{all.tool()}};
  for (const auto& limit : {tool_limit{"idle", 1, {}}, tool_limit{"busy", 0, {}}}) {
    auto options = tool_node_options{};
    options.limits = {limit};
    BOOST_CHECK_THROW((tool_node{{all.tool()}, options}), std::invalid_argument);
    BOOST_CHECK_THROW(static_cast<void>(unlimited.with_options(options)), std::invalid_argument);
  }
}

BOOST_AUTO_TEST_CASE(interceptor_changes_arguments_and_repeats_failed_call) {
  auto runs = 0;
  const auto echo = make_tool<text_args>("echo", "", [&runs](const text_args& a) {
    if (++runs == 1)
      throw std::runtime_error{"once"};
    return a.text;
  });
  auto options = tool_node_options{};
  options.wrap_call = [](tool_request request, tool_execute execute) -> task<tool_answer> {
    if (request.tool == nullptr)
      throw std::runtime_error{"no such tool"};
    request.call.args["text"] = "changed";
    auto first = execute(request);
    auto answer = co_await first;
    if (answer->is_error) {
      auto second = execute(std::move(request));
      answer = co_await second;
    }
    co_return answer;
  };
  const auto node = tool_node{{echo}, options};
  BOOST_TEST(sync_wait(node.run(call_of("echo", {{"text", "t"}}), {}))->content == "changed");
  BOOST_TEST(runs == 2);
  const auto refused = sync_wait(node.run(call_of("nope", {}), {}));
  BOOST_TEST(refused->content == "Error: no such tool\n Please fix your mistakes.");
  BOOST_TEST(refused->is_error);
}

BOOST_AUTO_TEST_CASE(tool_exception_of_interceptor_becomes_error_message) {
  auto options = tool_node_options{};
  options.errors = tool_errors::only<std::bad_alloc>();
  options.wrap_call = [](tool_request, tool_execute) -> task<tool_answer> {
    throw tool_exception{"it's no use"};
    co_return tool_answer{};
  };
  const auto node = tool_node{{}, options};
  BOOST_TEST(sync_wait(node.run(call_of("any", {}), {}))->content ==
             "Error: ToolException(\"it's no use\")\n Please fix your mistakes.");
  options.errors = tool_errors::none();
  BOOST_CHECK_THROW((void)sync_wait(tool_node{{}, options}.run(call_of("any", {}), {})),
                    tool_exception);
}

BOOST_AUTO_TEST_CASE(sends_to_parent_are_merged_into_last_command) {
  const auto sending = make_tool<text_args>("sending", "", [](const text_args& a) {
    auto targets = std::vector<tool_target>{{a.text, json::value(1)}};
    auto answer = std::vector<message>{tool_message("bye", "c1", "")};
    return tool_command{tool_update{{}, std::move(answer)}, std::move(targets), true};
  });
  const auto echo = make_tool<text_args>("echo", "", [](const text_args& a) { return a.text; });
  const auto out = run_calls(tool_node{{sending, echo}},
                             {call_of("sending", {{"text", "a"}}), call_of("echo", {{"text", "b"}}),
                              call_of("sending", {{"text", "c"}})});
  BOOST_TEST(out.items.size() == 2U);
  BOOST_TEST(message_at(out, 0).content == "b");
  const auto& merged = std::get<tool_command>(out.items.at(1));
  const auto& targets = std::get<std::vector<tool_target>>(merged.go_to);
  BOOST_TEST((merged.to_parent && std::holds_alternative<std::monostate>(merged.update)));
  BOOST_TEST((targets.size() == 2 && targets[0].node == "a" && targets[1].node == "c"));
}

BOOST_AUTO_TEST_SUITE_END()
