// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/detail/object_box.hpp>
#include <superstep/base/detail/optional_box.hpp>
#include <superstep/base/detail/shared_list.hpp>
#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/base/stored_form.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace superstep {

/// The description of a tool that is sent to a model. `parameters` is a JSON Schema of type object.
struct tool_definition {
  std::string name;
  std::string description;
  json::object parameters;

  friend bool operator==(const tool_definition&, const tool_definition&) = default;
};

/// The tools of an agent, shared by all requests that it makes. Never null; may be empty.
using tool_definitions = std::shared_ptr<const std::vector<tool_definition>>;

/// The author of a message. A `remove` message deletes the message with the same id (see
/// add_messages). A `chat` message has a free-form role. `function` is the chat-completions role
/// that `tool` replaced.
enum class message_type : std::uint8_t { human, ai, system, tool, remove, chat, function };

/// A model's request to run a tool, with parsed arguments. If the argument text is not a JSON
/// object, an invalid_tool_call is created instead.
struct tool_call {
  std::string id;
  std::string name;
  json::object args;

  friend bool operator==(const tool_call&, const tool_call&) = default;
};

/// A tool call whose arguments could not be parsed: `args` is the raw text, `error` the reason
/// (empty if the source does not give one).
struct invalid_tool_call {
  std::string id;
  std::string name;
  std::string args;
  std::string error;

  friend bool operator==(const invalid_tool_call&, const invalid_tool_call&) = default;
};

/// Token counts of one model answer. `input_details` and `output_details` contain the provider's
/// breakdown by name (cache_read, reasoning, …). `others` contains the members that only this
/// provider reports.
struct token_usage {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t total_tokens = 0;
  object_box input_details;
  object_box output_details;
  object_box others = {};

  friend bool operator==(const token_usage&, const token_usage&) = default;
};

/// One message of a conversation. A plain value; immutable once it is in a message_list.
struct message {
  message_type type = message_type::human;
  bool is_error = false;            ///< tool only: status "error"
  std::string content;              ///< the text; empty when `blocks` is set
  optional_box<json::array> blocks; ///< content as a list of strings and objects
  std::string id;                   ///< empty: add_messages assigns one
  std::string name;
  std::vector<tool_call> tool_calls;                 ///< ai only
  std::vector<invalid_tool_call> invalid_tool_calls; ///< ai only
  std::string tool_call_id;                          ///< tool only: the call it answers
  json::value artifact;                              ///< tool only; never sent to a model
  optional_box<token_usage> usage;                   ///< ai only
  object_box response_metadata;
  object_box additional_kwargs;
  optional_box<std::string> role; ///< chat only: the free-form role

  friend bool operator==(const message&, const message&) = default;
};

/// Creates a message with a text and without an id. remove_message() creates a message with only an
/// id, which deletes the message with that id; see add_messages. May be called from any thread. @{
[[nodiscard]] message human_message(std::string text);
[[nodiscard]] message ai_message(std::string text, std::vector<tool_call> calls = {});
[[nodiscard]] message system_message(std::string text);
[[nodiscard]] message tool_message(std::string text, std::string tool_call_id, std::string name);
[[nodiscard]] message remove_message(std::string id);
/// @}

/// The id of a `remove` message that deletes all messages before it.
inline constexpr std::string_view remove_all_messages = "__remove_all__";

/// Returns the text of a message: `content`, or the text of its string and text blocks,
/// concatenated. May be called from any thread.
[[nodiscard]] std::string text_of(const message&);

/// Stored forms for checkpoints. They write the JSON of message_json.hpp but read it strictly: a
/// member of the wrong type is an error, except that other types of texts of tool calls read as "".
template <>
struct stored_form<message> {
  /// Returns the name of the type in checkpoints.
  static std::string type() { return "message"; }
  /// Appends the message to `out` as JSON.
  static void write(std::string& out, const message& from);
  /// Reads a message into `into`, which an error may leave partly changed.
  /// @return success; errc::parse_failed for a member that is unknown or has the wrong type
  static result<void> read(const json::value& from, message& into);
};
/// Stored form of a tool call.
template <>
struct stored_form<tool_call> {
  /// Returns the name of the type in checkpoints.
  static std::string type() { return "tool call"; }
  /// Appends the call to `out` as JSON.
  static void write(std::string& out, const tool_call& from);
  /// Reads a call. An `id` or `name` of another type becomes "". An error keeps `into` unchanged.
  /// @return success; errc::parse_failed for a value that is not an object with arguments
  static result<void> read(const json::value& from, tool_call& into);
};
/// Stored form of token counts.
template <>
struct stored_form<token_usage> {
  /// Returns the name of the type in checkpoints.
  static std::string type() { return "token usage"; }
  /// Appends the usage to `out` as JSON.
  static void write(std::string& out, const token_usage& from);
  /// Reads a usage. @return success, or the error of usage_from_json()
  static result<void> read(const json::value& from, token_usage& into);
};

