// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {

enum class model_errc;
class chat_model;
struct model_request;
class model_limits;
struct model_limits_options;
struct recorded_model_options;
struct scripted_model_options;
struct provider_model_options;

} // namespace superstep
