// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/messages/message_chunk.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace superstep {

/// The form of an answer's content: as the provider sent it (v0), or standard blocks (v1). See
/// content_blocks.hpp for the latter.
enum class output_version : std::uint8_t { v0, v1 };

/// Parses "v0" or "v1"; other texts are errors.
[[nodiscard]] result<output_version> read_output_version(std::string_view text);

/// Returns the version in the environment variable SUPERSTEP_OUTPUT_VERSION or, if that is not set,
/// LC_OUTPUT_VERSION; v0 if neither is set. Other values than v0 and v1 are errors.
[[nodiscard]] result<output_version> default_output_version();

/// Converts the content of an answer to standard blocks and sets `response_metadata.output_version`
/// to "v1". An answer that is already standard is returned unchanged. Errors as for
/// content_blocks().
[[nodiscard]] result<message> standardized(message answer);

/// Converts the pieces of one stream, in order, to standard blocks. Each block gets an index, so
/// that the pieces add up block by block. Indexes of the provider are kept unless they collide: a
/// chat completion counts its tool calls from 0, but not the text beside them.
class chunk_standardizer {
public:
  /// Converts the next piece. Errors as for content_blocks().
  [[nodiscard]] result<message_chunk> standardize(message_chunk piece);

private:
  void number(json::object& block);
  std::int64_t free_index(std::int64_t wanted);

  std::string last_type_;
  std::int64_t index_ = -1;                    ///< of the last block without one
  std::map<std::int64_t, std::int64_t> given_; ///< the provider's index → the assigned one
  std::set<std::int64_t> taken_;
  bool is_first_ = true;
};

} // namespace superstep
