// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {
class value;
struct write;
class state_block;
class channel;
} // namespace superstep
