// SPDX-License-Identifier: Apache-2.0
#include <superstep/checkpoint/saver_error.hpp>

namespace superstep {

namespace {

class saver_category final : public std::error_category {
public:
  [[nodiscard]] const char* name() const noexcept override { return "checkpoint"; }
  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<saver_errc>(code)) {
    case saver_errc::not_storable:
      return "a value cannot be kept in a checkpoint";
    case saver_errc::type_changed:
      return "a channel has another type than its checkpoint";
    case saver_errc::node_gone:
      return "the thread stands before a node that is gone";
    case saver_errc::corrupt:
      return "what was read is not what was written";
    case saver_errc::newer_format:
      return "written by a later superstep";
    case saver_errc::failed:
      return "the database refused";
    case saver_errc::conflict:
      return "somebody else has written to the thread";
    case saver_errc::in_use:
      return "another run has the thread";
    case saver_errc::wrong_key:
      return "the key is not that of the file";
    case saver_errc::wrong_owner:
      return "the file belongs to another job";
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
