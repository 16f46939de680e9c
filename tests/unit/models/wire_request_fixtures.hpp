// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/http/wire_request.hpp"

#include <superstep/messages/message_json.hpp>

#include <boost/test/unit_test.hpp>

#include <array>

// Requests that the tests of provider formats start from.
namespace superstep::test {

inline constexpr auto apis = std::array{provider_api::openai_chat, provider_api::openai_responses,
                                        provider_api::anthropic, provider_api::ollama};

inline model_request make_request() {
  auto tool = tool_definition{};
  tool.name = "f";
  tool.description = "d";
  tool.parameters["type"] = "object";
  auto out = model_request{};
  out.messages.push_back(human_message("hi \"you\""));
  out.tools = std::make_shared<const std::vector<tool_definition>>(1, tool);
  return out;
}

inline provider_model_options make_options(provider_api api = provider_api::openai_chat) {
  auto out = provider_model_options{};
  out.api = api;
  out.model = "m";
  return out;
}

inline json::value body_of(const provider_model_options& options, const model_request& request) {
  const auto written = models::write_request(options, request);
  BOOST_REQUIRE_MESSAGE(written.has_value(), (written ? "" : written.error().text));
  return parse_json(written->body).value();
}

} // namespace superstep::test
