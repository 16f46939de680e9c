// SPDX-License-Identifier: Apache-2.0
// Reads the errors that servers report, and masks secrets in texts.
#include "models/http/faults.hpp"

#include "base/utf8.hpp"
#include "models/providers/json_parts.hpp"

#include <simdjson.h>

#include <algorithm>

namespace superstep::models {

namespace {

using namespace providers;

constexpr auto text_max = std::size_t{500};

} // namespace

std::string excerpt(std::string_view text, std::size_t bytes_max) {
  auto out = std::string{utf8_prefix(text, bytes_max)};
  if (!simdjson::validate_utf8(out.data(), out.size()))
    std::replace_if(
        out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  return out;
}

server_fault read_fault(const json::object& body) {
  auto out = server_fault{};
  const auto* given = member(body, "error");
  const auto* inner = given ? given->if_object() : nullptr;
  // The first is how vLLM reports errors, the second is an event of the Responses API.
  if (given == nullptr && (text_in(body, "object") == "error" || type_of(body) == "error"))
    inner = &body;
  if (inner == nullptr) {
    const auto text = text_in(body, "error");
    out.text = excerpt(text.empty() ? to_text(body) : std::string{text}, text_max);
    return out;
  }
  out.code = text_in(*inner, "code");
  if (const auto status = count_in(*inner, "code"); status >= 400 && status < 600)
    out.status = static_cast<int>(status);
  out.type = text_in(*inner, "type");
  if (out.code.empty())
    out.code = out.type;
  out.text = excerpt(text_in(*inner, "message"), text_max);
  if (out.text.empty())
    out.text = excerpt(to_text(*inner), text_max);
  return out;
}

server_fault read_fault(std::string_view body) {
  const auto parsed = parse_json(body);
  const auto* object = parsed ? parsed->if_object() : nullptr;
  if (object != nullptr && member(*object, "error"))
    return read_fault(*object);
  auto out = server_fault{};
  out.text = excerpt(body, text_max);
  return out;
}

std::string without_secret(std::string_view text, std::string_view secret) {
  auto out = std::string{};
  auto at = secret.size() < secret_bytes_min ? std::string_view::npos : text.find(secret);
  for (; at != std::string_view::npos; at = text.find(secret)) {
    (out += text.substr(0, at)) += "***";
    text.remove_prefix(at + secret.size());
  }
  return out += text;
}

std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets) {
  auto out = std::string{text};
  for (const auto& secret : secrets)
    out = without_secret(out, secret);
  return out;
}

failure judge_fault(const server_fault& said) noexcept {
  return said.status >= 400 ? judge(said.status, said.code, said.type)
                            : judge_stream(said.code, said.type);
}

fault stream_fault(const json::object& event) {
  // The Responses API puts the error into the member `response`.
  const auto* answer = object_in(event, "response");
  const auto said = answer ? read_fault(*answer) : read_fault(event);
  return {judge_fault(said), "the provider ended the stream with an error: " + said.text};
}

} // namespace superstep::models
