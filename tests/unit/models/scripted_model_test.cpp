// SPDX-License-Identifier: Apache-2.0
// The scripted model: rules, substitution, timing, faults, streams, errors in scripts.
#include "support/manual_executor.hpp"

#include <superstep/models/chat_model.hpp>
#include <superstep/models/scripted_model.hpp>

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace superstep;

namespace {

result<chat_model_ptr> make(std::string text) {
  auto options = scripted_model_options{};
  options.text = std::move(text);
  options.calls_max = 10;
  return make_scripted_model(std::move(options));
}

struct answered {
  result<message> answer;
  std::chrono::nanoseconds time;
};

answered ask(const chat_model_ptr& model, message last, std::uint32_t turn = 0,
             std::string key = "k") {
  auto run = test::manual_executor{};
  auto request = model_request{};
  request.messages.push_back(std::move(last));
  request.turn = turn;
  request.run_key = std::move(key);
  auto answer = model->complete(std::move(request));
  const auto time = run.finish(answer);
  return {answer.take(), time};
}

constexpr auto rules = R"(
rules:
  - {type: tool, tool: calculator, match: '(\d+)$', text: 'It is \1. \\o/'}
  - {turn: 3, text: third}
  - type: human
    match: 'add (\d+) and (\d+)'
    text: Let me add \1 and \2.
    calls:
      - {name: calculator, args: {expression: '\1 + \2', a: \1, quoted: '\1', list: [1.5, true, null, \2x]}}
      - {name: lookup, for_each: '[A-Z]\w+', args: {word: '\0'}}
    usage: {input_tokens: 20, output_tokens: 12}
default: {text: 'You said: \0'}
)";

} // namespace

BOOST_AUTO_TEST_CASE(first_matching_script_rule_supplies_the_answer) {
  const auto model = make(rules);
  BOOST_REQUIRE(model.has_value());
  BOOST_TEST(ask(*model, tool_message("= 42", "id", "calculator")).answer->content ==
             "It is 42. \\o/");
  BOOST_TEST(ask(*model, tool_message("= 42", "id", "other")).answer->content == "You said: = 42");
  BOOST_TEST(ask(*model, human_message("add 1 and 2"), 3).answer->content == "third");
  BOOST_TEST(ask(*model, human_message("hm")).answer->content == "You said: hm");
}

BOOST_AUTO_TEST_CASE(rule_captures_are_substituted_in_text_and_arguments) {
  const auto model = make(rules);
  const auto said = ask(*model, human_message("Please add 1 and 23 for Ann and Bob"), 1).answer;
  BOOST_REQUIRE(said.has_value());
  BOOST_TEST(said->content == "Let me add 1 and 23.");
  BOOST_REQUIRE(said->tool_calls.size() == 4u);
  BOOST_TEST(to_text(said->tool_calls[0].args) ==
             R"({"expression":"1 + 23","a":1,"quoted":"1","list":[1.5,true,null,"23x"]})");
  BOOST_TEST(said->tool_calls[0].id == "call_1_0");
  BOOST_TEST(to_text(said->tool_calls[3].args) == R"({"word":"Bob"})");
  BOOST_TEST(said->tool_calls[3].id == "call_1_3");
  BOOST_TEST(said->usage->total_tokens == 32);
}

