// SPDX-License-Identifier: Apache-2.0
#include "models/providers/json_parts.hpp"

#include <superstep/messages/content_blocks.hpp>
#include <superstep/models/model_error.hpp>
#include <superstep/models/output_version.hpp>

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

result<message_chunk> chunk_standardizer::standardize(message_chunk piece) {
  auto blocks = content_blocks(piece);
  if (!blocks)
    return std::move(blocks).error();
  for (auto& element : *blocks) {
    auto* block = element.if_object();
    if (block == nullptr)
      continue;
    // A piece of the same kind as the one before goes on with it.
    const auto type = providers::type_of(*block);
    if (type != last_type_) {
      last_type_ = type;
      ++index_;
    }
    block->emplace("index", index_);
  }
  piece.part.blocks = *std::move(blocks);
  piece.part.content.clear();
  // Texts of metadata concatenate when pieces are added, so only one of them says it.
  if (std::exchange(is_first_, false))
    piece.part.response_metadata["output_version"] = "v1";
  return piece;
}

} // namespace superstep
