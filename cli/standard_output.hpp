// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace superstep::cli {

/// Exit status of a command whose reader of standard output has ended before it: the status that a
/// shell reports for a program that SIGPIPE ends.
inline constexpr auto reader_ended_code = 128 + SIGPIPE;

/// Whether standard output is a pipe or a socket whose reader has ended, as in
/// `superstep report out.jsonl | head -n 1`.
[[nodiscard]] bool has_reader_ended() noexcept;

/// Discards the text that the program prints from now on, for a command whose work continues
/// without a reader of its output. Not safe while another thread writes to standard output.
void discard_standard_output();

} // namespace superstep::cli