BOOST_AUTO_TEST_CASE(excess_calls_and_unmatched_messages_fail_scripted_model) {
  const auto model = make("rules: [{match: x, calls: [{name: f, for_each: x}]}]");
  const auto many = ask(*model, human_message(std::string(11, 'x'))).answer;
  BOOST_TEST((many.error().code == make_error_code(model_errc::bad_answer)));
  BOOST_TEST(ask(*model, human_message(std::string(10, 'x'))).answer->tool_calls.size() == 10u);
  const auto none = ask(*model, human_message("nothing")).answer;
  BOOST_TEST((none.error().code == make_error_code(model_errc::bad_answer)));
  BOOST_TEST(none.error().code.message().find("server") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(scripted_delays_and_faults_are_reproducible) {
  constexpr auto text = "seed: 5\nlatency_ms: {lognormal: {median: 20, sigma: 0.5, max: 100}}\n"
                        "faults: {server_error: 0.3, rate_limited: 0.2}\ndefault: {text: ok}\n";
  const auto one = make(text);
  const auto two = make(text);
  auto failed = 0;
  auto times = std::set<std::chrono::nanoseconds>{};
  for (auto i = 0; i < 1000; ++i) {
    const auto key = std::to_string(i);
    const auto a = ask(*one, human_message("x"), 0, key);
    const auto b = ask(*two, human_message("x"), 0, key);
    BOOST_REQUIRE((a.time == b.time && a.answer.has_value() == b.answer.has_value()));
    BOOST_REQUIRE((a.time.count() > 0 && a.time <= std::chrono::milliseconds{100}));
    failed += a.answer.has_error() ? 1 : 0;
    times.insert(a.time);
  }
  BOOST_TEST(failed > 400);
  BOOST_TEST(failed < 600);
  BOOST_TEST(times.size() > 900u);
}

BOOST_AUTO_TEST_CASE(scripted_answer_delay_is_latency_plus_token_time) {
  const auto model = make("{latency_ms: 10, tokens_per_second: 100, default: {text: 'eight by'}}");
  BOOST_TEST((ask(*model, human_message("x")).time == std::chrono::milliseconds{30}));
}

BOOST_AUTO_TEST_CASE(all_script_errors_are_reported_with_lines) {
  const auto model = make("sed: 1\n"
                          "latency_ms: fast\n"
                          "faults: {server_error: 2}\n"
                          "rules:\n"
                          "  - {match: '(', text: a}\n"
                          "  - {type: robot, text: a}\n"
                          "  - {turn: -1, text: a}\n"
                          "  - {match: a}\n"
                          "  - {text: a, calls: [{args: {}}]}\n"
                          "  - {text: a, txt: b}\n");
  BOOST_REQUIRE(model.has_error());
  BOOST_TEST(model.error().text ==
             "script:1: sed: is not a known key; known keys: seed, latency_ms, tokens_per_second, "
             "faults, rules, default\n"
             "script:2: latency_ms: must be a non-negative number\n"
             "script:3: faults.server_error: must be a number from 0 to 1\n"
             "script:5: rules.0.match: is not a valid RE2 pattern: missing ): (\n"
             "script:6: rules.1.type: 'robot' is not one of: human, ai, system, tool\n"
             "script:7: rules.2.turn: must be a non-negative integer\n"
             "script:8: rules.3: needs text, calls or both\n"
             "script:9: rules.4.calls.0.name: must be the name of a tool\n"
             "script:10: rules.5.txt: is not a known key; known keys: type, turn, tool, match, "
             "text, calls, usage");
}

BOOST_AUTO_TEST_CASE(each_script_error_is_reported_once) {
  for (const auto& [text, expected] : std::vector<std::pair<const char*, const char*>>{
           {"- 1", "script:1: must be a mapping; known keys: seed, latency_ms, tokens_per_second, "
                   "faults, rules, default"},
           {"rules: {}", "script:1: rules: must be a list"},
           {"rules: [3]", "script:1: rules.0: must be a mapping; known keys: type, turn, tool, "
                          "match, text, calls, "
                          "usage"},
           {"default: 3", "script:1: default: must be a mapping; known keys: text, calls, usage"},
           {"rules: [{type: [ai], text: a}]", "script:1: rules.0.type: must be a string"},
           {"default: {calls: [x]}",
            "script:1: default.calls.0: must be a mapping; known keys: name, for_each, args"},
           {"default: {calls: [{name: [x]}]}", "script:1: default.calls.0.name: must be a string"},
           {"{latency_ms: {uniform: [40, x]}, default: {text: a}}",
            "script:1: latency_ms.uniform.1: must be a non-negative number"},
           {"{latency_ms: {uniform: [40, 10]}, default: {text: a}}",
            "script:1: latency_ms.uniform: the second number must not be below the first (40, "
            "10)"}}) {
    const auto model = make(text);
    BOOST_REQUIRE(model.has_error());
    BOOST_TEST(model.error().text == expected);
  }
}

BOOST_AUTO_TEST_CASE(script_syntax_error_states_cause_and_line) {
  for (const auto& [text, expected] : std::vector<std::pair<const char*, const char*>>{
           {"rules: [", "script:1: is not valid YAML: '[' has no closing ']', or a ',' is missing"},
           {"rules:\n  - {match: a, text: b\n",
            "script:3: is not valid YAML: '{' has no closing '}', or a ',' is missing"},
           {"rules:\n\t- a\n", "script:2: is not valid YAML: a '-' is not allowed here; check the "
                               "indentation (spaces, no tabs)"},
           {"rules: *all\n", "script:1: is not valid YAML: '*' refers to an anchor that is not "
                             "defined; put texts that begin with '*' in quotes"},
           {"default: {text: @me}\n", "script:1: is not valid YAML: a text begins with a character "
                                      "that YAML reserves; put the text in quotes"}}) {
    const auto model = make(text);
    BOOST_REQUIRE(model.has_error());
    BOOST_TEST(model.error().text == expected);
  }
}

BOOST_AUTO_TEST_CASE(invalid_or_empty_scripts_are_rejected) {
  for (const auto* text : {"", "rules: [", "- 1", "rules: {}", "default: {}", "default: 3", "{}",
                           "{default: {text: a}, default: {text: b}}"})
    BOOST_TEST(make(text).has_error(), text);
}

namespace {

struct streamed {
  result<message> answer;
  std::vector<message_chunk> pieces;
  std::vector<std::chrono::nanoseconds> told_at;
  std::chrono::nanoseconds time;
};

streamed stream(const chat_model_ptr& model, message last) {
  auto run = test::manual_executor{};
  auto out = streamed{};
  const auto begin = run.now();
  auto request = model_request{};
  request.messages.push_back(std::move(last));
  request.on_chunk = [&](const message_chunk& piece) {
    out.pieces.push_back(piece);
    out.told_at.push_back(run.now() - begin);
  };
  auto answer = model->complete(std::move(request));
  out.time = run.finish(answer);
  out.answer = answer.take();
  return out;
}

message sum_of(std::vector<message_chunk> pieces) {
  auto sum = std::move(pieces.front());
  for (auto i = std::size_t{1}; i < pieces.size(); ++i)
    BOOST_REQUIRE(append(sum, std::move(pieces[i])).has_value());
  return to_message(std::move(sum));
}

} // namespace

BOOST_AUTO_TEST_CASE(streamed_pieces_add_up_to_scripted_answer) {
  const auto model = make(rules);
  BOOST_REQUIRE(model.has_value());
  for (const auto* said : {"add 1 and 23 of Milk", "Grüße an alle 世界", ""}) {
    const auto whole = ask(*model, human_message(said));
    const auto told = stream(*model, human_message(said));
    BOOST_TEST((*told.answer == *whole.answer));
    BOOST_TEST((sum_of(told.pieces) == *whole.answer), said);
    BOOST_TEST(told.pieces.size() > 2U);
    BOOST_TEST(told.pieces.back().is_last);
  }
}

BOOST_AUTO_TEST_CASE(scripted_stream_delays_each_token) {
  const auto model = make("{latency_ms: 100, tokens_per_second: 10, default: {text: 12345678}}");
  BOOST_REQUIRE(model.has_value());
  const auto told = stream(*model, human_message("x"));
  using std::chrono::milliseconds;
  BOOST_TEST((told.time == ask(*model, human_message("x")).time));
  BOOST_REQUIRE(told.told_at.size() == 3U);
  BOOST_TEST((told.told_at[0] == milliseconds{200}));
  BOOST_TEST((told.told_at[1] == milliseconds{300}));
  BOOST_TEST((told.told_at[2] == milliseconds{300}));
}

BOOST_AUTO_TEST_CASE(injected_fault_fails_before_streaming_a_chunk) {
  const auto model = make("{faults: {server_error: 1}, default: {text: hello}}");
  BOOST_REQUIRE(model.has_value());
  const auto told = stream(*model, human_message("x"));
  BOOST_TEST(!told.answer.has_value());
  BOOST_TEST(told.pieces.empty());
}

// Callers print the text before or after the message of the code.
BOOST_AUTO_TEST_CASE(injected_fault_text_does_not_repeat_code_message) {
  for (const auto* kind : {"server_error", "rate_limited", "unreachable"}) {
    const auto model = make("{faults: {" + std::string{kind} + ": 1}, default: {text: hello}}");
    const auto failed = ask(*model, human_message("x")).answer;
    BOOST_REQUIRE(failed.has_error());
    const auto message = failed.error().code.message();
    BOOST_TEST(failed.error().text.find(message) == std::string::npos, failed.error().text);
  }
}
