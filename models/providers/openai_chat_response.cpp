// SPDX-License-Identifier: Apache-2.0
// Reads answers of chat completions, complete or streamed. Also handles deviations of other servers
// with this API.
#include "messages/openai_json.hpp"
#include "models/providers/answer_end.hpp"
#include "models/providers/json_parts.hpp"
#include "models/providers/openai_chat.hpp"
#include "models/providers/service_tier.hpp"

#include <algorithm>
#include <utility>

namespace superstep::openai_chat {

namespace {

using namespace providers;

/// Returns the id of a call; "" if there is none. Some servers send numbers.
std::string id_in(const json::object& call) {
  const auto* id = member(call, "id");
  return id && id->is_number() ? to_text(*id) : std::string{text_in(call, "id")};
}

/// Reads one tool call.
/// @param cut why the model could not finish the call; empty if it finished
result<> add_call(message& to, const json::value& value, std::string_view cut) {
  const auto* call = value.if_object();
  const auto* function = call ? object_in(*call, "function") : nullptr;
  if (!function)
    return bad_answer("tool_calls: a call has no `function`: " + to_text(value));
  const auto* arguments = member(*function, "arguments");
  auto text = text_in(*function, "arguments");
  auto written = std::string{};
  // Some servers send the arguments as an object instead of JSON text.
  if (arguments && !arguments->is_string()) {
    written = to_text(*arguments);
    text = written;
  }
  auto id = id_in(*call);
  auto name = std::string{text_in(*function, "name")};
  if (arguments && arguments->is_object() && !cut.empty())
    to.invalid_tool_calls.push_back(
        object_of_cut_answer(std::move(id), std::move(name), text, cut));
  else
    superstep::add_call(to, parse_tool_call(std::move(id), std::move(name), text, cut));
  return {};
}

/// Reads the member `message` of a choice.
result<> read_message(message& m, const json::object& from, std::string_view cut) {
  m.type = message_type::ai;
  if (auto read = read_content(m, from); !read)
    return read;
  m.id = text_in(from, "id");
  m.name = text_in(from, "name");
  // If the answer was cut, only its last call can be incomplete.
  if (const auto* calls = array_in(from, "tool_calls"))
    for (const auto& call : *calls)
      if (auto added = add_call(m, call, &call == &calls->back() ? cut : ""); !added)
        return added;
  for (const auto* key : {"function_call", "refusal", "audio"})
    put_as(m.additional_kwargs, key, from, key);
  return {};
}

} // namespace

token_usage read_usage(const json::object& usage, std::string_view tier_name) {
  const auto tier = service_tier{tier_name};
  auto out = token_usage{};
  out.input_tokens = count_in(usage, "prompt_tokens");
  out.output_tokens = count_in(usage, "completion_tokens");
  out.total_tokens = total_in(usage, out.input_tokens + out.output_tokens);
  if (const auto* input = object_in(usage, "prompt_tokens_details")) {
    put_count(out.input_details, "audio", *input, "audio_tokens");
    put_count(out.input_details, tier.key_of("cache_read"), *input, "cached_tokens");
  }
  if (const auto* output = object_in(usage, "completion_tokens_details")) {
    put_count(out.output_details, "audio", *output, "audio_tokens");
    put_count(out.output_details, tier.key_of("reasoning"), *output, "reasoning_tokens");
  }
  tier.count_rest(out);
  return out;
}

bool has_failed(const json::object& choice) {
  return member(choice, "error") || text_in(choice, "finish_reason") == "error";
}

result<message> read_response(const json::object& answer) {
  if (auto fault = error_in(answer))
    return *std::move(fault);
  const auto* choices = array_in(answer, "choices");
  const auto* choice = choices && !choices->empty() ? choices->front().if_object() : nullptr;
  const auto* from = choice ? object_in(*choice, "message") : nullptr;
  if (!from)
    return bad_answer("the chat completion has no `choices` with a `message`");
  auto m = message{};
  const auto cut = why_cut(text_in(*choice, "finish_reason"));
  if (auto read = read_message(m, *from, cut); !read)
    return std::move(read).error();
  auto& metadata = m.response_metadata.edit();
  metadata.reserve(8); // enough for most answers
  if (const auto* usage = object_in(answer, "usage")) {
    m.usage = read_usage(*usage, text_in(answer, "service_tier"));
    metadata["token_usage"] = *usage;
  }
  metadata["model_provider"] = "openai";
  put_as(metadata, "model_name", answer, "model");
  for (const auto* key : {"system_fingerprint", "id", "service_tier"})
    put_as(metadata, key, answer, key);
  for (const auto* key : {"finish_reason", "logprobs"})
    put_as(metadata, key, *choice, key);
  return m;
}

namespace {

/// Adds a piece of a tool call. Missing members remain unset, so that they do not overwrite values
/// of earlier pieces.
void add_call_piece(message_chunk& chunk, const json::object& piece) {
  const auto text = [](const json::object& o, std::string_view key) {
    return member(o, key) ? std::optional{std::string{text_in(o, key)}} : std::nullopt;
  };
  const auto* function = object_in(piece, "function");
  const auto none = json::object{};
  const auto& inner = function ? *function : none;
  const auto* index = piece.if_contains("index");
  auto id = member(piece, "id") ? std::optional{id_in(piece)} : std::nullopt;
  auto arguments =
      member(inner, "arguments") ? std::optional{arguments_in(inner, "arguments")} : std::nullopt;
  chunk.call_chunks.push_back({text(inner, "name"), std::move(arguments), std::move(id),
                               index ? json::value(*index, json::storage_ptr{}) : json::value{}});
}

/// Reads the member `delta` of a streamed choice.
result<> read_delta(message_chunk& chunk, const json::object& delta) {
  if (auto read = read_content(chunk.part, delta); !read)
    return read;
  if (const auto* call = object_in(delta, "function_call")) {
    auto copy = *call;
    if (!member(copy, "name"))
      copy["name"] = "";
    chunk.part.additional_kwargs["function_call"] = std::move(copy);
  }
  if (const auto* calls = array_in(delta, "tool_calls"))
    for (const auto& call : *calls)
      if (const auto* piece = call.if_object())
        add_call_piece(chunk, *piece);
  return {};
}

} // namespace

chunk_result read_event(const json::object& event) {
  if (auto fault = error_in(event))
    return *std::move(fault);
  auto chunk = chunk_of("openai");
  if (const auto* usage = object_in(event, "usage"))
    chunk.part.usage = read_usage(*usage, text_in(event, "service_tier"));
  const auto* choices = array_in(event, "choices");
  const auto* choice = choices && !choices->empty() ? choices->front().if_object() : nullptr;
  if (!choice) { // the last event often contains only usage
    chunk.part.response_metadata.clear();
    return std::optional{std::move(chunk)};
  }
  if (has_failed(*choice))
    return error_in(*choice).value_or(bad_answer("the provider could not finish the answer"));
  const auto* delta = object_in(*choice, "delta");
  // Some servers send an empty reason with each event.
  const auto has_ended = !text_in(*choice, "finish_reason").empty();
  if (!delta && !has_ended && !chunk.part.usage)
    return std::optional<message_chunk>{};
  if (delta)
    if (auto read = read_delta(chunk, *delta); !read)
      return std::move(read).error();
  auto& metadata = chunk.part.response_metadata;
  if (has_ended) {
    put_as(metadata, "finish_reason", *choice, "finish_reason");
    put_as(metadata, "model_name", event, "model");
    put_as(metadata, "system_fingerprint", event, "system_fingerprint");
    put_as(metadata, "service_tier", event, "service_tier");
  }
  put_as(metadata, "logprobs", *choice, "logprobs");
  return std::optional{std::move(chunk)};
}

void keep_extras(object_box& kwargs, const json::object& answer) {
  put_as(kwargs, "refusal", answer, "refusal");
  for (const auto* key : {"reasoning", "reasoning_content"}) // reasoning_content takes precedence
    if (!text_in(answer, key).empty())
      put_as(kwargs, "reasoning_content", answer, key);
}

/// Removes the name from a piece if it was already reported. Some servers, such as llama.cpp's
/// Python server, send the name with every piece of the arguments. Merging would concatenate it.
void event_reader::drop_repeated_name(tool_call_chunk& piece) {
  if (piece.index.is_null())
    return;
  const auto has_other_id = [&](const named_call& known) {
    return piece.id && !piece.id->empty() && !known.id.empty() && known.id != *piece.id;
  };
  const auto is_new = piece.index.is_int64() && piece.index.get_int64() > highest_index_;
  if (piece.index.is_int64())
    highest_index_ = std::max(highest_index_, piece.index.get_int64());
  // Searches from the end, because a piece usually belongs to the latest call.
  const auto known = is_new
                         ? calls_.rend()
                         : std::find_if(calls_.rbegin(), calls_.rend(), [&](const named_call& c) {
                             return c.index == piece.index && !has_other_id(c);
                           });
  if (known == calls_.rend()) {
    calls_.push_back({piece.index, piece.id.value_or(""), piece.name.value_or("")});
    return;
  }
  if (known->id.empty())
    known->id = piece.id.value_or("");
  if (!piece.name)
    return;
  if (*piece.name == known->name)
    piece.name.reset();
  else
    known->name += *piece.name;
}

/// Whether an event belongs to another choice than the first one of the stream. The texts of
/// several choices would otherwise be mixed.
bool event_reader::is_of_other_choice(const json::object& event) {
  const auto* choices = array_in(event, "choices");
  const auto* choice = choices && !choices->empty() ? choices->front().if_object() : nullptr;
  const auto* index = choice ? choice->if_contains("index") : nullptr;
  if (!index || !index->is_int64())
    return false;
  if (!choice_)
    choice_ = index->get_int64();
  return *choice_ != index->get_int64();
}

/// Gives adjacent blocks with texts an index, so that merging joins them. Mistral sends each piece
/// of its thinking as a list with one block.
void event_reader::number_blocks(json::array& blocks) {
  for (auto& element : blocks) {
    auto* block = element.if_object();
    const auto type = block ? type_of(*block) : std::string_view{};
    if (!is_one_of(type, {"text", "thinking"}) || block->contains("index")) {
      last_type_.clear();
      continue;
    }
    if (type != last_type_)
      ++last_block_;
    last_type_ = type;
    (*block)["index"] = last_block_;
    if (auto* texts = block->if_contains("thinking"); texts && texts->is_array())
      for (auto& text : texts->get_array())
        if (text.is_object() && type_of(text.get_object()) == "text")
          text.get_object().emplace("index", 0);
  }
}

chunk_result event_reader::read(const json::object& event) {
  if (is_of_other_choice(event)) {
    if (!member(event, "usage"))
      return std::optional<message_chunk>{};
    auto counts = event;
    counts.erase("choices");
    return read(counts);
  }
  auto piece = read_event(event);
  if (!piece || !*piece)
    return piece;
  auto& chunk = **piece;
  for (auto& call : chunk.call_chunks)
    drop_repeated_name(call);
  if (chunk.part.blocks)
    number_blocks(*chunk.part.blocks);
  else if (!chunk.part.content.empty())
    last_type_.clear(); // the text follows the last block
  auto& kwargs = chunk.part.additional_kwargs;
  if (auto* call = kwargs.if_contains("function_call"); call && call->is_object()) {
    auto& name = call->get_object()["name"];
    if (name == json::value(function_name_))
      name = "";
    else if (name.is_string())
      function_name_ += std::string_view{name.get_string()};
  }
  const auto* choices = array_in(event, "choices");
  const auto* choice = choices && !choices->empty() ? choices->front().if_object() : nullptr;
  if (const auto* delta = choice ? object_in(*choice, "delta") : nullptr)
    keep_extras(kwargs, *delta);
  // Some servers send the usage so far with each event.
  if (chunk.part.usage) {
    auto added = not_reported(*chunk.part.usage, reported_);
    if (!added)
      return std::move(added).error();
    chunk.part.usage = *std::move(added);
  }
  // Merging concatenates texts in metadata, so they must be reported only once.
  auto& metadata = chunk.part.response_metadata;
  if (metadata.contains("finish_reason") && std::exchange(has_ended_, true))
    for (const auto* key : {"finish_reason", "model_name", "system_fingerprint", "service_tier"})
      metadata.erase(key);
  return piece;
}

} // namespace superstep::openai_chat
