#pragma once

#include "troupe/transport/bytes.hpp"
#include "troupe/transport/membership/rendezvous.hpp"

namespace troupe {

void write(ByteWriter& writer, const Member& member);
/// Throws Error if the bytes end too early.
Member read_member(ByteReader& reader);

}  // namespace troupe
