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

using message_ptr = std::shared_ptr<const message>;

/// A conversation: an immutable-by-sharing list. Copies cost O(1) and never see later appends;
/// append costs O(1) amortised; replacing a message copies one chunk of 32 pointers.
///
/// @par Threads
/// Two copies may be used on two threads at once, appends included. One object may not.
class message_list {
public:
  class const_iterator;

  message_list() = default;
  message_list(std::initializer_list<message> messages);
  explicit message_list(std::vector<message> messages);

  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  /// Valid as long as any copy of the list that holds the message.
  [[nodiscard]] const message& operator[](std::size_t i) const { return *items_[i]; }
  [[nodiscard]] const message& back() const { return *items_.back(); }
  [[nodiscard]] message_ptr at_ptr(std::size_t i) const { return items_[i]; }

  /// Calls f with the type of every message, in order. Reads no message: 32 types stand in a row.
  template <class F>
  void for_each_type(F f) const {
    for (auto i = std::size_t{0}; i < size();) {
      const auto row = items_.tags_from(i);
      for (const auto type : row)
        f(type);
      i += row.size();
    }
  }

  void push_back(message m);
  /// @pre m is not null
  void push_back(message_ptr m);
  /// @pre i < size() and m is not null
  void replace(std::size_t i, message_ptr m);

  /// Iteration over const message&, random access.
  [[nodiscard]] const_iterator begin() const noexcept;
  [[nodiscard]] const_iterator end() const noexcept;

  /// Same messages in the same order, compared by value.
  friend bool operator==(const message_list&, const message_list&);
  /// How many messages from the front the two have in common. O(1) for a list and what was appended
  /// to a copy of it, amortised.
  [[nodiscard]] static std::size_t common_prefix(const message_list&, const message_list&);

private:
  friend struct add_messages;

  /// The last message with this id. O(1) amortised over the life of the conversation.
  [[nodiscard]] std::optional<std::size_t> position_of(std::string_view id);
  /// Gives ids to messages that were put in without one, and to their tool calls.
  void complete(id_source& ids);

  using items = shared_list<message_ptr, message_type>;
  items items_;
  std::shared_ptr<detail::message_index> index_; ///< made by the first look-up; see its comment
  std::size_t completed_ = 0;                    ///< messages from the front known to have ids
};

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

/// The reducer of a message channel. In the order of `more`:
/// - a message whose id is not known yet is appended;
/// - one whose id is known takes the place of the message that has it;
/// - a `remove` message deletes the messages with its id, when all have been applied and unless a
///   later message with that id came after it. With the id `remove_all_messages` it drops
///   everything before it, `into` included; the last one counts.
/// Messages without an id get the next one of `ids`; a tool call without an id gets
/// `<message id>-call-<j>`, j being its index. Costs O(1) amortised per message of `more`, however
/// long `into` is and however many copies of it are kept; a deletion costs O(size).
///
/// Throws std::invalid_argument when a message to delete does not exist; `into` keeps its messages.
struct add_messages {
  static constexpr bool leaves_value_on_failure = true;
  void operator()(message_list& into, message_list&& more, id_source& ids) const;
};

/// A conversation in checkpoints: a list of messages in the message form.
template <>
struct stored_form<message_list> {
  static std::string type() { return "messages"; }
  static void write(std::string& out, const message_list& from, std::size_t first = 0);
  static result<void> read(const json::value& from, message_list& into);
};

} // namespace superstep
