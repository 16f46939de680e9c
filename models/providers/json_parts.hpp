// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json_members.hpp"
#include "models/providers/provider_format.hpp"

#include <superstep/messages/messages.hpp>
#include <superstep/models/chat_model.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::providers {

/// Returns the arguments of a call in a streamed piece: a text, or JSON that some servers send
/// instead. "" if the member is missing or an empty object, which a text may follow.
[[nodiscard]] std::string arguments_in(const json::object& o, std::string_view key);
/// Returns the number of tokens in a member: an integer, or a double without a fraction. Returns 0
/// if there is none.
[[nodiscard]] std::int64_t count_in(const json::object& o, std::string_view key);
/// Returns `total_tokens` of a usage; `sum` if the server does not report it.
[[nodiscard]] std::int64_t total_in(const json::object& usage, std::int64_t sum);
/// Copies the number of tokens in the member `key` of `from` to `into` under the name `name`,
/// unless it is missing or not a number.
void put_count(object_box& into, std::string_view name, const json::object& from,
               std::string_view key);

/// Returns the members of `from` that have these names.
[[nodiscard]] json::object only(const json::object& from,
                                std::initializer_list<std::string_view> keys);
/// Returns the members of `from` that are not null.
[[nodiscard]] json::object without_nulls(const json::object& from);
/// Copies all members of `from`. Existing members are replaced.
void put_all(json::object& into, const json::object& from);
/// Copies the member `key` of `from` to `into` under the name `name`, unless it is missing or null.
/// @{
void put_as(json::object& into, std::string_view name, const json::object& from,
            std::string_view key);
void put_as(object_box& into, std::string_view name, const json::object& from,
            std::string_view key);
/// @}

/// Returns the part of a usage that earlier events of a stream have not reported, because merging
/// adds usages. Stores the usage in `reported`.
[[nodiscard]] result<token_usage> not_reported(token_usage all,
                                               optional_box<token_usage>& reported);

/// Whether the message's content has the standard form (response_metadata.output_version is "v1").
[[nodiscard]] bool is_standard(const message& m);
/// Whether a block of this type is the call or the result of a tool that a provider runs, in the
/// form of Anthropic, of the Responses API, or in standard form.
[[nodiscard]] bool is_of_server_tool(std::string_view type);
/// Returns response_metadata.model_provider; "" if it is missing.
[[nodiscard]] std::string_view provider_of(const message& m);

/// Returns the members of the binding that are not options of tools. They are sent as parameters.
[[nodiscard]] json::object bound_parameters(const provider_question& q);

/// Returns the name of a tool in the form of any provider; "" if it has none.
[[nodiscard]] std::string_view name_of_tool(const json::value& tool);
/// Whether the request contains a tool with this name.
[[nodiscard]] bool has_tool(const provider_question& q, std::string_view name);
/// Converts the shared tool definitions to JSON and appends them to `tools`. For providers whose
/// requests are built as JSON values.
void spell_out_tools(provider_question& q);

/// Return errors with model_errc::bad_request and model_errc::bad_answer. @{
[[nodiscard]] error bad_request(std::string text);
[[nodiscard]] error bad_answer(std::string text);
/// @}
/// Returns the error in an answer `{"error": …}`; nullopt if there is none.
[[nodiscard]] std::optional<error> error_in(const json::object& answer);

/// Reads `content` into the message. It must be text, null, or a list of strings and blocks.
[[nodiscard]] result<> read_content(message& m, const json::object& answer);

/// Returns an invalid call for the last call of a cut answer. Needed for servers that send
/// arguments as an object: the server closes the object, so it is valid JSON although it may be
/// incomplete.
[[nodiscard]] invalid_tool_call object_of_cut_answer(std::string id, std::string name,
                                                     std::string_view args, std::string_view cut);

/// Returns an empty AI chunk with the provider's name in its metadata.
[[nodiscard]] message_chunk chunk_of(std::string_view provider);
/// Returns an empty chunk that marks the end of a stream.
[[nodiscard]] message_chunk last_chunk();

} // namespace superstep::providers
