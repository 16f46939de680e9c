// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/id_source.hpp>
#include <superstep/base/shared_list.hpp>
#include <superstep/messages/message.hpp>

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace superstep {

namespace detail {
class message_index;
} // namespace detail

/// A shared, immutable message.
using message_ptr = std::shared_ptr<const message>;

/// A conversation as a persistent list. Copying costs O(1), and a copy never sees changes of the
/// original. Appending costs O(1) amortised; replacing a message copies one chunk of 32 pointers.
///
/// @par Threads
/// Two copies may be used by two threads at the same time, appends included. One object must not
/// be.
class message_list {
public:
  class const_iterator;

  message_list() = default;
  message_list(std::initializer_list<message> messages);
  explicit message_list(std::vector<message> messages);

  /// Number of messages; O(1).
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  /// Returns a message. @pre i < size(). The result is valid while any copy of the list contains
  /// the message.
  [[nodiscard]] const message& operator[](std::size_t i) const { return *items_[i]; }
  /// Returns the last message. @pre !empty()
  [[nodiscard]] const message& back() const { return *items_.back(); }
  /// Returns a message with shared ownership. @pre i < size()
  [[nodiscard]] message_ptr at_ptr(std::size_t i) const { return items_[i]; }

  /// Calls `f` with the type of every message, in order. Does not touch the messages themselves:
  /// each chunk stores the types of its 32 messages contiguously.
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
  void push_back(message m);
  /// @pre m is not null
  void push_back(message_ptr m);
  /// Replaces the message at `i`; copies of the list keep the old one. @pre i < size() and m is not
  /// null
  void replace(std::size_t i, message_ptr m);

  /// Random-access iterators over `const message&`.
  [[nodiscard]] const_iterator begin() const noexcept;
  [[nodiscard]] const_iterator end() const noexcept;

  /// Whether both contain equal messages in the same order.
  friend bool operator==(const message_list&, const message_list&);
  /// Returns the number of leading messages that both lists have in common. O(1) amortised for a
  /// list and a copy of it that was appended to.
  [[nodiscard]] static std::size_t common_prefix(const message_list&, const message_list&);

private:
  friend struct add_messages;

  /// Returns the position of the last message with this id. O(1) amortised over the life of the
  /// conversation.
  [[nodiscard]] std::optional<std::size_t> position_of(std::string_view id);
  /// Assigns ids to messages, and to their tool calls, that have none.
  void complete(id_source& ids);

  using items = shared_list<message_ptr, message_type>;
  items items_;
  std::shared_ptr<detail::message_index> index_; ///< created by the first lookup
  std::size_t completed_ = 0;                    ///< leading messages known to have ids
};

/// Random-access iterator over the messages of a list; invalidated when the list is modified.
class message_list::const_iterator {
public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = message;
  using difference_type = std::ptrdiff_t;
  using pointer = const message*;
  using reference = const message&;

  const_iterator() noexcept = default;
  explicit const_iterator(shared_list<message_ptr, message_type>::const_iterator at) noexcept
      : at_{at} {}

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
///   everything before it, including `into`; the last such message counts.
///
/// A message without an id gets the next id of `ids`. A tool call without an id gets `<message
/// id>-call-<j>`, where j is its index in the message.
///
/// @throws std::invalid_argument if a message to delete does not exist; the messages of `into` are
/// then unchanged
/// @par Complexity
/// O(1) amortised per message of `more`, independent of the length of `into` and of the number of
/// its copies; O(size) if anything is deleted.
/// Source: `add_messages` in LangGraph 1.2.22, graph/message.py.
struct add_messages {
  static constexpr bool leaves_value_on_failure = true; ///< see channels/rules.hpp
  void operator()(message_list& into, message_list&& more, id_source& ids) const;
};

/// Stored form of a conversation: a list of messages as in message_json.hpp.
template <>
struct stored_form<message_list> {
  static std::string type() { return "messages"; }
  /// @param first index of the first message to write
  static void write(std::string& out, const message_list& from, std::size_t first = 0);
  static result<void> read(const json::value& from, message_list& into);
};

} // namespace superstep
