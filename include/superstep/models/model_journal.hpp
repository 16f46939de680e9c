// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/models/chat_model.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace superstep {

/// Writes down what a model answers, errors and streams with their timing included, to be played
/// back by make_replayed_model().
///
/// The journal holds one JSON object per answer, appended when it is complete:
///
///     {"run": "row-1", "turn": 0, "question": "8c1f…", "ms": 812.5,
///      "chunks": [[95.1, {piece}], [97.0, {piece}], …], "message": {…}}
///
/// `question` is a hash of what was asked; the question itself is not written. `error` {kind, text}
/// stands in place of `message` when there was none. Whether the answers are streamed is up to
/// whoever asks.
///
/// The first answer creates the file when it does not exist, readable by its user alone; an existing
/// one is added to, and a torn last line is removed first. A file with other content is refused. If
/// an answer cannot be written, its call fails with errc::io_failed, or with errc::shortage if no
/// descriptor was left to create the file.
/// @param secrets what is kept out of the file, should a server repeat it; see secrets_of()
/// @param note if not null, set to what was repaired, for the user; empty: nothing
[[nodiscard]] result<chat_model_ptr> record_model(chat_model_ptr model, std::string path,
                                                  std::string* note = nullptr,
                                                  std::vector<std::string> secrets = {});

struct replayed_model_options {
  std::string path;
  bool with_timing = false; ///< answers and their pieces take the time they took
  std::size_t file_bytes_max = std::size_t{1} << 30; ///< the file is held in memory
  std::string* note = nullptr; ///< if not null, set to what was ignored, for the user
};

/// Answers as the journal says, to the same question of the same turn of the same run; asked again,
/// it goes on to the next such answer of the journal, and after the last it begins anew. Nothing
/// that fits is model_errc::missing_turn.
///
/// The last line of a journal may be cut off (the program was killed); any other that cannot be
/// read is an error that names it.
[[nodiscard]] result<chat_model_ptr> make_replayed_model(replayed_model_options options);

} // namespace superstep
