// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/models/chat_model.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace superstep {

/// Options of make_recorded_model(). A recorded model reads its answers from a file, for tests,
/// demonstrations and replays.
///
/// The file contains one JSON object per line:
///
///     {"custom_id": "row-1", "turns": [{"role": "assistant", "content": …, "tool_calls": […]}, …]}
///
/// `custom_id` (or `id`; text or a number) is compared with model_request::run_key. `turns` are
/// chat-completions messages, one per model call of the run; a turn may contain `usage`. Other
/// members are ignored, and so are empty lines. Duplicate keys are errors.
struct recorded_model_options {
  std::string path;
  std::uint32_t latency_ms = 0;                      ///< delay of every answer
  std::size_t file_bytes_max = std::size_t{4} << 30; ///< the file is kept in memory
  std::string* note = nullptr; ///< if not null, receives a description of ignored content
};

/// Reads and checks the whole file. An incomplete last line without a newline is ignored. Requests
/// for a row or turn that the file does not contain fail with model_errc::missing_turn.
///
/// @return model_errc::bad_configuration with file and line if a line is invalid
[[nodiscard]] result<chat_model_ptr> make_recorded_model(recorded_model_options options);

} // namespace superstep