/// Adds two usages. Details and other members are added key by key. Returns errc::parse_failed if
/// one of them is not an integer, and errc::too_large if they are nested too deeply. May be called
/// from any thread.
///
/// Source: `add_usage` in langchain-core 1.7.2, messages/ai.py.
[[nodiscard]] result<token_usage> add_usage(const token_usage&, const token_usage&);
/// Subtracts the counts of `part` from those of `all`, with 0 as the minimum. Returns the errors of
/// add_usage(). May be called from any thread.
[[nodiscard]] result<token_usage> subtract_usage(const token_usage& all, const token_usage& part);

/// Returns the JSON form: `{input_tokens, output_tokens, total_tokens, input_token_details?,
/// output_token_details?}`, followed by the members of `others`. May be called from any thread.
[[nodiscard]] json::object to_json(const token_usage&);
/// Reads the JSON form. Absent and null counts are 0; unknown members go to `others`. May be called
/// from any thread.
///
/// @param path the prefix of the location in error texts
/// @return the usage; errc::parse_failed with the path of the first invalid member
[[nodiscard]] result<token_usage> usage_from_json(const json::value&,
                                                  std::string_view path = "usage_metadata");

/// A piece of a streamed tool call. Members that the piece does not contain are unset.
struct tool_call_chunk {
  std::optional<std::string> name;
  std::optional<std::string> args; ///< a fragment of the JSON text
  std::optional<std::string> id;
  json::value index; ///< identifies the call (integer or text); null if the piece is a whole call

  friend bool operator==(const tool_call_chunk&, const tool_call_chunk&) = default;
};

/// A piece of a message that is being streamed, or the sum of several pieces.
struct message_chunk {
  /// The content of the piece. The tool calls of an ai chunk with `call_chunks` are those that the
  /// last read_calls() parsed.
  message part;
  std::vector<tool_call_chunk> call_chunks; ///< ai only
  bool is_last = false;                     ///< ai only: the final piece of the stream

  friend bool operator==(const message_chunk&, const message_chunk&) = default;
};

/// Appends the next piece of a stream to the sum of the earlier ones. May be called from any
/// thread.
///
/// Content: strings are concatenated. A string before a list becomes the list's first element; a
/// string after a list is appended to a trailing string, unless it is empty. Block lists are merged
/// by the `index` of their blocks. Pieces of tool calls are joined if they have the same index (an
/// integer, or a text that begins with `lc_`), unless both have an id and the ids differ. Usage is
/// added. Metadata is merged member by member: texts are concatenated, integers that differ are
/// added, and equal values of `id` and `model_provider` are kept once. In an ai message, an id
/// assigned by the provider takes precedence over a generated one (`lc_run-…` for a run, `lc_…` for
/// a block). Names are dropped, except that of a function message. The tool calls of `into` are not
/// updated: call read_calls() for that.
///
/// @return errc::invalid_argument if two members cannot be merged, or if the chunks differ in type,
/// chat role, function name or tool call id; errc::too_large if members are nested too deeply; or
/// the error of add_usage(). After an error `into` is in an unspecified state
/// @par Complexity
/// O(size of `more`) amortised, plus the lookup of blocks and calls by index.
///
/// Source: `add_ai_message_chunks` in langchain-core 1.7.2, messages/ai.py.
[[nodiscard]] result<> append(message_chunk& into, message_chunk more);

/// Parses the pieces of tool calls received so far into `part.tool_calls`. Incomplete arguments are
/// completed: open strings, lists and objects are closed, and a tail that cannot be completed is
/// removed. Absent arguments become `{}`. Arguments that are not an object make an invalid call.
/// Costs O(size of all arguments); needed only to inspect calls before the stream ends. May be
/// called from any thread.
void read_calls(message_chunk&);

/// Returns the message that the pieces add up to, with its tool calls parsed as by read_calls().
/// May be called from any thread.
[[nodiscard]] message to_message(message_chunk);

