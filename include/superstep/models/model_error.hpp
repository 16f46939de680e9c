// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <system_error>

namespace superstep {

/// Why a model gave no answer. Final: the model has already retried what is worth retrying.
enum class model_errc {
  bad_request = 1,   ///< the server rejects the request; repeating it would not help
  unauthorized,      ///< the API key is missing, wrong or lacks permission
  not_found,         ///< no such model or address
  rate_limited,      ///< HTTP 429, more often than the options allow
  quota_exhausted,   ///< the account has no quota left: pause the whole batch
  server_error,      ///< the server failed (5xx) at every attempt
  unreachable,       ///< no connection, or a broken one, at every attempt
  timed_out,         ///< no answer in time at every attempt
  bad_answer,        ///< an answer that cannot be parsed or used
  missing_turn,      ///< the recording has no such row or turn
  bad_configuration, ///< an option, environment variable or file is unusable
};

/// Makes model_errc convertible to std::error_code.
[[nodiscard]] std::error_code make_error_code(model_errc) noexcept;

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::model_errc> : std::true_type {};
