// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/provider_shapes.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

/// Prepared answers of a chat-completions server that are cheap to send.
namespace superstep::test {

/// Answers every conversation of a row "row-1234567" with one call of `calculator`, then "done
/// row-1234567".
class fixed_answers {
public:
  static constexpr auto key_length = std::string_view{"row-1234567"}.size();

  [[nodiscard]] std::string find(std::string_view request) const {
    if (request.find(R"("role":"assistant")") == std::string_view::npos)
      return call_;
    const auto key = request.find("row-");
    auto out = text_;
    if (key != std::string_view::npos)
      out.replace(place_, key_length, request.substr(key, key_length));
    return out;
  }

private:
  static std::string make_call() {
    return openai_shape::whole(
        {{"role", "assistant"},
         {"content", nullptr},
         {"tool_calls",
          {{{"id", "call_1"},
            {"type", "function"},
            {"function", {{"name", "calculator"}, {"arguments", R"({"expression":"6*7"})"}}}}}}});
  }
  static std::string make_text() {
    return openai_shape::whole({{"role", "assistant"}, {"content", "done row-0000000"}});
  }

  std::string call_ = make_call();
  std::string text_ = make_text();
  std::size_t place_ = text_.find("row-0000000");
};

/// Bodies and whole responses that no server should send. A number in [0, 1) selects one of
/// several.
class hostile_answers {
public:
  /// Padding for a member that clients ignore.
  [[nodiscard]] std::string_view padding() const noexcept { return padding_; }
  [[nodiscard]] std::string_view many_calls() const noexcept { return many_calls_; }

  static std::string_view not_a_number(double which) {
    static constexpr auto all = std::array<std::string_view, 3>{
        R"({"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":NaN}}]})",
        R"({"choices":[{"index":0,"finish_reason":"stop","logprobs":-Infinity,"message":{"role":"assistant","content":"unasked"}}]})",
        R"({"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"calculator","arguments":"{\"expression\":NaN}"}}]}}]})"};
    return choose(all, which);
  }
  static std::string_view lone_surrogate(double which) {
    static constexpr auto all = std::array<std::string_view, 3>{
        R"({"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"half \ud83d of it"}}]})",
        R"({"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"calculator","arguments":"{\"expression\":\"1+\\udc00\"}"}}]}}]})",
        "{\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\","
        "\"content\":\"half \xED\xA0\xBD of it\"}}]}"};
    return choose(all, which);
  }
  /// Returns a whole response, after which the connection is closed.
  static std::string_view garbage(double which) {
    static constexpr auto all = std::array<std::string_view, 5>{
        "\x16\x03\x01\x02 this is no HTTP\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 26\r\n\r\n<html>Welcome "
        "back!</html>",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
        "14\r\n\r\n{\"choices\": [{\"",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: "
        "chunked\r\n\r\nzz\r\n{}\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nnull"};
    return choose(all, which);
  }

private:
  template <std::size_t N>
  static std::string_view choose(const std::array<std::string_view, N>& from, double which) {
    return from[std::min(N - 1, static_cast<std::size_t>(which * N))];
  }
  static std::string make_many_calls() {
    constexpr auto calls = 100'000;
    auto out = std::string{
        R"({"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[)"};
    for (auto i = 0; i < calls; ++i)
      out += std::string{i == 0 ? "" : ","} + R"({"id":"c)" + std::to_string(i) +
             R"(","type":"function","function":{"name":"calculator","arguments":"{}"}})";
    return out + "]}}]}";
  }

  std::string padding_ = std::string(15'000'000, 'x');
  std::string many_calls_ = make_many_calls();
};

} // namespace superstep::test
