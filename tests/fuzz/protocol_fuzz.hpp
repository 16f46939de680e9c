// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz_input.hpp"
#include "protocols/protocol_parts.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace superstep::fuzz {

/// Tools with every kind of parameter, under names that a fuzzer finds quickly.
inline const std::vector<protocol_tool>& sample_tools() {
  static const auto tools = [] {
    auto out = std::vector<protocol_tool>(2);
    out[0].name = "f";
    out[0].schema = json::parse(R"({"type":"object","properties":{"a":{"type":"string"},
        "b":{"type":"array","items":{"type":"integer"}},"n":{"type":"number"},
        "o":{"type":"object","properties":{"a":{"type":"string"},"t":{"type":"boolean"}}}}})");
    out[1].name = "g";
    return out;
  }();
  return tools;
}

struct heard {
  std::vector<parsed_part> parts;
  std::vector<std::string> errors;
  friend bool operator==(const heard&, const heard&) = default;
};

/// Streams a text in pieces of `piece` bytes and returns the parts and errors. Checks that the
/// deltas of each call join to its arguments.
inline heard streamed(const tool_protocol& protocol, std::string_view text, std::size_t piece) {
  auto out = heard{};
  auto inputs = std::map<std::size_t, std::string>{};
  const auto on_event = [&](const protocol_event& e) {
    if (const auto* t = std::get_if<stream_text>(&e)) {
      if (!out.parts.empty() && std::holds_alternative<parsed_text>(out.parts.back()))
        std::get<parsed_text>(out.parts.back()).text += t->text;
      else
        out.parts.emplace_back(parsed_text{t->text});
    } else if (const auto* d = std::get_if<tool_input_delta>(&e)) {
      inputs[d->call] += d->text;
    } else if (const auto* c = std::get_if<stream_call>(&e)) {
      must(inputs[c->call] == c->parsed.arguments);
      out.parts.emplace_back(c->parsed);
    }
  };
  const auto stream = protocol.stream(sample_tools(), {}, on_event, [&](const protocol_error& e) {
    out.errors.push_back(e.code + e.tool_name + e.segment);
  });
  for (auto at = std::size_t{0}; at < text.size(); at += piece)
    stream->write(text.substr(at, piece));
  stream->finish();
  return out;
}

/// Parses one text whole and as streams in pieces of three sizes.
inline void read_protocol(std::string_view name, std::string_view text) {
  const auto protocol = make_protocol(name).value();
  for (const auto& part : parse_answer(*protocol, text, sample_tools(), {}))
    if (const auto* call = std::get_if<parsed_call>(&part))
      must(!call->name.empty());
  const auto whole = streamed(*protocol, text, text.size() + 1);
  must(streamed(*protocol, text, 1) == whole);
  must(streamed(*protocol, text, 7) == whole);
}

} // namespace superstep::fuzz
