// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace superstep {

/// How many bytes the key of an encrypted file has.
inline constexpr std::size_t encryption_key_bytes = 32;

/// The key for sqlite_saver_options, sqlite_store_options and sqlite_cache_options from a variable
/// of the environment, 64 hexadecimal digits (`openssl rand -hex 32` makes one). Empty when it is
/// not set. Throws saver_error{wrong_key} for what is no key.
[[nodiscard]] std::string
encryption_key_from_environment(const char* name = "SUPERSTEP_CHECKPOINT_KEY");

} // namespace superstep
