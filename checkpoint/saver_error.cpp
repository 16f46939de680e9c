// SPDX-License-Identifier: Apache-2.0
// The error category "checkpoint". Its messages are general; the exception's what() has the
// details.
#include <superstep/checkpoint/saver_error.hpp>

namespace superstep {

namespace {

class saver_category final : public std::error_category {
public:
  [[nodiscard]] const char* name() const noexcept override { return "checkpoint"; }
  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<saver_errc>(code)) {
    case saver_errc::not_storable:
      return "a value cannot be stored in a checkpoint";
    case saver_errc::type_changed:
      return "the type of a channel differs from the stored type";
    case saver_errc::node_gone:
      return "the thread's next node no longer exists";
    case saver_errc::corrupt:
      return "stored data is damaged";
    case saver_errc::newer_format:
      return "written by a newer version of superstep";
    case saver_errc::failed:
      return "the disk or the database reported an error";
    case saver_errc::conflict:
      return "another run has written to the thread";
    case saver_errc::in_use:
      return "another run holds the thread";
    case saver_errc::wrong_key:
      return "wrong encryption key";
    case saver_errc::wrong_owner:
      return "the file belongs to a different job";
    }
    return "unknown checkpoint error";
  }
};

} // namespace

std::error_code make_error_code(saver_errc code) noexcept {
  static const auto category = saver_category{};
  return {static_cast<int>(code), category};
}

} // namespace superstep
