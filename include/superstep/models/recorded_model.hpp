// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/models/chat_model.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace superstep {

/// Answers read from a file instead of asked for: for tests, demonstrations and replays.
///
/// The file holds one JSON object per line:
///
///     {"custom_id": "row-1", "turns": [{"role": "assistant", "content": …, "tool_calls": […]}, …]}
///
/// `custom_id` (or `id`, text or a number) is compared with model_request::run_key, and `turns` are
/// assistant messages in the form of OpenAI chat completions, one per call of the model in the run.
/// Other keys of the line are data for other readers. Empty lines are skipped; a key that comes
/// twice is refused. A turn may hold `usage`, as a chat completion does.
struct recorded_model_options {
  std::string path;
  std::uint32_t latency_ms = 0;                      ///< time that every answer takes
  std::size_t file_bytes_max = std::size_t{4} << 30; ///< the file is held in memory
  std::string* note = nullptr; ///< if not null, set to what was ignored, for the user
};

/// Reads and checks the whole file; the error names the line. A last line without its newline that
/// cannot be read is torn, and ignored. Answers with model_errc::missing_turn
/// when it has no such row or turn.
[[nodiscard]] result<chat_model_ptr> make_recorded_model(recorded_model_options options);

} // namespace superstep
