// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/http/answer_stream.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace superstep::models {

inline answer_stream make_stream(provider_api api = provider_api::openai_chat,
                                 chunk_handler on_chunk = nullptr,
                                 output_version version = output_version::v0) {
  auto limits = answer_stream::bounds{};
  limits.parts_max = 100;
  limits.calls_max = 100;
  return {api, wire_request{}, version, std::move(on_chunk), limits};
}

inline std::string event(std::string_view data) {
  return "data: " + std::string{data} + "\n\n";
}

/// Returns the message of a stream that is fed in pieces of `bytes` bytes.
inline message message_of(provider_api api, std::string_view body, std::size_t bytes,
                          chunk_handler on_chunk = nullptr) {
  auto answer = make_stream(api, std::move(on_chunk));
  for (auto at = std::size_t{0}; at < body.size(); at += bytes)
    BOOST_TEST(!answer.feed(body.substr(at, bytes)));
  BOOST_TEST(!answer.end());
  BOOST_TEST(answer.is_whole());
  return answer.finish().value();
}

} // namespace superstep::models
