// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <system_error>

namespace superstep {

/// Why a model gave no answer. Final: whatever could be tried again has been.
enum class model_errc {
  bad_request = 1,   ///< the server does not accept what was asked; asking again would not help
  unauthorized,      ///< the key is missing, wrong or not allowed to do this
  not_found,         ///< no such model or address
  rate_limited,      ///< "too many requests", more often than the options allow
  quota_exhausted,   ///< the account has nothing left: pause the batch, not the row
  server_error,      ///< the server failed (5xx), at every attempt
  unreachable,       ///< no connection, or one that broke, at every attempt
  timed_out,         ///< no answer in time, at every attempt
  bad_answer,        ///< an answer that cannot be read or used
  missing_turn,      ///< the recording has no such row, or fewer turns than were asked for
  bad_configuration, ///< an option, key variable or file of the model cannot be used
};

[[nodiscard]] std::error_code make_error_code(model_errc) noexcept;

} // namespace superstep

template <>
struct std::is_error_code_enum<superstep::model_errc> : std::true_type {};
