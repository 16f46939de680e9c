// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/models/chat_model.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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
  std::string path{};                                ///< path of the file
  std::chrono::milliseconds latency{0};              ///< delay of every answer
  std::size_t file_bytes_max = std::size_t{4} << 30; ///< the file is kept in memory
  std::string* note = nullptr; ///< if not null, receives a description of ignored content
};

/// Makes a model that returns the answers of a file. Reads and checks the whole file; an incomplete
/// last line without a newline is ignored. Requests for a row or turn that the file does not
/// contain fail with model_errc::missing_turn. The delay `latency` blocks no thread.
///
/// May be called from any thread.
/// @param options see recorded_model_options
/// @return the model; model_errc::bad_configuration if the file cannot be read, or with file and
/// line if a line is invalid; errc::shortage if the machine lacks descriptors or memory
[[nodiscard]] result<chat_model_ptr> make_recorded_model(recorded_model_options options);

/// Returns a model that records every answer of `model` in a journal: messages, errors and streamed
/// pieces, with their timing. make_replayed_model() plays the journal back. May be called from any
/// thread.
///
/// A journal contains one JSON object per answer, appended when the answer is complete:
///
///     {"run": "row-1", "turn": 0, "question": "8c1f…", "ms": 812.5,
///      "chunks": [[95.1, {piece}], [97.0, {piece}], …], "message": {…}}
///
/// `question` is a hash of the request; the request itself is not recorded. Times are milliseconds
/// since the request. A failed call has `error` {kind, text} instead of `message`. Only answers to
/// requests that stream have `chunks`.
///
/// The file is created by the first answer, readable only by its owner. An existing journal is
/// appended to, after an incomplete last line has been removed. If an answer cannot be recorded,
/// its call fails: with errc::shortage if the file could not be created for lack of descriptors or
/// memory, otherwise with errc::io_failed.
///
/// @param model shared by the returned model; must not be null
/// @param path path of the journal
/// @param note if not null, receives a description of a repair before this function returns, or ""
/// @param secrets texts to mask in the journal in case a server repeats them; see secrets_of()
/// @return the model; model_errc::bad_configuration if the path cannot be written, or the file is
/// not a journal; errc::shortage if the machine lacks descriptors or memory
[[nodiscard]] result<chat_model_ptr> record_model(chat_model_ptr model, std::string path,
                                                  std::string* note = nullptr,
                                                  std::vector<std::string> secrets = {});

/// Options of make_replayed_model().
struct replayed_model_options {
  /// Path of the journal.
  std::string path{};
  bool with_timing = false; ///< delay answers and pieces as in the recording
  std::size_t file_bytes_max = std::size_t{1} << 30; ///< the file is kept in memory
  std::string* note = nullptr; ///< if not null, receives a description of ignored content
};

/// Makes a model that replays a journal of record_model(). A request is answered by the recorded
/// answer for the same run, turn and request. If the journal has several, repeated requests get
/// them in order, and after the last one the first again. A request without a recorded answer fails
/// with model_errc::missing_turn.
///
/// May be called from any thread.
/// @param options see replayed_model_options
/// @return the model; model_errc::bad_configuration with file and line if the journal cannot be
/// read; errc::shortage if the machine lacks descriptors or memory. An incomplete last line, left
/// by a process that was killed, is ignored.
[[nodiscard]] result<chat_model_ptr> make_replayed_model(replayed_model_options options);

} // namespace superstep