/// Returns the message of a finished answer. Unlike to_message() it does not complete truncated
/// arguments. Absent arguments, and the text `null`, become `{}`. Any other text that is not one
/// whole JSON object makes an invalid_tool_call with the reason. Strings may contain raw line
/// breaks, and of duplicate keys the last value counts. May be called from any thread.
///
/// @param cut why generation stopped early, e.g. "the answer was cut (length)"; empty if the model
/// finished. A call without arguments in a truncated answer is invalid, because its arguments may
/// be what is missing.
[[nodiscard]] message to_answer(message_chunk, std::string_view cut = {});

/// Returns the JSON form of a chunk: that of a message, with `AIMessageChunk` (`HumanMessageChunk`,
/// …) as `type`. `tool_call_chunks` [{name, args, id, index, type: "tool_call_chunk"}] and
/// `chunk_position` "last" appear only where they apply. May be called from any thread.
[[nodiscard]] json::object to_json(const message_chunk&);
/// Reads the JSON form of a chunk. If an ai chunk has tool calls but no tool_call_chunks, a piece
/// is created for each call, so that later pieces can be appended. May be called from any thread.
///
/// @param path the prefix of the location in error texts
/// @return the chunk; errc::parse_failed with the path of the first invalid member
[[nodiscard]] result<message_chunk> chunk_from_json(const json::value&,
                                                    std::string_view path = "chunk");

namespace detail {
class message_index;
void intrusive_ptr_add_ref(message_index*) noexcept;
void intrusive_ptr_release(message_index*) noexcept;
} // namespace detail

/// A shared, immutable message.
using message_ptr = std::shared_ptr<const message>;

/// A conversation as a persistent list. Copying costs O(1), and a copy never sees changes of the
/// original. Appending costs O(1) amortised; replacing a message copies a chunk of up to 32
/// pointers.
///
/// @par Threads
/// Two copies may be used by two threads at the same time, appends included. One object must not
/// be.
class message_list {
public:
  class const_iterator;

  /// Creates an empty list.
  message_list() = default;
  /// Creates a list of copies of these messages.
  message_list(std::initializer_list<message> messages);
  /// Creates a list of these messages, which are moved.
  explicit message_list(std::vector<message> messages);

  /// Number of messages; O(1).
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  /// Whether the list has no messages.
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  /// Returns a message. @pre i < size(). The result is valid while any copy of the list contains
  /// the message.
  [[nodiscard]] const message& operator[](std::size_t i) const { return *items_[i]; }
  /// Returns the last message. @pre !empty()
  [[nodiscard]] const message& back() const { return *items_.back(); }
  /// Returns a message with shared ownership. @pre i < size()
  [[nodiscard]] message_ptr at_ptr(std::size_t i) const { return items_[i]; }

  /// Calls `f` with the type of every message, in order. Does not touch the messages themselves:
  /// each chunk stores the types of its messages contiguously.
  template <class F>
  void for_each_type(F f) const {
    for (auto i = std::size_t{0}; i < size();) {
      const auto row = items_.tags_from(i);
      for (const auto type : row)
        f(type);
      i += row.size();
    }
  }

  /// Appends a message; O(1) amortised.
  void push_back(message&& m);
  void push_back(const message& m); ///< appends a copy
  /// Appends a shared message without copying it; O(1) amortised. @pre m is not null
  void push_back(message_ptr m);
  /// Replaces the message at `i`; copies of the list keep the old one. @pre i < size() and m is not
  /// null
  void replace(std::size_t i, message_ptr m);

  /// Returns a random-access iterator to the first message.
  [[nodiscard]] const_iterator begin() const noexcept;
  /// Returns the iterator behind the last message.
  [[nodiscard]] const_iterator end() const noexcept;

  /// Whether both contain equal messages in the same order.
  friend bool operator==(const message_list&, const message_list&);
  /// Returns the number of leading messages that both lists have in common. If one list is a copy
  /// of the other with messages appended, the cost is O(1) amortised.
  [[nodiscard]] static std::size_t common_prefix(const message_list&, const message_list&);

private:
  friend struct add_messages;

  /// Returns the position of the last message with this id. O(1) amortised over the life of the
  /// conversation.
  [[nodiscard]] std::optional<std::size_t> position_of(std::string_view id);
  /// Assigns ids to messages, and to their tool calls, that have none.
  void complete(id_source& ids);

  using items = shared_list<message_ptr, message_type>;
  [[no_unique_address]] items items_; // the next member fits behind its last one
  std::uint32_t completed_ = 0;       ///< this many leading messages are known to have ids
  boost::intrusive_ptr<detail::message_index> index_; ///< created by the first lookup
};

