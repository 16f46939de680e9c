// SPDX-License-Identifier: Apache-2.0
// The error category of models.
#include <superstep/models/chat_model.hpp>

#include <string>

namespace superstep {

namespace {

/// The texts of error codes. They are short, because `error::text` contains the server's own
/// message.
class model_category final : public std::error_category {
public:
  [[nodiscard]] const char* name() const noexcept override { return "model"; }
  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<model_errc>(code)) {
    case model_errc::bad_request:
      return "the model rejected the request";
    case model_errc::unauthorized:
      return "the model server rejected the API key";
    case model_errc::not_found:
      return "no such model or endpoint";
    case model_errc::rate_limited:
      return "the model server is rate limiting requests";
    case model_errc::quota_exhausted:
      return "the quota of the account is exhausted";
    case model_errc::server_error:
      return "the model server failed";
    case model_errc::unreachable:
      return "the model server is unreachable";
    case model_errc::timed_out:
      return "the model server did not answer in time";
    case model_errc::bad_answer:
      return "the model gave no usable answer";
    case model_errc::missing_turn:
      return "the recording has no such turn";
    case model_errc::bad_configuration:
      return "invalid configuration of the model";
    }
    return "unknown model error";
  }
};

} // namespace

std::error_code make_error_code(model_errc code) noexcept {
  static const auto category = model_category{};
  return {static_cast<int>(code), category};
}

} // namespace superstep
