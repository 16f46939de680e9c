// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace superstep {

/// Size of an encryption key in bytes (AES-256).
inline constexpr std::size_t encryption_key_bytes = 32;

/// Reads a key for sqlite_checkpointer_options, sqlite_store_options or sqlite_cache_options from
/// an environment variable.
/// @param name the variable; it must contain 64 hexadecimal digits (`openssl rand -hex 32` prints a
///   new key)
/// @return the 32 bytes of the key; empty if the variable is not set or empty
/// @throws checkpoint_error{wrong_key} if the value is not a valid key
/// @par Threads
/// Reads the environment; not safe while another thread calls setenv().
[[nodiscard]] std::string
encryption_key_from_environment(const char* name = "SUPERSTEP_CHECKPOINT_KEY");

} // namespace superstep