/// Random-access iterator over the messages of a list; invalidated when the list is modified.
class message_list::const_iterator {
public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = message;
  using difference_type = std::ptrdiff_t;
  using pointer = const message*;
  using reference = const message&;

  /// Creates an iterator that may only be assigned to.
  const_iterator() noexcept = default;
  /// Creates an iterator at a position; called by message_list.
  explicit const_iterator(shared_list<message_ptr, message_type>::const_iterator at) noexcept
      : at_{at} {}

  // The operations of a random-access iterator.

  reference operator*() const noexcept { return **at_; }
  pointer operator->() const noexcept { return at_->get(); }
  reference operator[](difference_type n) const noexcept { return *at_[n]; }
  const_iterator& operator+=(difference_type n) noexcept {
    at_ += n;
    return *this;
  }
  const_iterator& operator-=(difference_type n) noexcept { return *this += -n; }
  const_iterator& operator++() noexcept { return *this += 1; }
  const_iterator& operator--() noexcept { return *this += -1; }
  const_iterator operator++(int) noexcept { return const_iterator{at_++}; }
  const_iterator operator--(int) noexcept { return const_iterator{at_--}; }

  friend const_iterator operator+(const_iterator i, difference_type n) noexcept { return i += n; }
  friend const_iterator operator+(difference_type n, const_iterator i) noexcept { return i += n; }
  friend const_iterator operator-(const_iterator i, difference_type n) noexcept { return i -= n; }
  friend difference_type operator-(const const_iterator& a, const const_iterator& b) noexcept {
    return a.at_ - b.at_;
  }
  friend bool operator==(const const_iterator&, const const_iterator&) noexcept = default;
  friend auto operator<=>(const const_iterator& a, const const_iterator& b) noexcept {
    return a.at_ <=> b.at_;
  }

private:
  shared_list<message_ptr, message_type>::const_iterator at_;
};

inline message_list::const_iterator message_list::begin() const noexcept {
  return const_iterator{items_.begin()};
}
inline message_list::const_iterator message_list::end() const noexcept {
  return const_iterator{items_.end()};
}

/// The reducer of a message channel. Applies the messages of `more` in order:
/// - A message with a new id is appended.
/// - A message with a known id replaces the one that has it.
/// - A `remove` message deletes the messages with its id after all others have been applied, unless
///   a later message in `more` has the same id. With the id `remove_all_messages` it discards
///   everything before it, including `into`; the last such message counts. As in LangGraph, the
///   messages after it are appended without looking at their ids.
///
/// A message without an id gets the next id of `ids`. A tool call without an id gets `<message
/// id>-call-<j>`, where j is its index in the message.
///
/// @throws std::invalid_argument if a message to delete does not exist; the messages of `into` are
/// then unchanged
/// @par Complexity
/// O(1) amortised per message of `more`, independent of the length of `into` and of the number of
/// its copies; O(size) if anything is deleted.
///
/// Source: `add_messages` in LangGraph 1.2.22, graph/message.py.
struct add_messages {
  static constexpr bool leaves_value_on_failure = true; ///< see channels/kinds.hpp
  /// Applies the messages of `more` to `into`.
  void operator()(message_list& into, message_list&& more, id_source& ids) const;
};

/// Stored form of a conversation: a list of messages as in message_json.hpp.
template <>
struct stored_form<message_list> {
  /// Returns the name of the type in checkpoints.
  static std::string type() { return "messages"; }
  /// Appends the messages to `out` as a JSON list. @param first index of the first message to write
  static void write(std::string& out, const message_list& from, std::size_t first = 0);
  /// Reads a list of messages. @return success, or errc::parse_failed as for a single message
  static result<void> read(const json::value& from, message_list& into);
};

/// Converts a caller's text to the input of a graph with the field `messages`: one human message.
/// The engine finds these functions by argument-dependent lookup. May be called from any thread.
[[nodiscard]] message_list messages_input(std::type_identity<message_list>, std::string_view text);
/// Converts one message to the input of a graph with the field `messages`. May be called from any
/// thread.
[[nodiscard]] message_list messages_input(std::type_identity<message_list>, message one);
/// Converts a conversation to the input of a graph with the field `messages`. May be called from
/// any thread.
[[nodiscard]] message_list messages_input(std::type_identity<message_list>, message_list all);
/// Converts several messages to the input of a graph with the field `messages`. May be called from
/// any thread.
[[nodiscard]] message_list messages_input(std::type_identity<message_list>,
                                          std::vector<message> all);

} // namespace superstep
