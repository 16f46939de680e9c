// SPDX-License-Identifier: Apache-2.0
#include <superstep/models/model_error.hpp>

#include <string>

namespace superstep {

namespace {

class model_category final : public std::error_category {
public:
  [[nodiscard]] const char* name() const noexcept override { return "model"; }
  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<model_errc>(code)) {
    case model_errc::bad_request:
      return "the model server does not accept the request";
    case model_errc::unauthorized:
      return "the model server refuses the key";
    case model_errc::not_found:
      return "the model or its address does not exist";
    case model_errc::rate_limited:
      return "the model server answers \"too many requests\"";
    case model_errc::quota_exhausted:
      return "the account has no quota left";
    case model_errc::server_error:
      return "the model server failed";
    case model_errc::unreachable:
      return "the model server cannot be reached";
    case model_errc::timed_out:
      return "the model server did not answer in time";
    case model_errc::bad_answer:
      return "the answer of the model server cannot be used";
    case model_errc::missing_turn:
      return "the recording has no such turn";
    case model_errc::bad_configuration:
      return "the model cannot be set up like this";
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
