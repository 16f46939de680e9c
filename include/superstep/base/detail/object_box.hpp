// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/small_blocks.hpp>
#include <superstep/base/json.hpp>

#include <initializer_list>
#include <string_view>
#include <utility>

namespace superstep {

/// A JSON object that is stored on the heap, so that an empty one has the size of a pointer and
/// costs nothing to move or destroy. For members that most objects leave empty. The interface is
/// the part of json::object that callers need; get() returns the object itself.
class object_box {
public:
  using const_iterator = json::object::const_iterator;

  /// Creates an empty object.
  object_box() noexcept = default;
  /// Creates an object with these members.
  object_box(json::object members) {
    if (!members.empty())
      at_ = detail::make_in_block<json::object>(std::move(members));
  }
  /// Creates an object with these members, as json::object does.
  object_box(std::initializer_list<std::pair<json::string_view, json::value_ref>> members)
      : object_box{json::object(members)} {}
  object_box(const object_box& other)
      : at_{other.empty() ? detail::block_ptr<json::object>{}
                          : detail::make_in_block<json::object>(*other.at_)} {}
  object_box(object_box&&) noexcept = default;
  object_box& operator=(const object_box& other) { return *this = object_box{other}; }
  object_box& operator=(object_box&&) noexcept = default;
  ~object_box() = default;

  /// Returns the object. Valid until the box is changed.
  [[nodiscard]] const json::object& get() const noexcept { return at_ ? *at_ : none(); }
  operator const json::object&() const noexcept { return get(); }
  /// Returns the object for changes. Allocates it, so call empty() or if_contains() to read.
  [[nodiscard]] json::object& edit() {
    if (!at_)
      at_ = detail::make_in_block<json::object>();
    return *at_;
  }

  [[nodiscard]] bool empty() const noexcept { return !at_ || at_->empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return at_ ? at_->size() : 0; }
  [[nodiscard]] const_iterator begin() const noexcept { return get().begin(); }
  [[nodiscard]] const_iterator end() const noexcept { return get().end(); }
  [[nodiscard]] bool contains(std::string_view key) const noexcept {
    return if_contains(key) != nullptr;
  }
  /// Returns a member; null if there is none. Valid until the box is changed.
  [[nodiscard]] const json::value* if_contains(std::string_view key) const noexcept {
    return at_ ? std::as_const(*at_).if_contains(key) : nullptr;
  }
  [[nodiscard]] json::value* if_contains(std::string_view key) noexcept {
    return at_ ? at_->if_contains(key) : nullptr;
  }
  /// Returns a member. Throws std::out_of_range if there is none.
  [[nodiscard]] const json::value& at(std::string_view key) const { return get().at(key); }

  /// Returns a member, which is created with the value null if there is none.
  json::value& operator[](std::string_view key) { return edit()[key]; }
  /// Adds a member, or replaces its value.
  void insert_or_assign(std::string_view key, json::value value) {
    edit().insert_or_assign(key, std::move(value));
  }
  /// Adds a member unless there is one with this key.
  void emplace(std::string_view key, json::value value) { edit().emplace(key, std::move(value)); }
  /// Removes a member, if there is one with this key.
  void erase(std::string_view key) {
    if (at_)
      at_->erase(key);
  }
  void clear() noexcept { at_.reset(); }

  friend bool operator==(const object_box& a, const object_box& b) { return a.get() == b.get(); }
  friend bool operator==(const object_box& a, const json::object& b) { return a.get() == b; }

private:
  static const json::object& none() noexcept {
    static const auto empty = json::object{};
    return empty;
  }

  detail::block_ptr<json::object> at_;
};

} // namespace superstep
