// SPDX-License-Identifier: Apache-2.0
#include "models/openai_request.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>

using namespace superstep;

namespace {

model_request make_request() {
  auto tool = tool_definition{};
  tool.name = "f";
  tool.description = "d";
  tool.parameters["type"] = "object";
  auto out = model_request{};
  out.messages.push_back(human_message("hi \"you\""));
  out.tools = std::make_shared<const std::vector<tool_definition>>(1, tool);
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_request_is_written_in_a_stable_order) {
  auto options = openai_model_options{};
  options.model = "m";
  options.temperature = 0.5;
  options.stream = true;
  auto request = make_request();
  request.parameters["temperature"] = 1;
  request.parameters["seed"] = 3;
  const auto written = models::write_request(options, request);
  BOOST_REQUIRE(written.has_value());
  const auto parsed = parse_json(*written);
  BOOST_REQUIRE(parsed.has_value());
  BOOST_TEST(written->starts_with(R"({"model":"m","temperature":1,"seed":3,"stream":true,)"
                                  R"("stream_options":{"include_usage":true},"messages":[)"));
  BOOST_TEST(parsed->at("tools").at(0).at("function").at("name").as_string() == "f");
  BOOST_TEST(parsed->at("messages").at(0).at("content").as_string() == "hi \"you\"");
}

BOOST_AUTO_TEST_CASE(the_system_prompt_is_the_first_message) {
  auto options = openai_model_options{};
  options.model = "m";
  auto request = make_request();
  request.system = std::make_shared<const message>(system_message("be brief"));
  const auto written = models::write_request(options, request);
  BOOST_REQUIRE(written.has_value());
  const auto parsed = parse_json(*written);
  BOOST_REQUIRE(parsed.has_value());
  const auto& messages = parsed->at("messages").as_array();
  BOOST_REQUIRE(messages.size() == 2U);
  BOOST_TEST(messages[0].at("role").as_string() == "system");
  BOOST_TEST(messages[0].at("content").as_string() == "be brief");
}

BOOST_AUTO_TEST_CASE(parameters_that_belong_to_the_agent_are_refused) {
  for (const auto* name : {"messages", "tools", "stream", "stream_options", "n"}) {
    auto request = make_request();
    request.parameters[name] = 1;
    BOOST_TEST(models::write_request(openai_model_options{}, request).has_error());
  }
}

BOOST_AUTO_TEST_CASE(options_that_cannot_work_are_refused_when_the_model_is_made) {
  auto io = io_runtime{};
  const auto limits = std::make_shared<model_limits>(model_limits_options{});
  auto options = openai_model_options{};
  options.api_key_env = "SUPERSTEP_TEST_NO_SUCH_VARIABLE";
  BOOST_TEST(make_openai_model(options, io, limits).has_error());
  options.model = "m";
  const auto no_key = make_openai_model(options, io, limits);
  BOOST_TEST(no_key.error().text.find("SUPERSTEP_TEST_NO_SUCH_VARIABLE") != std::string::npos);
  options.api_key_env.clear();
  options.base_url = "localhost:80";
  BOOST_TEST(make_openai_model(options, io, limits).has_error());
  options.base_url = "http://localhost/v1/";
  BOOST_TEST(make_openai_model(options, io, limits).has_value());
}
