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

/// How the content of an answer is kept: as the provider wrote it (v0), or as standard blocks (v1).
enum class output_version : std::uint8_t { v0, v1 };

/// "v0" or "v1".
[[nodiscard]] result<output_version> read_output_version(std::string_view text);

/// What the environment says: SUPERSTEP_OUTPUT_VERSION, or LC_OUTPUT_VERSION when that is not set;
/// v0 without either. Anything but v0 and v1 is an error.
[[nodiscard]] result<output_version> default_output_version();

/// The answer with its content as standard blocks, marked as such in
/// `response_metadata.output_version`. One that is marked already stays as it is.
[[nodiscard]] result<message> standardized(message answer);

/// The same for the pieces of one stream, in their order: every block gets an index of its own, so
/// that the pieces add up block by block. Indexes that the provider gave stay unless another block
/// has them: in a chat completion the calls are counted, and the text beside them is not.
class chunk_standardizer {
public:
  [[nodiscard]] result<message_chunk> standardize(message_chunk piece);

private:
  void number(json::object& block);
  std::int64_t free_index(std::int64_t wanted);

  std::string last_type_;
  std::int64_t index_ = -1;                    ///< of the last block that had none
  std::map<std::int64_t, std::int64_t> given_; ///< the provider's indexes, and what they became
  std::set<std::int64_t> taken_;
  bool is_first_ = true;
};

} // namespace superstep
