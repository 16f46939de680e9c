// SPDX-License-Identifier: Apache-2.0
// Converts answers and streams to output version v1, in which content is a list of standard blocks.
#include "base/json_members.hpp"
#include "models/providers/json_parts.hpp"

#include <superstep/messages/message_json.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace superstep {

result<output_version> read_output_version(std::string_view text) {
  if (text == "v0")
    return output_version::v0;
  if (text == "v1")
    return output_version::v1;
  return error{model_errc::bad_configuration, "the output version must be v0 or v1, got \"" +
                                                  std::string{text.substr(0, 50)} + '"'};
}

result<output_version> default_output_version() {
  for (const auto* name : {"SUPERSTEP_OUTPUT_VERSION", "LC_OUTPUT_VERSION"}) {
    const auto* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr || *value == '\0')
      continue;
    auto version = read_output_version(value);
    if (!version)
      return error{version.error().code, std::string{name} + ": " + version.error().text};
    return version;
  }
  return output_version::v0;
}

result<message> standardized(message answer) {
  if (providers::is_standard(answer))
    return answer;
  auto blocks = content_blocks(answer);
  if (!blocks)
    return std::move(blocks).error();
  answer.blocks = *std::move(blocks);
  answer.content.clear();
  answer.response_metadata["output_version"] = "v1";
  return answer;
}

/// Returns `wanted` if no block uses it, else a number above all indexes in use.
std::int64_t chunk_standardizer::free_index(std::int64_t wanted) {
  if (taken_.contains(wanted))
    wanted = std::max(*taken_.rbegin(), wanted) + 1;
  taken_.insert(wanted);
  return wanted;
}

void chunk_standardizer::number(json::object& block) {
  const auto type = type_of(block);
  const auto* index = block.if_contains("index");
  if (!index || index->is_null()) {
    // A piece without an index continues the previous block of the same type.
    if (type != std::exchange(last_type_, type))
      index_ = free_index(taken_.empty() ? 0 : *taken_.rbegin() + 1);
    block["index"] = index_;
  } else if (index->is_int64()) {
    const auto [place, is_new] = given_.emplace(index->get_int64(), 0);
    if (is_new)
      place->second = free_index(place->first);
    block["index"] = place->second;
    last_type_.clear();
  } // a text index is unique already
}

result<message_chunk> chunk_standardizer::standardize(message_chunk piece) {
  auto blocks = content_blocks(piece);
  if (!blocks)
    return std::move(blocks).error();
  // An empty text is not a block. If it were kept, it would take the first index.
  const auto is_silence = [](const json::value& block) {
    return block == json::value{{"type", "text"}, {"text", ""}};
  };
  blocks->erase(std::remove_if(blocks->begin(), blocks->end(), is_silence), blocks->end());
  for (auto& element : *blocks)
    if (auto* block = element.if_object())
      number(*block);
  piece.part.blocks = *std::move(blocks);
  piece.part.content.clear();
  // Merging concatenates texts in metadata, so only the first piece may have this text.
  if (std::exchange(is_first_, false))
    piece.part.response_metadata["output_version"] = "v1";
  return piece;
}

} // namespace superstep
