// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/providers/provider_format.hpp"

#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/models/chat_model.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::providers {

/// Returns the member, or nullptr if it is absent or null.
[[nodiscard]] const json::value* member(const json::object& o, std::string_view key);
/// Returns the text of a member; "" if it is absent or not a string.
[[nodiscard]] std::string_view text_in(const json::object& o, std::string_view key);
/// Returns the object or list that a member contains, or nullptr. @{
[[nodiscard]] const json::object* object_in(const json::object& o, std::string_view key);
[[nodiscard]] const json::array* array_in(const json::object& o, std::string_view key);
/// @}
/// Returns the integer that a member contains, or 0.
[[nodiscard]] std::int64_t count_in(const json::object& o, std::string_view key);
/// Returns the member `type`; "" if there is none.
[[nodiscard]] std::string_view type_of(const json::object& block);
[[nodiscard]] bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words);

/// Returns the members of `from` with these names; absent ones are skipped.
[[nodiscard]] json::object only(const json::object& from,
                                std::initializer_list<std::string_view> keys);
/// Returns the members that are not null.
[[nodiscard]] json::object without_nulls(const json::object& from);
/// Copies every member of `from`, replacing existing ones.
void put_all(json::object& into, const json::object& from);
/// Copies the member `key` of `from`, unless it is absent or null, under the name `name`.
void put_as(json::object& into, std::string_view name, const json::object& from,
            std::string_view key);

/// Whether the content is in the standard form (response_metadata.output_version "v1").
[[nodiscard]] bool is_standard(const message& m);
/// Returns response_metadata.model_provider, or "".
[[nodiscard]] std::string_view provider_of(const message& m);

/// Returns the members of the binding that are not tool options; they are sent as parameters.
[[nodiscard]] json::object bound_parameters(const provider_question& q);

/// Returns the name of a tool in any provider's form, or "".
[[nodiscard]] std::string_view name_of_tool(const json::value& tool);
/// Whether the request offers a tool of this name.
[[nodiscard]] bool has_tool(const provider_question& q, std::string_view name);
/// Converts the tool definitions to JSON and appends them to `tools`, for providers whose requests
/// are built as a tree.
void spell_out_tools(provider_question& q);

/// Errors of type model_errc::bad_request and model_errc::bad_answer. @{
[[nodiscard]] error bad_request(std::string text);
[[nodiscard]] error bad_answer(std::string text);
/// @}
/// Returns the error of a response `{"error": …}`; nullopt if there is none.
[[nodiscard]] std::optional<error> error_in(const json::object& answer);

/// Reads `content` into the message: text, null, or a list of strings and blocks.
[[nodiscard]] result<> read_content(message& m, const json::object& answer);

/// Returns an invalid call for a cut answer whose server sends arguments as an object. Such an
/// object is complete JSON even if the model was cut off, because the server closes it.
[[nodiscard]] invalid_tool_call object_of_cut_answer(std::string id, std::string name,
                                                     std::string_view args, std::string_view cut);

/// Returns an empty ai chunk with the provider's name in its metadata.
[[nodiscard]] message_chunk chunk_of(std::string_view provider);
/// Returns an empty chunk that marks the end of a stream.
[[nodiscard]] message_chunk last_chunk();

} // namespace superstep::providers
