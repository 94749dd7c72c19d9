// What the simulator keeps in the 128 bytes of a CUtensorMap. On a GPU their layout is the driver's secret.
#pragma once
#include <cstdint>

namespace ladder {
struct TensorMap {
    static constexpr int MOST_DIMENSIONS = 5;
    static constexpr uint64_t MAGIC = 0x70616d726f736e74;
    uint64_t magic, base;
    uint64_t sides[MOST_DIMENSIONS];    ///< elements along each axis; 1 for axes that it has not
    uint64_t pitches[MOST_DIMENSIONS];  ///< bytes from one to the next; [0]: of an element
    uint32_t box[MOST_DIMENSIONS];
    uint32_t rank, swizzle;  ///< swizzle: 0 none, 1 to 3: within 32, 64, 128 bytes
    uint32_t unused;

    uint64_t row_bytes() const { return box[0] * pitches[0]; }
    uint64_t rows() const { return uint64_t{box[1]} * box[2] * box[3] * box[4]; }
    /// Bytes from the first element to behind the last.
    uint64_t extent() const {
        uint64_t bytes = pitches[0];
        for (int i = 0; i < MOST_DIMENSIONS; ++i) bytes += (sides[i] - 1) * pitches[i];
        return bytes;
    }
    /// Where a byte of a box lies in shared memory: 16-byte chunk c of a line of 128 bytes at c XOR the
    /// line's number.
    uint64_t swizzled(uint64_t offset) const {
        uint64_t mask = (1u << swizzle) - 1;
        return offset ^ (offset >> 7 & mask) << 4;
    }
};
static_assert(sizeof(TensorMap) == 128);
}  // namespace ladder
