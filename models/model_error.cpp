// SPDX-License-Identifier: Apache-2.0
// The error category of models, and their exception.
#include "base/error_table.hpp"

#include <superstep/models/chat_model.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace superstep {

namespace {

/// The texts of error codes. They are short, because `error::text` contains the details, for
/// example the server's own message.
constexpr detail::error_entry<model_errc> code_table[] = {
    {model_errc::bad_request, "bad_request", "the request is invalid for this model"},
    {model_errc::unauthorized, "unauthorized", "the model server rejected the API key"},
    {model_errc::not_found, "not_found", "no such model or endpoint"},
    {model_errc::rate_limited, "rate_limited", "the model server is rate limiting requests"},
    {model_errc::quota_exhausted, "quota_exhausted", "the quota of the account is exhausted"},
    {model_errc::server_error, "server_error", "the model server failed"},
    {model_errc::unreachable, "unreachable", "the model server is unreachable"},
    {model_errc::timed_out, "timed_out", "the model server did not answer in time"},
    {model_errc::bad_answer, "bad_answer", "the model gave no usable answer"},
    {model_errc::missing_turn, "missing_turn",
     "the file with the answers has none for this request"},
    {model_errc::bad_configuration, "bad_configuration", "invalid configuration of the model"},
    {model_errc::invalid_response, "invalid_response", "the structured response is invalid"},
};

} // namespace

std::error_code make_error_code(model_errc code) noexcept {
  static const auto category =
      detail::error_table<model_errc>{"model", "model_errc", "unknown model error", code_table};
  return {static_cast<int>(code), category};
}

void model_error::set_answers(token_usage usage, std::uint32_t answers) {
  usage_ = std::make_shared<const token_usage>(std::move(usage));
  answers_ = answers;
}

} // namespace superstep
