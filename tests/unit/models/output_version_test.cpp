// SPDX-License-Identifier: Apache-2.0
// Selection of the output version, and conversion of answers and streams.
#include <superstep/messages/message_json.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>

using namespace superstep;

BOOST_AUTO_TEST_CASE(environment_variable_selects_output_version) {
  ::unsetenv("SUPERSTEP_OUTPUT_VERSION");
  ::unsetenv("LC_OUTPUT_VERSION");
  BOOST_TEST((default_output_version().value() == output_version::v0));
  ::setenv("LC_OUTPUT_VERSION", "v1", 1);
  BOOST_TEST((default_output_version().value() == output_version::v1));
  ::setenv("SUPERSTEP_OUTPUT_VERSION", "v0", 1);
  BOOST_TEST((default_output_version().value() == output_version::v0));
  ::setenv("SUPERSTEP_OUTPUT_VERSION", "v2", 1);
  const auto wrong = default_output_version();
  BOOST_REQUIRE(wrong.has_error());
  BOOST_TEST(wrong.error().text.find("SUPERSTEP_OUTPUT_VERSION") != std::string::npos);
  ::unsetenv("SUPERSTEP_OUTPUT_VERSION");
  ::unsetenv("LC_OUTPUT_VERSION");
}

BOOST_AUTO_TEST_CASE(standardized_message_has_text_and_calls_in_blocks) {
  auto call = tool_call{"c", "f", {}};
  auto answer = ai_message("hi", {call});
  const auto standard = standardized(answer);
  BOOST_REQUIRE(standard.has_value());
  BOOST_TEST(standard->content.empty());
  BOOST_REQUIRE(standard->blocks->size() == 2U);
  BOOST_TEST(standard->blocks->at(0).at("text").as_string() == "hi");
  BOOST_TEST(standard->blocks->at(1).at("type").as_string() == "tool_call");
  BOOST_TEST(standard->response_metadata.at("output_version").as_string() == "v1");
  BOOST_TEST((standard->tool_calls == answer.tool_calls));
  BOOST_TEST((standardized(*standard).value() == *standard));
  BOOST_TEST((content_blocks(*standard).value() == *standard->blocks));
}
