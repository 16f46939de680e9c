// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/small_blocks.hpp>

#include <optional>
#include <utility>

namespace superstep {

/// An optional that stores its value on the heap, so that an empty object has the size of a
/// pointer. For members that most objects leave unset. A copy contains a copy of the value. The
/// interface is that of std::optional, except that `*` and `->` throw std::bad_optional_access if
/// there is no value, as value() does.
template <class T>
class optional_box {
public:
  optional_box() noexcept = default;
  optional_box(std::nullopt_t) noexcept {}
  optional_box(T v) : at_{detail::make_in_block<T>(std::move(v))} {}
  optional_box(std::optional<T> v) {
    if (v)
      at_ = detail::make_in_block<T>(std::move(*v));
  }
  optional_box(const optional_box& other) { *this = other; }
  optional_box(optional_box&&) noexcept = default;
  optional_box& operator=(const optional_box& other) {
    if (this == &other)
      return *this;
    if (other.at_)
      at_ = detail::make_in_block<T>(*other.at_);
    else
      at_.reset();
    return *this;
  }
  optional_box& operator=(optional_box&&) noexcept = default;
  ~optional_box() = default;

  [[nodiscard]] bool has_value() const noexcept { return static_cast<bool>(at_); }
  explicit operator bool() const noexcept { return has_value(); }
  operator std::optional<T>() const { return at_ ? std::optional<T>{*at_} : std::nullopt; }
  [[nodiscard]] T& operator*() { return value(); }
  [[nodiscard]] const T& operator*() const { return value(); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }
  [[nodiscard]] T& value() {
    if (!at_) [[unlikely]]
      throw std::bad_optional_access{};
    return *at_;
  }
  [[nodiscard]] const T& value() const { return const_cast<optional_box&>(*this).value(); }
  /// Returns a copy; do not bind the result to a view.
  [[nodiscard]] T value_or(T default_value) const { return at_ ? *at_ : std::move(default_value); }
  template <class... Args>
  T& emplace(Args&&... args) {
    at_ = detail::make_in_block<T>(std::forward<Args>(args)...);
    return *at_;
  }
  void reset() noexcept { at_.reset(); }

  friend bool operator==(const optional_box& a, const optional_box& b) {
    return a.has_value() == b.has_value() && (!a || *a == *b);
  }

private:
  detail::block_ptr<T> at_;
};

} // namespace superstep
