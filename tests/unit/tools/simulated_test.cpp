// SPDX-License-Identifier: Apache-2.0
// Simulated tools: results, failure rates, delays and invalid options.
#include "run_tool.hpp"

#include <superstep/tools/built_in_tools.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(simulated_tools)

namespace {

simulated_options named() {
  auto options = simulated_options{};
  options.name = "s";
  return options;
}

tool_output ask(const simulated_options& options, std::string row, std::string call) {
  auto context = tool_context{};
  context.run_key = std::move(row);
  context.tool_call_id = std::move(call);
  return testing::run_tool(**make_simulated(options), {{"a", 1}}, context);
}

} // namespace

BOOST_AUTO_TEST_CASE(simulated_tool_returns_its_arguments_by_default) {
  BOOST_TEST(ask(named(), "r", "c").content == R"({"a":1})");
}

BOOST_AUTO_TEST_CASE(configured_result_is_returned_as_text) {
  auto options = named();
  options.result = json::value("plain \"text\"");
  BOOST_TEST(ask(options, "r", "c").content == "plain \"text\"");
  options.result = json::array{1, 2.0};
  BOOST_TEST(ask(options, "r", "c").content == "[1,2.0]");
  options.result = json::value(nullptr);
  BOOST_TEST(ask(options, "r", "c").content == "null");
}

BOOST_AUTO_TEST_CASE(failures_depend_only_on_seed_row_and_call) {
  auto options = named();
  options.error_rate = 0.3;
  auto failures = 0;
  auto by_seed = 0;
  auto by_call = 0;
  auto other = options;
  other.seed = 1;
  for (auto i = 0; i < 2000; ++i) {
    const auto row = std::to_string(i);
    const auto fails = ask(options, row, "c").is_error;
    failures += fails;
    BOOST_TEST(ask(options, row, "c").is_error == fails);
    by_seed += ask(other, row, "c").is_error != fails;
    by_call += ask(options, row, "d").is_error != fails;
  }
  BOOST_TEST(failures > 500);
  BOOST_TEST(failures < 700);
  BOOST_TEST(by_seed > 500);
  BOOST_TEST(by_call > 500);
}

BOOST_AUTO_TEST_CASE(error_rate_0_never_and_1_always_fails) {
  auto options = named();
  for (auto i = 0; i < 200; ++i) {
    options.error_rate = 0;
    BOOST_TEST(!ask(options, std::to_string(i), "c").is_error);
    options.error_rate = 1;
    BOOST_TEST(ask(options, std::to_string(i), "c").is_error);
  }
}

BOOST_AUTO_TEST_CASE(delayed_tool_returns_its_result) {
  auto options = named();
  options.delay = std::chrono::milliseconds{1};
  BOOST_TEST(ask(options, "r", "c").content == R"({"a":1})");
}

BOOST_AUTO_TEST_CASE(invalid_options_are_rejected) {
  BOOST_TEST(make_simulated({}).error().text == "simulated: name: is missing; it is required");
  auto options = named();
  options.error_rate = 1.5;
  BOOST_TEST(make_simulated(options).has_error());
  options = named();
  options.args_schema = json::object{{"type", 3}};
  BOOST_TEST(make_simulated(options).error().text.starts_with("simulated: args_schema: "));
}

BOOST_AUTO_TEST_SUITE_END()
