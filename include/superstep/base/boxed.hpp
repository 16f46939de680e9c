// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/assert.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace superstep {

/// An optional value of its own that costs one pointer where there is none: for members that most
/// objects of a type leave unset. Copies deeply; used like std::optional.
template <class T>
class boxed {
public:
  boxed() noexcept = default;
  boxed(std::nullopt_t) noexcept {}
  boxed(T v) : at_{std::make_unique<T>(std::move(v))} {}
  boxed(std::optional<T> v) {
    if (v)
      at_ = std::make_unique<T>(std::move(*v));
  }
  boxed(const boxed& other) { *this = other; }
  boxed(boxed&&) noexcept = default;
  boxed& operator=(const boxed& other) {
    if (this != &other)
      at_ = other.at_ ? std::make_unique<T>(*other.at_) : nullptr;
    return *this;
  }
  boxed& operator=(boxed&&) noexcept = default;
  ~boxed() = default;

  [[nodiscard]] bool has_value() const noexcept { return at_ != nullptr; }
  explicit operator bool() const noexcept { return has_value(); }
  operator std::optional<T>() const { return at_ ? std::optional<T>{*at_} : std::nullopt; }
  [[nodiscard]] T& operator*() noexcept { return value(); }
  [[nodiscard]] const T& operator*() const noexcept { return value(); }
  [[nodiscard]] T* operator->() noexcept { return &value(); }
  [[nodiscard]] const T* operator->() const noexcept { return &value(); }
  /// @pre has_value()
  [[nodiscard]] T& value() noexcept {
    SUPERSTEP_ASSERT(at_ != nullptr);
    return *at_;
  }
  [[nodiscard]] const T& value() const noexcept {
    SUPERSTEP_ASSERT(at_ != nullptr);
    return *at_;
  }
  [[nodiscard]] T value_or(T otherwise) const { return at_ ? *at_ : std::move(otherwise); }
  template <class... Args>
  T& emplace(Args&&... args) {
    at_ = std::make_unique<T>(std::forward<Args>(args)...);
    return *at_;
  }
  void reset() noexcept { at_.reset(); }

  friend bool operator==(const boxed& a, const boxed& b) {
    return a.has_value() == b.has_value() && (!a || *a == *b);
  }

private:
  std::unique_ptr<T> at_;
};

} // namespace superstep
